package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// If each of these lowered the pace of tokens, it would fall for ever: the next measurement is no more than it allows.
func TestARejectedCallThatWasHeldBackByThePaceOfCallsLowersThatAlone(t *testing.T) {
	for name, c := range map[string]struct {
		tokens float64 // of the rejected call
		bound  Bound
		lowers bool
	}{
		"held back by the pace of calls":  {tokens: 1, bound: ByCalls},
		"held back by the pace of tokens": {tokens: 1000, bound: ByTokens, lowers: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := pacedTwice()
			at := 0.0
			send := func(tokens float64) Call {
				for wait := r.Wait(at, tokens, 0); wait > 0; wait = r.Wait(at, tokens, 0) {
					assert.Equal(t, c.bound, r.Bound())
					at += wait
				}
				r.last = Call{Seq: r.last.Seq + 1, At: at, Tokens: tokens, Total: r.last.Total + tokens}
				r.Sent(r.last)
				return r.last
			}
			for range 100 {
				call := send(c.tokens)
				r.Answered(call.At, call, Answer{Used: c.tokens / 2})
			}
			last := send(c.tokens)
			before := r.Tokens.Pace()
			r.Refused(at+0.1, last, Refusal{Asked: 1})
			assert.Equal(t, c.lowers, r.Tokens.Rate < before, "%v, %v", before, r.Tokens.Rate)
		})
	}
}

// Large calls are the first to lack tokens. The pace of calls is kept then.
func TestRejectedCallsThatAreLargerThanOthersLackTokens(t *testing.T) {
	for name, c := range map[string]struct {
		tokens float64 // of a rejected call; that of others is 10
		lacks  bool
	}{
		"larger":      {tokens: 50, lacks: true},
		"of one size": {tokens: 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := pacedTwice()
			at := 0.0
			send := func(tokens float64) Call {
				for wait := r.Wait(at, tokens, 0); wait > 0; wait = r.Wait(at, tokens, 0) {
					at += wait
				}
				r.last = Call{Seq: r.last.Seq + 1, At: at, Tokens: tokens, Total: r.last.Total + tokens}
				r.Sent(r.last)
				return r.last
			}
			reject := func() (calls, tokens bool) {
				for range 20 {
					call := send(10)
					r.Answered(call.At, call, Answer{Used: 10})
				}
				last := send(c.tokens)
				calls0, tokens0 := min(r.Calls.Rate, r.Calls.Pace()), min(r.Tokens.Rate, r.Tokens.Pace())
				r.Refused(at+0.1, last, Refusal{Asked: 1})
				return r.Calls.Rate < calls0, r.Tokens.Rate < tokens0
			}
			for range enough - 1 {
				_, tokens := reject()
				assert.False(t, tokens, "the pace of calls held the call back")
			}
			calls, tokens := reject()
			assert.Equal(t, c.lacks, tokens)
			assert.Equal(t, !c.lacks, calls)
		})
	}
}

// The pace of calls may be far above what the pace of tokens lets through.
func TestWhereTokensRunOutTheirCycleIsThatOfTheCallsAdmitted(t *testing.T) {
	cycle := func(large evidence) float64 {
		r := pacedTwice()
		r.largeHits = large
		for i := range 20 {
			r.send(float64(i))
		}
		r.Calls.Set(1000, cycleShortest)
		r.Refused(20.1, r.send(20), Refusal{Asked: 1})
		return r.Tokens.cycle
	}
	assert.Greater(t, cycle(convinced), 2*cycle(0))
}

func TestAForgottenCallWasNotHeldBack(t *testing.T) {
	var f Fates
	f.HeldBack(1)
	f.Sent(Call{Seq: 1})
	assert.False(t, f.WasHeldBack(1), "it has not been sent")
	f.HeldBack(1)
	assert.True(t, f.WasHeldBack(1))
	f.Sent(Call{Seq: 1 + fatesKept})
	assert.False(t, f.WasHeldBack(1))
	assert.False(t, f.WasHeldBack(1+fatesKept))
}

func TestWhatSpeaksForALackOfTokens(t *testing.T) {
	m := pacedTwice()
	m.largeHits, m.tally.total.Calls, m.tally.total.Tokens = convinced, 1, 10
	m.Tokens.model = 50
	assert.True(t, m.weighTokens(Call{Tokens: 50}))
	m.Tokens.model = 49
	assert.False(t, m.weighTokens(Call{Tokens: 50}), "the bucket may have held too little")
	for range convinced {
		m.weighTokens(Call{Tokens: 10})
	}
	assert.Zero(t, m.largeHits)
}
