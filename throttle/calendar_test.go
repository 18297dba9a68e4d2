package throttle

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The calendar begins with the time of the clock at New.
func TestFixedWindowOfALimiter(t *testing.T) {
	fake := clockwork.NewFakeClockAt(time.Date(2026, time.January, 1, 10, 15, 0, 0, time.UTC))
	l, err := New(Limits{Windows: []Window{Fixed(1, time.Hour, time.Time{})}}, WithClock(fake))
	require.NoError(t, err)
	for range 3 {
		require.True(t, l.Allow(Cost{}))
		fake.Advance(time.Minute)
		_, err = l.TryAcquire(Cost{})
		var limited *LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, fake.Now().Truncate(time.Hour).Add(time.Hour), fake.Now().Add(limited.RetryAfter))
		fake.Advance(limited.RetryAfter)
	}
}
