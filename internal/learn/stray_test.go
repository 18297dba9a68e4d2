package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// strays has a known share of random rejections, and a factor by which a long Retry-After is multiplied.
func strays(factor float64) *machineRun {
	r := runMachine(Config{CallRate: 10, TokenRate: 1000})
	r.marked = true
	r.noise.Know(0.05)
	r.Door.truths[1].factor = factor
	return r
}

// The limit does not ask for a wait that is known to be too long, nor for a short one while there is quota.
func TestARejectionThatAsksForAWaitMayBeRandom(t *testing.T) {
	full, some := Told{Known: true, Remaining: 1}, Told{Known: true, Remaining: 99}
	for name, c := range map[string]struct {
		factor float64
		r      Refusal
		want   bool
	}{
		"too long by far":             {0.5, Refusal{Asked: 10}, true},
		"hardly too long":             {0.51, Refusal{Asked: 10}, false},
		"as long as asked":            {1, Refusal{Asked: 10}, false},
		"a fraction, likely":          {0.1, Refusal{Asked: 1}, false},
		"too long to be one":          {0.1, Refusal{Asked: 1.5}, true},
		"without a wait":              {1, Refusal{}, true},
		"a fraction, with quota":      {1, Refusal{Asked: 1, Calls: full}, true},
		"a fraction, without quota":   {1, Refusal{Asked: 1, Calls: Told{Known: true}}, false},
		"a fraction, too few tokens":  {1, Refusal{Asked: 1, Calls: full, Tokens: some}, false},
		"as long as asked with quota": {1, Refusal{Asked: 10, Calls: full}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := strays(c.factor)
			assert.Equal(t, c.want, r.judgeRandom(1, Call{Tokens: 100}, &c.r, Rate{Calls: 5, Tokens: 500}))
		})
	}
}

func TestARateOfTokensExplainsARejection(t *testing.T) {
	for tokens, want := range map[float64]float64{980: 1, 990: 0} {
		r := strays(1)
		r.noise = Noise{}
		assert.False(t, r.judgeRandom(1, Call{}, &Refusal{}, Rate{Calls: 5, Tokens: tokens}))
		assert.Equal(t, want, r.noise.unexplained, "%v of 1000 tokens a second", tokens)
	}
}

func TestARandomRejectionThatAsksForAWaitLeavesACap(t *testing.T) {
	for factor, want := range map[float64]bool{0.1: true, 1: false} {
		r := strays(factor)
		r.Flight.Claimed = true
		r.send(1)
		r.judge(2, r.last, &Refusal{Asked: 10}, false)
		assert.Equal(t, want, r.Flight.Claimed, "the waits are %v times as long", factor)
	}
}

// No wait helps where rejections are random.
func TestARandomRejectionHoldsNoCallBack(t *testing.T) {
	for factor, want := range map[float64]bool{0.1: false, 1: true} {
		r := strays(factor)
		r.Calls.Rate = 4
		r.send(1)
		r.tally.Mark(r.last)
		r.sendMany(3)
		r.Refused(3.2, r.last, Refusal{Asked: 10})
		assert.Equal(t, want, r.Door.Until > 3.2, "the waits are %v times as long", factor)
	}
}

// After a pause of two seconds, 25 calls a second are admitted for two seconds: ten in all from a full bucket, the rest refilled.
func TestTheFirstMarksAllowForWhatRanOver(t *testing.T) {
	for _, c := range []struct {
		marks    int
		expected bool
		want     float64
	}{
		{1, false, 20},
		{2, false, 20},
		{3, false, 20},
		{4, false, 12.7},
		{1, true, 12.7},
	} {
		r := strays(1)
		r.Calls.marks, r.Calls.expected = c.marks, c.expected
		r.send(1)
		r.tally.Mark(r.last)
		for i := range 51 {
			r.send(3 + 0.04*float64(i))
		}
		_, rate := r.judge(5.1, r.last, &Refusal{Asked: 10}, false)
		assert.InDelta(t, c.want, rate.Calls, 0.6, "%+v", c)
	}
}

// An overload and a named cap have a reason, so their rejections are not counted among those that may be random.
func TestARejectionWithAReasonIsNotCountedAsRandom(t *testing.T) {
	for name, c := range map[string]struct {
		refusal Refusal
		want    float64
	}{
		"a 429":       {Refusal{}, 1},
		"of calls":    {Refusal{Names: CallLimit}, 1},
		"an overload": {Refusal{Mild: true}, 0},
		"a named cap": {Refusal{Names: FlightLimit}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := strays(1)
			before := r.noise.refused
			r.account(2, r.send(1), &c.refusal)
			assert.InDelta(t, c.want, r.noise.refused-before, 0)
		})
	}
}

// Under a cap there are no marks of a rate, and bursts that a pause lets go do not count beyond the time that they cover.
func TestUnderACapNoMarkIsEarly(t *testing.T) {
	r := runMachine(Config{Initial: 100})
	r.marked, r.Flight.Claimed = true, true
	r.send(1)
	r.tally.Mark(r.last)
	for i := range 200 {
		r.send(1 + float64(1+i/100))
	}
	_, rate := r.judge(3.1, r.last, &Refusal{Names: FlightLimit}, false)
	assert.InDelta(t, 100, rate.Calls, 15)
}
