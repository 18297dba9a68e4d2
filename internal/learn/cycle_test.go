package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Calls of minutes: between two of them the machine is not asked. That time would let the bound grow by many calls at once.
func TestTheTimeBeforeAnEventIsNotThatOfTheCycleThatItBegins(t *testing.T) {
	const later = 200.0
	for _, c := range []struct {
		name  string
		event func(*machineRun, Call)
		want  int
	}{
		{"an answer, by which the bound returns to its level", func(r *machineRun, c Call) {
			r.Answered(later, c, Answer{Used: 100, InFlight: 8})
		}, 9},
		{"a refusal", func(r *machineRun, c Call) {
			c.Others = 9
			r.Refused(later, c, Refusal{Names: FlightLimit})
		}, 9},
		{"a signal", func(r *machineRun, _ Call) { r.Signal(later, 100) }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Initial: 4, Max: 200})
			r.Flight.Cap(9, 1)
			r.Flight.Claimed = true
			r.Flight.Reopen(7)
			call := r.send(1)
			assert.True(t, math.IsInf(r.Wait(1.1, 100, 8), 1), "only an answer helps")
			c.event(r, call)
			r.Wait(max(later, r.Door.Until), 100, 9)
			assert.Equal(t, c.want, r.InFlight())
		})
	}
}
