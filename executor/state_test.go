package executor

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// legal is every step that a task may take, written down a second time.
var legal = map[State][]State{
	Pending:    {Queued, Cancelled},
	Queued:     {Processing, Failed, Cancelled},
	Processing: {Calling, Failed, Cancelled},
	Calling:    {Processing, Completed, Failed, Cancelled},
}

func TestEveryTransition(t *testing.T) {
	for from := range State(states) {
		for to := range State(states) {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				l := life{state: from}
				for s := range from {
					l.known, l.times[s.slot()] = l.known|1<<s, time.Second
				}
				l.known, l.times[from.slot()] = l.known|1<<from, time.Second
				before, yes := l, false
				for _, one := range legal[from] {
					yes = yes || one == to
				}
				require.Equal(t, yes, l.move(to, 3*time.Second))
				if !yes {
					assert.Equal(t, before, l, "nothing changes")
					return
				}
				assert.Equal(t, to, l.state)
				assert.Equal(t, 3*time.Second, l.last())
				assert.Equal(t, 2*time.Second, l.in(from, time.Hour))
			})
		}
	}
	for s := range State(states) {
		assert.Equal(t, len(legal[s]) == 0, s.Terminal(), s)
	}
	assert.False(t, State(states).may(Queued))
	assert.Equal(t, "State(7)", State(states).String())
}

// What a machine says of its times is what a list of its steps says.
func TestLifeAgreesWithItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type step struct {
			s  State
			at time.Duration
		}
		var l life
		now := time.Duration(rapid.IntRange(0, 5).Draw(t, "begin"))
		l.begin(now)
		history := []step{{Pending, now}}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 5).Draw(t, "later"))
			to := State(rapid.IntRange(0, states-1).Draw(t, "to"))
			from, ok := history[len(history)-1].s, false
			for _, one := range legal[from] {
				ok = ok || one == to
			}
			require.Equal(t, ok, l.move(to, now))
			if ok {
				history = append(history, step{to, now})
			}
		}
		now += time.Duration(rapid.IntRange(0, 5).Draw(t, "end"))
		for s := range State(states) {
			var in time.Duration
			first, entered := time.Duration(0), false
			for i, one := range history {
				if one.s != s {
					continue
				}
				if !entered {
					first, entered = one.at, true
				}
				until := now
				if i+1 < len(history) {
					until = history[i+1].at
				}
				if !s.Terminal() {
					in += until - one.at
				}
			}
			assert.Equal(t, in, l.in(s, now), s)
			assert.Equal(t, entered, l.entered(s), s)
			assert.Equal(t, first, l.first(s), s)
		}
	})
}

func TestAClockThatStepsBack(t *testing.T) {
	var l life
	l.begin(time.Second)
	require.True(t, l.move(Queued, time.Millisecond))
	assert.Equal(t, time.Second, l.first(Queued))
	assert.Zero(t, l.in(Pending, 0))
	assert.Zero(t, l.in(Queued, 0))
}

func TestStateText(t *testing.T) {
	for s := range State(states) {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back State
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, s, back)
	}
	var s State
	assert.EqualError(t, s.UnmarshalText([]byte("asleep")), `executor: "asleep" is not a state of a task`)
}
