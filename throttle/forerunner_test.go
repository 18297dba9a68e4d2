package throttle

import (
	"runtime"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enters has a call of all limiters come, which has to wait.
func enters(t *testing.T, limiters ...*Limiter) *joint {
	t.Helper()
	var j *joint
	err := enterAll(t.Context(), limiters, Cost{}, nil, make([]Permit, len(limiters)), &j)
	require.NoError(t, err)
	return j
}

// Two calls of different lines have room at the same instant, and the timer of the older one is late. It is tried first.
func TestALateTimerCostsNoTurn(t *testing.T) {
	clock := clockwork.NewFakeClock()
	outer, err := New(Limits{Windows: []Window{Sliding(3, time.Hour)}}, WithClock(clock))
	require.NoError(t, err)
	var inner [2]*Limiter
	for i := range inner {
		inner[i], err = New(Limits{Windows: []Window{Sliding(1, time.Second)}}, WithClock(clock))
		require.NoError(t, err)
		require.Nil(t, enters(t, inner[i], outer), "it is admitted")
	}
	older, younger := enters(t, inner[0], outer), enters(t, inner[1], outer)
	for _, l := range inner {
		l.timer.Stop()
	}
	clock.Advance(time.Second)
	inner[1].update(func() {})
	assert.Len(t, older.ready, 1)
	assert.Empty(t, younger.ready)
	require.True(t, younger.leave(nil))
}

// exits ends the goroutine that asks first, and lets later ones wait.
type exits struct {
	governor

	asked bool
}

func (e *exits) Admit(time.Time, Cost, int) time.Duration {
	if !e.asked {
		e.asked = true
		runtime.Goexit()
	}
	return Forever
}

func (*exits) Slack(time.Time) {}

// A governor ends the goroutine that tries a call. The other limiters of the call try it again.
func TestACallWhoseTryExitsIsAwaited(t *testing.T) {
	clock := clockwork.NewFakeClock()
	outer, err := New(Limits{Windows: []Window{Sliding(9, time.Hour)}}, WithClock(clock))
	require.NoError(t, err)
	inner, err := New(Limits{Windows: []Window{Sliding(1, time.Second)}}, WithClock(clock))
	require.NoError(t, err)
	require.Nil(t, enters(t, inner, outer), "it is admitted")
	j := enters(t, inner, outer)
	engine{inner}.Govern(&exits{})
	inner.timer.Stop()
	clock.Advance(time.Second)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		outer.update(func() {})
	}()
	<-ended
	outer.mu.Lock()
	assert.False(t, j.untried.Load())
	assert.True(t, outer.awaits)
	outer.mu.Unlock()
	require.True(t, j.leave(nil))
}
