package throttle_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestWindowsSayWhenTheyAreFree(t *testing.T) {
	fake := clockwork.NewFakeClockAt(time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC))
	sliding := throttle.Sliding(5, time.Minute)
	bucket := throttle.Bucket(2, 10).Of(throttle.Tokens)
	fixed := throttle.Fixed(100, time.Hour, time.Time{}).Of(throttle.Points)
	l := newLimiter(t, windows(sliding, bucket, fixed), throttle.WithClock(fake))
	assert.Equal(t, []throttle.WindowUse{{Window: sliding, Left: 5}, {Window: bucket, Left: 10}, {Window: fixed, Left: 100}}, l.Windows())
	require.True(t, l.Allow(throttle.Cost{Tokens: 4, Points: 7}))
	fake.Advance(750 * time.Millisecond)
	require.True(t, l.Allow(throttle.Cost{Requests: 2}))
	const ms = time.Millisecond
	assert.Equal(t, []throttle.WindowUse{
		{sliding, 3, 2, time.Minute - 750*ms, time.Minute},
		{bucket, 3, 7, 250 * ms, 1250 * ms},
		{fixed, 7, 93, time.Hour - 750*ms, time.Hour - 750*ms},
	}, l.Windows())
}
