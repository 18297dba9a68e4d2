package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Otherwise each rejection would cost a slow limit most of a turn.
func TestARejectedCallKeepsItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		asked  float64 // Retry-After, seconds
		truth  float64 // times Retry-After that the provider is closed, as far as is known; 0: nothing is
		turns  float64 // intervals from the end of the pause to the next call
	}{
		"after a pause shorter than half an interval": {Config{CallRate: 0.1}, 1, 0, 0},
		"also where tokens are paced":                 {Config{CallRate: 0.1, TokenRate: 10}, 1, 0, 0},
		"but not after a longer one":                  {Config{CallRate: 0.1}, 8, 0, 1},
		"nor if it is not told how long":              {Config{CallRate: 0.1}, 0, 0, 1},
		"nor after one known to be too short":         {Config{CallRate: 0.1}, 1, 2, 1},
		"nor without a gate":                          {Config{CallRate: 0.1, Off: GateRule}, 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(c.config)
			r.Door.truths[shortWait].factor, r.Calls.marks = c.truth, 2
			r.Wait(0, 100, 0)
			r.Answered(0.1, r.send(0), Answer{Used: 100})
			r.Wait(20, 100, 0)
			r.Refused(20.1, r.send(20), Refusal{Asked: c.asked})
			opens, interval := max(20.1, r.Door.Until), 1/r.Calls.Pace()
			r.Wait(opens-tiny, 100, 0)
			assert.InDelta(t, c.turns*interval, r.Wait(opens, 100, 0), 0.05*interval)
			r.send(opens)
			assert.InDelta(t, (c.turns+1)*interval, r.Wait(opens, 100, 0), 0.05*interval, "one call, not two")
		})
	}
}

// Two processes share a slow bucket of one call. No collision may be measured as a lower rate.
func TestProcessesThatCollideAtASlowLimitKeepTheirPace(t *testing.T) {
	const rate, trip = 0.5, 0.1 // calls per second, seconds
	runs := []*machineRun{runMachine(Config{CallRate: rate / 2}), runMachine(Config{CallRate: rate / 2, Seed: 1})}
	free, taken := 0.0, 0
	for now := 0.0; now < 1200; now += 0.1 {
		for _, r := range runs {
			if r.Wait(now, 100, 0) > 0 {
				continue
			}
			c := r.send(now)
			c.Others = 0
			if now < free {
				r.Refused(now+trip, c, Refusal{Asked: free - now})
				continue
			}
			free = now + 1/rate
			taken++
			r.Answered(now+trip, c, Answer{Used: 100})
		}
	}
	assert.Greater(t, float64(taken), 0.5*rate*1200)
}
