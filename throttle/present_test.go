package throttle_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// readings counts how often the time is asked for.
type readings struct {
	*clockwork.FakeClock
	n int
}

func (r *readings) Since(t time.Time) time.Duration {
	r.n++
	return r.FakeClock.Since(t)
}

// A call that a free slot alone lets go does not read the clock; a pause, a full slot and a window do.
func TestAFreeSlotIsTakenWithoutTheClock(t *testing.T) {
	t.Parallel()
	clock := &readings{FakeClock: clockwork.NewFakeClock()}
	l, err := throttle.New(throttle.Limits{Concurrency: 2}, throttle.WithClock(clock))
	require.NoError(t, err)
	take := func() throttle.Permit {
		t.Helper()
		p, err := l.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err)
		return p
	}
	held := take()
	second, err := l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	assert.Zero(t, clock.n)

	_, err = l.TryAcquire(throttle.Cost{})
	require.ErrorAs(t, err, new(*throttle.LimitedError))
	second.Release()

	l.PauseUntil(clock.Now().Add(time.Minute))
	_, err = l.TryAcquire(throttle.Cost{})
	require.ErrorAs(t, err, new(*throttle.LimitedError))
	clock.Advance(time.Minute)
	take().Release()
	held.Release()
	before := clock.n
	take().Release()
	assert.Equal(t, before, clock.n)

	require.NoError(t, l.SetLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}))
	take().Release()
	_, err = l.TryAcquire(throttle.Cost{})
	require.ErrorAs(t, err, new(*throttle.LimitedError))
	clock.Advance(time.Second)
	take().Release()
}
