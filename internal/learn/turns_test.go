package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTurnsPredictTheMinute(t *testing.T) {
	type opened struct{ at, slack float64 }
	for name, c := range map[string]struct {
		opened []opened
		now    float64
		closed int
		want   float64
	}{
		"nothing known":             {nil, 10, 2, 0},
		"twice is no habit":         {[]opened{{5, 0}, {65, 0}}, 70, 2, 0},
		"thrice is":                 {[]opened{{5, 0}, {65, 0}, {125, 0}}, 130, 2, 185.05},
		"minutes may be left out":   {[]opened{{5, 0}, {185, 0}, {425, 0}}, 430, 2, 485.05},
		"later minutes":             {[]opened{{5, 0}, {65, 0}, {125, 0}}, 310, 2, 365.05},
		"closed for the first time": {[]opened{{5, 0}, {65, 0}, {125, 0}}, 130, 1, 0},
		"it has just turned":        {[]opened{{5, 0}, {65, 0}, {125, 0}}, 125.2, 2, 0},
		"half a minute apart":       {[]opened{{5, 0}, {35, 0}, {65, 0}, {95, 0}, {125, 0}}, 130, 2, 185.05},
		"off the minute":            {[]opened{{5, 0}, {45, 0}, {85, 0}, {125, 0}}, 130, 2, 0},
		"one off unlearns":          {[]opened{{5, 0}, {65, 0}, {125, 0}, {160, 0}}, 170, 2, 0},
		"a long habit survives":     {[]opened{{5, 0}, {65, 0}, {125, 0}, {185, 0}, {245, 0}, {280, 0}}, 290, 2, 305.05},
		"just off":                  {[]opened{{5, 0}, {65.6, 0}, {126.2, 0}}, 130, 2, 0},
		"found late":                {[]opened{{5, 0}, {67, 2}, {125, 0}}, 130, 2, 185.05},
		"late moves it a little":    {[]opened{{5, 0}, {65, 0}, {127, 2}}, 130, 2, 185.55},
		"early moves it at once":    {[]opened{{5, 0}, {65, 0}, {123, 2}}, 130, 2, 183.05},
		"slack has an end":          {[]opened{{5, 0}, {71, 100}, {131, 100}}, 140, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var turns Turns
			for _, o := range c.opened {
				turns.Opened(o.at, o.slack)
			}
			assert.InDelta(t, c.want, turns.Next(c.now, c.closed), 1e-9)
		})
	}
}

func TestTurnsStartAnewAfterAMissWithoutHabit(t *testing.T) {
	var turns Turns
	for _, at := range []float64{5, 45, 105, 165} { // 45 is where it begins
		turns.Opened(at, 0)
	}
	assert.InDelta(t, 225.05, turns.Next(170, 2), 1e-9)
}
