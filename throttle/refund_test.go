package throttle_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// A call that a window has forgotten has nothing to get back from the longer
// window that replaces it: what it gave back would be what other calls took.
func TestALongerWindowReturnsNothingThatTheShorterHadForgotten(t *testing.T) {
	const most = 2000
	for name, tc := range map[string]struct {
		from, to throttle.Window
		after    time.Duration // the first call is forgotten
	}{
		"calendar": {throttle.Fixed(most, time.Hour, time.Time{}), throttle.Fixed(most, 24*time.Hour, time.Time{}), time.Hour},
		"sliding":  {throttle.Sliding(most, 10*time.Millisecond), throttle.Sliding(most, time.Minute), 11 * time.Millisecond},
	} {
		for how, end := range map[string]func(throttle.Permit){
			"cancelled": throttle.Permit.Cancel,
			"settled":   func(p throttle.Permit) { p.Settle(throttle.Cost{Requests: 1}) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				fake := clockwork.NewFakeClockAt(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
				l := newLimiter(t, windows(tc.from), throttle.WithClock(fake))
				fake.Advance(time.Millisecond) // the sub-slot of both calls is the same in a minute's window
				forgotten, err := l.TryAcquire(throttle.Cost{Requests: most / 2})
				require.NoError(t, err)
				fake.Advance(tc.after)
				counted, err := l.TryAcquire(throttle.Cost{Requests: most})
				require.NoError(t, err)
				require.NoError(t, l.SetLimits(windows(tc.to)))
				end(forgotten)
				assert.False(t, l.Allow(throttle.Cost{}))
				end(counted)
				assert.True(t, l.Allow(throttle.Cost{Requests: most - 1}))
			})
		}
	}
}

// A call that the present period counts gets its units back, also if they were
// taken before that period began.
func TestAShorterPeriodReturnsWhatItCounts(t *testing.T) {
	fake := clockwork.NewFakeClockAt(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	l := newLimiter(t, windows(throttle.Fixed(10, 24*time.Hour, time.Time{})), throttle.WithClock(fake))
	p, err := l.TryAcquire(throttle.Cost{Requests: 10})
	require.NoError(t, err)
	fake.Advance(90 * time.Minute)
	require.NoError(t, l.SetLimits(windows(throttle.Fixed(10, time.Hour, time.Time{}))))
	assert.False(t, l.Allow(throttle.Cost{}), "history is kept")
	p.Cancel()
	assert.True(t, l.Allow(throttle.Cost{Requests: 10}))
}
