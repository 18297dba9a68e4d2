package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A refusal may take no time at all. It is one of a new epoch all the same if
// its call left after the cut, or calls would go round for ever at one instant.
func TestCallsOfOneInstantGoByTheirNumber(t *testing.T) {
	m := New(Config{Initial: 4, Max: 100})
	cuts := 0
	m.decide = func(d Decision) {
		if d.Kind == Cut {
			cuts++
		}
	}
	for seq := int64(1); seq <= 2; seq++ {
		m.Sent(Call{Seq: seq, At: 1, Others: int(seq) + 4})
	}
	m.Refused(1, Call{Seq: 1, At: 1, Others: 5}, Refusal{Names: FlightLimit})
	m.Refused(1, Call{Seq: 2, At: 1, Others: 6}, Refusal{Names: FlightLimit})
	assert.Equal(t, 1, cuts, "it had left by the cut")
	m.Sent(Call{Seq: 3, At: 1, Others: 5})
	m.Refused(1, Call{Seq: 3, At: 1, Others: 5}, Refusal{Names: FlightLimit})
	assert.Equal(t, 2, cuts)
}

// A refusal of a call that had left before the cut moves only the gate, and
// does so for all calls.
func TestAnEchoMovesOnlyTheGate(t *testing.T) {
	m := New(Config{Initial: 4, Max: 100})
	cuts := 0
	m.decide = func(d Decision) {
		if d.Kind == Cut {
			cuts++
		}
	}
	for seq := int64(1); seq <= 3; seq++ {
		m.Sent(Call{Seq: seq, At: float64(seq), Others: 1})
	}
	m.Refused(4, Call{Seq: 1, At: 1, Others: 1}, Refusal{Asked: 2})
	gate, pace := m.Door.Until, m.Calls.Pace()
	m.Refused(5, Call{Seq: 2, At: 2, Others: 1}, Refusal{Asked: 30})
	assert.Equal(t, 1, cuts)
	assert.InDelta(t, pace, m.Calls.Pace(), 0)
	assert.Greater(t, m.Door.Until, gate)
	assert.InDelta(t, 35, m.Door.Until, 1e-9, "it is a lower bound for all")
	m.Refused(5, Call{Seq: 3, At: 3, Others: 1}, Refusal{})
	assert.InDelta(t, 35, m.Door.Until, 1e-9, "and never comes forward")
}
