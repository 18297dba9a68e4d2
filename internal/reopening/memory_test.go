package reopening_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/reopening"
)

// A closure that goes on from the memory of another one does what that would have done.
func TestAClosureGoesOnFromAMemory(t *testing.T) {
	for name, c := range map[string]*reopening.Closure{
		"open":              {},
		"a long wait":       refusedFor(day),
		"a wait of seconds": refusedFor(20 * time.Second),
		"a used-up quota":   refusedFor(0),
		"doubts":            heard(reopening.Passed, 0),
		"refused since":     heard(reopening.Refused, 0),
	} {
		t.Run(name, func(t *testing.T) {
			then, now := at(90*time.Second), at(2*time.Minute)
			again := c.Memory(then).After(30 * time.Second).Closure(now)
			assert.Equal(t, c.Closed(), again.Closed())
			assert.Equal(t, c.Doubts(now), again.Doubts(now))
			assert.Equal(t, c.Waits(now), again.Waits(now))
			assert.Equal(t, c.Silent(now), again.Silent(now))
			for _, closure := range []*reopening.Closure{c, &again} {
				closure.Sent(now, 9)
				closure.Heard(now, 9, reopening.Exhausted, 0, 0)
			}
			assert.Equal(t, c.Until(), again.Until(), "the next look but one")
		})
	}
}

// What another process sends is within the bounds of what a closure does itself.
func TestTheTimesOfAMemoryAreBounded(t *testing.T) {
	const ever = time.Duration(1<<63 - 1)
	for _, m := range []reopening.Memory{
		{Gate: ever, Asked: ever, Pause: ever, Look: ever, Over: ever, Since: ever, Last: ever},
		{Gate: -ever, Asked: -ever, Pause: -ever, Look: -ever, Over: -ever, Since: -ever, Last: -ever},
	} {
		c := m.Closure(at(day))
		gate, asked := m.Paused(at(day))
		for end, most := range map[time.Time]time.Duration{c.Until(): time.Hour, gate: time.Hour, asked: 10 * time.Minute} {
			assert.LessOrEqual(t, end.Sub(at(day)), most)
		}
		assert.False(t, gate.Before(at(day)) || asked.Before(at(day)))
		assert.False(t, c.Waits(at(3*day)))
		assert.LessOrEqual(t, c.Silent(at(day)), day)
	}
}
