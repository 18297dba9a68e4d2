package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// collide reports whether the rejection of a call after a slow run lowers the pace.
func collide(c Config, r Refusal) bool { return slowRun(c).rejectAt(40, r) }

// slowRun sends a call every two seconds, whose responses show a bucket that holds one call and refills by four per second.
func slowRun(c Config) *machineRun {
	m := runMachine(c)
	for at := 2.0; at < 40; at += 2 {
		m.Wait(at, 100, 0)
		m.Answered(at+0.1, m.send(at), Answer{Used: 100, Calls: told(240, 0, 0.25)})
	}
	return m
}

func (m *machineRun) rejectAt(at float64, r Refusal) (lowers bool) {
	m.Wait(at, 100, 0)
	before := m.Calls.Rate
	m.Refused(at+0.1, m.send(at), r)
	return m.Calls.Rate < before
}

// Another process has taken the last unit. The pace is far below what comes in.
func TestARejectionOfTwoCallsThatCollideMeasuresNoRate(t *testing.T) {
	slow, taken := Config{CallRate: 0.5}, told(240, 0, 0.05)
	for _, c := range []struct {
		name   string
		config Config
		r      Refusal
		lowers bool
	}{
		{"a call has taken the last unit", slow, Refusal{Asked: 1, Calls: taken}, false},
		{"without Retry-After", slow, Refusal{Calls: taken}, false},
		{"it names the calls", slow, Refusal{Asked: 1, Calls: taken, Names: CallLimit}, false},
		{"it names tokens", slow, Refusal{Asked: 1, Calls: taken, Names: TokenLimit}, true},
		{"tokens have run out, too", slow, Refusal{Asked: 1, Calls: taken, Tokens: told(1000, 0, 1)}, true},
		{"there is a unit left, so that another limit rejects", slow, Refusal{Asked: 1, Calls: told(240, 1, 0)}, true},
		{"the pace takes most of what comes in", Config{CallRate: 3}, Refusal{Asked: 1, Calls: taken}, true},
		{"no headers", slow, Refusal{Asked: 1}, true},
		{"headers are ignored", Config{CallRate: 0.5, Blind: true}, Refusal{Asked: 1, Calls: taken}, true},
		{"without this rule", Config{CallRate: 0.5, Off: StrayRule}, Refusal{Asked: 1, Calls: taken}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.lowers, collide(c.config, c.r))
		})
	}
}

// One event causes one decision.
func TestCallsThatWereOutAtACollisionMeasureNoRate(t *testing.T) {
	m := slowRun(Config{CallRate: 0.5})
	taken := Refusal{Asked: 1, Calls: told(240, 0, 0.05)}
	before, first, second := m.Calls.Rate, m.send(40), m.send(40)
	m.Refused(40.1, first, taken)
	m.Refused(40.2, second, taken)
	assert.InDelta(t, before, m.Calls.Rate, 0)
	assert.Equal(t, 1, m.reasons(WhyCollided))
	assert.True(t, m.rejectAt(42, taken), "a later one does")
}

func TestALargeBucketThatIsEmptyMeasuresARate(t *testing.T) {
	for holds, lowers := range map[float64]bool{40: true, 3.8: true, 3: false} { // what is left of a bucket is rounded down
		m := runMachine(Config{CallRate: 0.5})
		m.noRoomUntil = 100 // a full bucket is no reason for a faster pace
		for at := 2.0; at < 40; at += 2 {
			m.Wait(at, 100, 0)
			m.Answered(at+0.1, m.send(at), Answer{Used: 100, Calls: told(240, holds-1, 0.25)})
		}
		assert.Equal(t, lowers, m.rejectAt(40, Refusal{Asked: 1, Calls: told(240, 0, holds/4)}), holds)
	}
}

func TestEveryFifthCallMayCollide(t *testing.T) {
	for apart, want := range map[int]int{3: 10, 4: 10, 5: 20, 6: 20} {
		var c Collisions
		collided := 0
		for range 20 {
			for range apart {
				c.Sent()
			}
			if c.Count() {
				collided++
			}
		}
		assert.Equal(t, want, collided, "one of %d seems to have", apart)
	}
}

func TestARejectionThatSomethingElseExplainsIsNoCollision(t *testing.T) {
	for _, c := range []struct {
		name   string
		alter  func(*machineRun)
		lowers bool
	}{
		{"nothing else does", func(*machineRun) {}, false},
		{"others take most of what comes in", func(m *machineRun) { m.quota.Calls.others.Rate = 3.5 }, true},
		{"a window that is used up", func(m *machineRun) { m.quota.Calls.turn.votes = mostVotes }, true},
		{"a cap, which it refutes", func(m *machineRun) { m.Flight.Claimed = true }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := slowRun(Config{CallRate: 0.5})
			c.alter(m)
			assert.Equal(t, c.lowers, m.rejectAt(40, Refusal{Asked: 1, Calls: told(240, 0, 0.05)}))
		})
	}
}

func TestIfManyCallsCollideTheyMeasureARate(t *testing.T) {
	m := runMachine(Config{CallRate: 0.5})
	taken := Refusal{Asked: 1, Calls: told(240, 0, 0.05)}
	var lowered int
	for i := range 20 {
		at := float64(10 * i)
		for n := range 3 {
			m.Wait(at+2*float64(n), 100, 0)
			m.Answered(at+2*float64(n)+0.1, m.send(at+2*float64(n)), Answer{Used: 100, Calls: told(240, 0, 0.25)})
		}
		if m.rejectAt(at+6, taken) {
			lowered++
		}
	}
	assert.Equal(t, 10, lowered, "one in five calls may collide, and one in four is rejected")
	assert.Equal(t, 10, m.reasons(WhyCollided))
}
