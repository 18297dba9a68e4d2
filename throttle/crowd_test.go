package throttle

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
)

// A limiter looks through the lines that need it when the first of them has room elsewhere, and not whenever a call comes or
// leaves: with thousands of lines that would take most of the time.
func TestWhenALimiterLooksThroughItsLines(t *testing.T) {
	clock := clockwork.NewFakeClock()
	outer, err := New(Limits{Windows: []Window{Sliding(100, time.Second)}}, WithClock(clock))
	require.NoError(t, err)
	enter := func(inner *Limiter) *joint {
		j, err := enterAll(t.Context(), []*Limiter{inner, outer}, Cost{}, nil, make([]Permit, 2))
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
