package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRejectionsThatDelayTheNextAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		left, asked []float64
		tokens      float64 // of the last call
		each        float64
	}{
		"each does":                      {[]float64{0, 0, 0.1}, []float64{1.5, 3, 4.4}, 1, 1.5},
		"they arrive in another order":   {[]float64{0.1, 0, 0}, []float64{4.4, 1.5, 3}, 1, 1.5},
		"whole seconds":                  {[]float64{0, 0, 0, 0, 0}, []float64{1, 2, 3, 4, 5}, 1, 1},
		"rounding alone":                 {[]float64{0, 0, 0}, []float64{2, 3, 3}, 1, 0},
		"a bucket":                       {[]float64{0, 0.5, 1}, []float64{1.5, 1, 0.5}, 1, 0},
		"another process had a call":     {[]float64{0, 0, 0.1}, []float64{1.5, 1.5, 3}, 1, 0},
		"it has one for each of ours":    {[]float64{0, 1.5, 3}, []float64{1.5, 1.5, 1.5}, 1, 0},
		"a larger call waits for tokens": {[]float64{0, 0, 0.1}, []float64{1.5, 3, 4.4}, 2, 0},
		"no more than a minute":          {[]float64{0, 0, 0}, []float64{1, 200, 400}, 1, minute},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fines
			proofs := 0
			for i, left := range c.left {
				call := Call{At: left, Tokens: 1}
				if i == len(c.left)-1 {
					call.Tokens = c.tokens
				}
				if f.Refused(1, call, c.asked[i]) {
					proofs++
				}
			}
			assert.InDelta(t, c.each, f.Each(), 1e-9)
			assert.Equal(t, c.each > 0, proofs == 1)
		})
	}
}

func TestThatRejectionsCountIsRememberedForAQuarterOfAnHour(t *testing.T) {
	for now, each := range map[float64]float64{10: 1.4, remembered + 2: 0} {
		var f Fines
		for i := range 3 {
			f.Refused(1, Call{}, 1.5*float64(i+1))
		}
		f.Begin()
		assert.Zero(t, f.Each(), "another epoch")
		f.Refused(now, Call{At: now}, 1.5)
		assert.Zero(t, f.Until(), "one rejection delays nothing that is known")
		f.Refused(now+1.6, Call{At: now + 1.6}, 1.3)
		assert.InDelta(t, each, f.Each(), 1e-9)
	}
}

// playCounting sends as much as the machine allows to a bucket from which rejections take a call as well. The result is how many are
// admitted and rejected.
func (r *machineRun) playCounting(rate, burst, to float64) (admitted, rejected int) {
	level := burst
	for now := 0.0; now < to; now += 0.01 {
		level = min(burst, level+0.01*rate)
		var left []Call
		for r.Wait(now, 100, len(left)) == 0 {
			left = append(left, r.send(now))
		}
		for _, c := range left {
			if level >= 1 {
				admitted++
				r.Answered(now, c, Answer{Used: 100})
			} else {
				rejected++
				r.Refused(now, c, Refusal{Asked: (1 - level) / rate})
			}
			level = max(-6*rate, level-1)
		}
	}
	return admitted, rejected
}

// Without what each rejection costs, 30 are admitted and 26 rejected.
func TestThePauseIncludesWhatRejectionsCost(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	admitted, rejected := r.playCounting(0.5, 20, minute)
	assert.Greater(t, admitted, 32)
	assert.Less(t, rejected, 23)
	assert.Equal(t, 1, r.reasons(WhyFined))
}

func TestRejectionsThatCountMeasureTheFirstRate(t *testing.T) {
	for off, want := range map[Rules]float64{0: 1 / 1.6, GrowthRule: 20 / shortest} {
		r := runMachine(Config{Off: off})
		for range 20 {
			r.send(0)
		}
		for i := range 4 {
			r.Refused(0.01, r.send(0), Refusal{Asked: 1.6 * float64(i+1)})
		}
		r.send(8.1)
		assert.InEpsilon(t, want, r.Calls.Rate, 1e-9)
	}
}

func TestRejectionsThatCountArePartOfAMeasurement(t *testing.T) {
	for fined, want := range map[bool]float64{false: (2 + 1) / 12., true: (2 + 3 + 1) / 12.} {
		var s Tally
		for i := range 7 {
			s.Sent(Call{Seq: int64(i + 1), At: 2 * float64(i), Tokens: 1, Total: float64(i + 1)})
			switch i {
			case 0:
				s.Refused(s.last)
				s.Mark(s.last)
			case 1, 2, 3:
				s.Refused(s.last)
			}
		}
		c := s.last
		s.Refused(c)
		r := s.Measure(c, Doubt{Fined: fined}, 0)
		assert.InEpsilon(t, want, r.Calls, 1e-9)
	}
}

// An outage asks for longer and longer, too, and each probe comes later.
func TestAnOutageIsNoCostOfRejections(t *testing.T) {
	r := runMachine(Config{CallRate: 20})
	r.Door.fines.until = day
	probes, at := 0, 0.0
	for at < 300 {
		at += max(tiny, r.Wait(at, 100, 0))
		if r.Wait(at, 100, 0) > 0 {
			continue
		}
		probes++
		r.Refused(at+0.1, r.send(at), Refusal{Asked: 2})
		at += 0.1
	}
	assert.Greater(t, probes, 45)
}

// A pause that lasts longer than a test of an earlier opening is none.
func TestAPauseForWhatRejectionsCostTestsNothing(t *testing.T) {
	d := newDoor(0)
	d.Until, d.current().Testing = 5, true
	d.extendUntil(4)
	assert.True(t, d.current().Testing)
	d.extendUntil(9)
	assert.False(t, d.current().Testing)
	assert.InDelta(t, 9, d.Until, 0)
}

// What rejections cost is what those of one epoch show, also if none of it asks for a wait.
func TestEachEpochHasItsOwnRejections(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.Door.fines = Fines{calls: 4, first: 1, last: 9, until: day}
	c := r.send(1)
	r.Answered(1.1, c, Answer{Used: 100})
	r.Refused(2.1, r.send(2), Refusal{})
	assert.Zero(t, r.Door.fines.Each())

	for i := range 2 {
		at := 10 * float64(i+1)
		for range 20 {
			c := r.send(at)
			r.Answered(at+0.1, c, Answer{Used: 100})
		}
		r.Refused(at+1, r.send(at+0.9), Refusal{Asked: 2})
		assert.InDelta(t, 1, r.Door.fines.calls, 0)
	}
	for i := range 4 {
		r.Refused(31, r.send(30), Refusal{Names: FlightLimit, Asked: float64(2 * (i + 1))})
	}
	assert.LessOrEqual(t, r.Door.fines.calls, 1.0, "a cap has no quota")
}

// Two rejections are not enough.
func TestFewRejectionsMeasureNoFirstRate(t *testing.T) {
	r := runMachine(Config{})
	for range 20 {
		r.send(0)
	}
	r.Door.fines.until = 1
	for i := range 2 {
		r.Refused(0.01, r.send(0), Refusal{Asked: 1.6 * float64(i+1)})
	}
	r.send(8.1)
	assert.InEpsilon(t, 20/shortest, r.Calls.Rate, 0.1)
}
