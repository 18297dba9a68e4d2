package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCallsAboveACapOnTrialAreApart(t *testing.T) {
	for _, c := range []struct {
		name     string
		inFlight int
		change   func(m *Machine)
		want     float64
	}{
		{"as many as have held", 9, func(*Machine) {}, 0},
		{"one more", 10, func(*Machine) {}, 0.5 * 2 / 11},
		{"a trial of more", 10, func(m *Machine) { m.Flight.Return(m.higher.Begin(0, 1, 10)) }, 0.5 * 2 / 11},
		{"a trial that has reached its level", 10, func(m *Machine) { m.higher.Begin(0, 1, 10); m.Flight.Return(11) }, 0.5 * 2 / 11},
		{"hovering", 10, func(m *Machine) { m.Flight.Hover(10) }, 0},
		{"hovering, in a trial", 10, func(m *Machine) { m.Flight.Hover(10); m.higher.Begin(0, 1, 10); m.Flight.Return(20) }, 0.5 * 2 / 11},
		{"named", 10, func(m *Machine) { m.claim.namedUntil = 1 }, 0},
		{"a pace spaces them", 10, func(m *Machine) { m.Calls.On = true }, 0},
		{"no cap", 10, func(m *Machine) { m.Flight.Claimed = false }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(Config{Initial: 10, Max: 100})
			m.rtt = 2
			m.higher.Fell(0, 20)
			m.Flight.Cap(10, 2)
			m.Flight.Claimed = true
			c.change(m)
			assert.InDelta(t, c.want, m.minGap(c.inFlight), 1e-9)
		})
	}
}

func TestACallAboveACapWaitsAfterTheOneBefore(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.rtt = 2.2
	r.Flight.Cap(10, 2)
	r.Flight.Claimed = true
	r.Flight.Return(20)
	r.levels.Fell(0, 20)
	r.levels.Begin(0, 0, 10)
	r.send(5)
	assert.InDelta(t, 0.06, r.Wait(5.04, 100, 10), 1e-9)
	assert.Equal(t, ByFlight, r.Bound())
	assert.Zero(t, r.Wait(5.1001, 100, 10))
	assert.Zero(t, r.Wait(5.04, 100, 9), "where it replaces an answer")
}

// silentRate plays calls of trip seconds against a bucket with refusals that say nothing, and returns how many calls a second are
// taken in the second half.
func (r *machineRun) silentRate(rate, burst, trip, seconds float64) float64 {
	const step, refusal = 0.01, 0.2
	type out struct {
		Call
		at float64
		ok bool
	}
	var calls []out
	bucket, taken := burst, 0.0
	for now := 0.0; now < seconds; now += step {
		bucket = min(burst, bucket+rate*step)
		kept := calls[:0]
		for _, c := range calls {
			switch {
			case now < c.at:
				kept = append(kept, c)
			case c.ok:
				r.Answered(now, c.Call, Answer{Used: 100, InFlight: len(calls) - 1})
			default:
				r.Refused(now, c.Call, Refusal{})
			}
		}
		calls = kept
		for r.Wait(now, 100, len(calls)) == 0 {
			c := out{Call: Call{Seq: r.last.Seq + 1, At: now, Others: len(calls), Tokens: 100, Total: r.last.Total + 100}, at: now + refusal}
			if c.ok = bucket >= 1; c.ok {
				bucket--
				c.at = now + trip*(0.7+0.6*r.luck.Float64())
				if now > seconds/2 {
					taken++
				}
			}
			r.last = c.Call
			r.Sent(c.Call)
			calls = append(calls, c)
		}
	}
	return taken / (seconds / 2)
}

func TestASmallBucketIsNotStarvedAsACap(t *testing.T) {
	const rate, burst, trip = 2.4, 2, 13
	for seed := range uint64(4) {
		r := runMachine(Config{Initial: 4, Max: 1000, Blind: true, Seed: seed})
		assert.Greater(t, r.silentRate(rate, burst, trip, 1200)/rate, 0.9, "seed %d", seed)
	}
}

// Calls in flight vary little at a steady pace, so that refusals of the rate come at one level.
func TestARateThatAgreedIsNotStarvedAsACap(t *testing.T) {
	const rate, burst, trip = 7.93, 3, 4.4
	for _, seed := range []uint64{16, 18} { // their levels agree by chance
		r := runMachine(Config{Initial: 4, Max: 1000, Blind: true, Seed: seed})
		assert.Greater(t, r.silentRate(rate, burst, trip, 1200)/rate, 0.9, "seed %d", seed)
	}
}

func TestATrialOfMoreThanABoundThatHoversIsSpaced(t *testing.T) {
	m := New(Config{Initial: 4, Max: 100})
	m.Flight.hold(4)
	m.Flight.Claimed, m.Flight.mode = true, hovering
	assert.Zero(t, m.minGap(5))
	m.higher.trying, m.higher.until = true, 1
	assert.Positive(t, m.minGap(5))
}
