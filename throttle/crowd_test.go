package throttle

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A limiter looks through the lines that need it when the first of them has room elsewhere, and not whenever a call comes or
// leaves: with thousands of lines that would take most of the time.
func TestWhenALimiterLooksThroughItsLines(t *testing.T) {
	clock := clockwork.NewFakeClock()
	outer, err := New(Limits{Windows: []Window{Sliding(100, time.Second)}}, WithClock(clock))
	require.NoError(t, err)
	enter := func(inner *Limiter) *joint {
		var j *joint
		err := enterAll(t.Context(), []*Limiter{inner, outer}, Cost{}, nil, make([]Permit, 2), &j)
		require.NoError(t, err)
		return j
	}
	wait := func(per time.Duration) *joint {
		inner, err := New(Limits{Windows: []Window{Sliding(1, per)}}, WithClock(clock))
		require.NoError(t, err)
		require.Nil(t, enter(inner), "it is admitted")
		return enter(inner)
	}
	looksAt := func(after time.Duration) {
		t.Helper()
		require.True(t, outer.awaits)
		require.Equal(t, after, outer.awaited.Sub(clock.Now()))
	}
	third, first, second := wait(3*time.Second), wait(time.Second), wait(2*time.Second)
	looksAt(time.Second)
	require.True(t, first.leave(nil))
	looksAt(time.Second) // in vain
	clock.Advance(time.Second)
	fourth := wait(4 * time.Second)
	looksAt(time.Second)
	for _, j := range []*joint{second, third, fourth} {
		require.True(t, j.leave(nil))
	}
}

// A limiter on which many lines wait looks at those ahead of a call again and again.
func TestNothingIsAllocatedByLookingAtTheLines(t *testing.T) {
	if RaceDetector {
		t.Skip("the race detector allocates")
	}
	clock := clockwork.NewFakeClock()
	outer, err := New(Limits{Concurrency: 1}, WithClock(clock))
	require.NoError(t, err)
	_, err = outer.TryAcquire(Cost{})
	require.NoError(t, err)
	waiting := make([]*joint, 0, 8)
	for range cap(waiting) {
		inner, err := New(Limits{Concurrency: 1}, WithClock(clock))
		require.NoError(t, err)
		var j *joint
		err = enterAll(t.Context(), []*Limiter{inner, outer}, Cost{}, nil, make([]Permit, 2), &j)
		require.NoError(t, err)
		_, err = inner.TryAcquire(Cost{})
		require.NoError(t, err, "it overtakes")
		waiting = append(waiting, j)
	}
	require.NoError(t, outer.SetConcurrency(2)) // there is room here, and none in the inner limiters
	ahead := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, all := outer.candidateLocked(0, nil)
		ahead = len(all)
	}))
	assert.Equal(t, len(waiting), ahead)
	for _, j := range waiting {
		require.True(t, j.leave(nil))
	}
	assert.Nil(t, outer.ahead, "calls that have gone are kept")
}
