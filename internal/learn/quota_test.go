package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// quotaRun sends calls of 100 tokens, all at 1. The answer to the first says
// that 5 calls of 60 a minute are left, and 500 tokens of 6000.
type quotaRun struct {
	Quota
	t   Tally
	seq int64
}

func (q *quotaRun) send(n int) (c Call) {
	for range n {
		q.seq++
		c = Call{Seq: q.seq, At: 1, Tokens: 100, Total: 100 * float64(q.seq)}
		q.t.Sent(c)
		q.Sent(c)
	}
	return c
}

func (q *quotaRun) told(c Call, calls, tokens Told) {
	q.Observe(1, c, 1, calls, tokens, &q.t)
}

var (
	fiveCalls  = told(60, 5, 1)
	fiveTokens = told(6000, 500, 1)
)

func TestQuotaCountsWhatWasSentSince(t *testing.T) {
	for _, c := range []struct {
		name          string
		calls, tokens Told
		sent, refused int
		used          float64 // tokens, by the first of those sent
		off           Rules
		blind         bool
		want          float64
	}{
		{"two spare calls are left", fiveCalls, Told{}, 2, 0, 100, 0, false, 0},
		{"one is", fiveCalls, Told{}, 3, 0, 100, 0, false, 1.008},
		{"refused calls used up nothing", fiveCalls, Told{}, 3, 1, 100, 0, false, 0},
		{"tokens for two are left", Told{}, fiveTokens, 2, 0, 100, 0, false, 0},
		{"for one", Told{}, fiveTokens, 3, 0, 100, 0, false, 1},
		{"refused tokens were not used up", Told{}, fiveTokens, 3, 1, 100, 0, false, 0},
		{"what was not used is given back", Told{}, fiveTokens, 3, 0, 50, 0, false, 0.5},
		{"the longer of both", fiveCalls, fiveTokens, 3, 0, 50, 0, false, 1.008},
		{"nothing told", Told{}, Told{}, 50, 0, 100, 0, false, 0},
		{"blind", fiveCalls, fiveTokens, 50, 0, 100, 0, true, 0},
		{"left out", fiveCalls, fiveTokens, 50, 0, 100, MirrorRule, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &quotaRun{}
			q.Blind, q.off = c.blind, c.off
			q.told(q.send(1), c.calls, c.tokens)
			last := q.send(c.sent)
			for i := range c.refused {
				last.Seq -= int64(i)
				q.t.Refused(last)
				q.Refused(last)
			}
			q.t.Answered(Call{Tokens: 100}, c.used)
			q.t.total.At = 1.5
			q.t.history.Add(q.t.total)
			got := q.wait(1, 100, unspent{}, &q.t)
			assert.InDelta(t, c.want, got.wait, 0.01)
			assert.Equal(t, !c.blind && (c.calls.Known || c.tokens.Known), q.Known())
		})
	}
}

func TestAnAnswerToAnEarlierCallTellsNothingNew(t *testing.T) {
	q := &quotaRun{}
	first, second := q.send(1), q.send(1)
	q.told(second, told(60, 0, 6), told(6000, 0, 6))
	before := q.wait(1, 100, unspent{}, &q.t)
	assert.Positive(t, before.wait)
	q.told(first, told(60, 50, 6), told(6000, 5000, 6))
	assert.Equal(t, before, q.wait(1, 100, unspent{}, &q.t))
}

func TestPlentyIsSaidOfEachUnit(t *testing.T) {
	for _, c := range []struct {
		name          string
		calls, tokens Told
		off           Rules
		want          quotaWait
	}{
		{"of calls", told(60, 59, 1), told(6000, 3000, 30), 0, quotaWait{room: true}},
		{"of tokens", told(60, 30, 30), told(6000, 5900, 1), 0, quotaWait{tokens: true}},
		{"left out", told(60, 59, 1), told(6000, 5900, 1), MirrorRule, quotaWait{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &quotaRun{}
			q.off = c.off
			q.told(q.send(1), c.calls, c.tokens)
			assert.Equal(t, c.want, q.wait(1, 100, unspent{}, &q.t))
		})
	}
}

func TestHeadersThatShowRoomSpeedThePaceUp(t *testing.T) {
	r := runMachine(Config{CallRate: 1})
	for r.last.At < 20 {
		call := r.send(r.last.At + max(0.01, r.Wait(r.last.At, 100, 1)))
		r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 1, Calls: told(60, 59, 1)})
	}
	assert.Greater(t, r.Calls.Pace(), 10.0)
	r.Answered(20.1, r.send(20), Answer{Used: 100, InFlight: 1, Calls: told(60, 30, 30)})
	r.Wait(20.1, 100, 1)
	assert.InDelta(t, 1, r.Calls.Pace(), 0.1)
}

// Headers about a limit of ten times as much always show room. Once rejections have measured a rate that is lower, that is no reason
// to exceed it every few seconds.
func TestRoomBeyondARateThatMarksAgreeAboutIsNotUsed(t *testing.T) {
	for settled, want := range map[bool]float64{true: 10.5, false: 40} {
		r := runMachine(Config{CallRate: 10})
		if settled {
			r.calm.agreed = enough
		}
		at := 0.0
		for ; at < 5; at += 0.1 {
			r.Answered(at+0.1, r.send(at), Answer{Used: 100, InFlight: 1, Calls: told(6000, 99, 0.01)})
		}
		r.Wait(at, 100, 1)
		r.Refused(at, r.send(at), Refusal{Asked: 1, Calls: told(6000, 99, 0.01)})
		for end := at + 6; at < end; {
			at += max(0.01, r.Wait(at, 100, 1))
			r.Answered(at+0.1, r.send(at), Answer{Used: 100, InFlight: 1, Calls: told(6000, 99, 0.01)})
		}
		assert.Greater(t, r.Calls.Pace(), want/2, settled)
		assert.Less(t, r.Calls.Pace(), want, settled)
	}
}

// The first answers come in any order: one of them shows that the bucket was full.
func TestAnAnswerThatWasOvertakenShowsAFullBucket(t *testing.T) {
	q := &quotaRun{}
	first, second := q.send(1), q.send(1)
	q.told(second, told(20, 10, 1), told(2000, 1000, 1))
	q.told(first, told(20, 19, 0.1), told(2000, 1900, 0.1))
	assert.True(t, q.Calls.holds)
	assert.True(t, q.Tokens.holds)
	third := q.send(1)
	q.told(third, told(20, 10, 1), told(2000, 1000, 1))
	assert.InDelta(t, 10, q.Calls.refill, 0.6, "not 20 a minute")
}

// Headers decide alone about the part of a client, and about tokens in a window.
func TestWhereHeadersDecideAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		votes int
		want  quotaWait
	}{
		{"of a bucket that is half full", 0, 0, quotaWait{}},
		{"of a window", 0, enough, quotaWait{tokens: true}},
		{"of a part", 0.25, 0, quotaWait{calls: true, tokens: true}},
		{"of a part of a window", 0.25, enough, quotaWait{calls: true, tokens: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &quotaRun{}
			q.Calls.part.share, q.Tokens.part.share = c.share, c.share
			q.told(q.send(1), told(60, 30, 30), told(6000, 3000, 30))
			q.Calls.turn.votes, q.Tokens.turn.votes = c.votes, c.votes
			w := q.wait(2, 100, unspent{}, &q.t)
			w.wait, w.room = 0, w.room && c.share > 0
			assert.Equal(t, c.want, w)
		})
	}
}

// Calls whose tokens are unknown wait for the window of calls although no tokens are left in theirs.
func TestNoTokensOfAnEmptyWindowAreNoWait(t *testing.T) {
	q := &quotaRun{}
	q.seq++
	c := Call{Seq: q.seq, At: 1}
	q.t.Sent(c)
	q.Sent(c)
	q.told(c, told(60, 0, 59), told(6000, 0, 59))
	q.Calls.turn.votes, q.Tokens.turn.votes = enough, enough
	assert.InDelta(t, 59, q.wait(1, 0, unspent{}, &q.t).wait, 0.1)
}

// A gateway may stop passing the headers on. What they said last, such as that others use nearly everything, would stay true for ever.
func TestHeadersThatNoLongerComeAreForgotten(t *testing.T) {
	r := runMachine(Config{})
	answer := func(at float64, calls, tokens Told) {
		c := r.send(at)
		r.Answered(at, c, Answer{Used: 100, Calls: calls, Tokens: tokens})
	}
	answer(1, told(60, 50, 10), told(6000, 500, 1))
	r.quota.Calls.others.Rate = 0.9
	answer(remembered, Told{}, told(6000, 5900, 1))
	assert.True(t, r.quota.Calls.Known)
	assert.Zero(t, r.reasons(WhyStale))

	r.Refused(1+remembered, r.send(1+remembered), Refusal{Asked: 1})
	assert.True(t, r.quota.Calls.Known, "many rejections come without headers")
	answer(1+remembered, Told{}, Told{})
	assert.False(t, r.quota.Calls.Known)
	assert.True(t, r.quota.Tokens.Known)
	assert.Equal(t, 1, r.reasons(WhyStale))
	answer(2+remembered, told(60, 50, 10), Told{})
	assert.True(t, r.quota.Calls.Known)
	assert.Zero(t, r.quota.Calls.others.Rate)
}

func TestTokensThatAreNoLongerDeclaredAreForgotten(t *testing.T) {
	r := runMachine(Config{})
	r.Answered(1, r.send(1), Answer{Used: 100, Tokens: told(6000, 500, 1)})
	r.Answered(1+remembered, r.send(1+remembered), Answer{Used: 100, Calls: told(60, 50, 1)})
	assert.False(t, r.quota.Tokens.Known)
	assert.True(t, r.quota.Calls.Known)
}

// Where the headers of both units are wrong, where they are shared, and while the other unit is tried.
func TestNoHeadersHoldAllCallsBackForLong(t *testing.T) {
	for name, c := range map[string]struct {
		config        Config
		calls, tokens Told
	}{
		"both units": {Config{}, told(10, 0, hour), told(1000, 0, hour-100)},
		"a part":     {Config{Share: 0.25}, told(10, 0, 10*hour), Told{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Initial, c.config.Max = 10, 100
			r := runMachine(c.config)
			r.Answered(1, r.send(1), Answer{Used: 100, Calls: c.calls, Tokens: c.tokens})
			at := 1.0
			for wait := r.Wait(at, 100, 0); wait > 0; wait = r.Wait(at, 100, 0) {
				at += wait
			}
			assert.InDelta(t, 1+draftIdle, at, 1)
		})
	}
}

func TestATryOfOneUnitIsNoneOfTheOther(t *testing.T) {
	o, m := draft()
	o.ends = day
	last := Call{Seq: 8, At: 100}
	tokens := hold{m: &Mirror{Known: true, refill: 1}, of: OfTokens, n: 100, wait: draftIdle}
	wait, _ := o.Wait(120, tokens, last)
	assert.InDelta(t, draftIdle, wait, 0)
	tokens.wait = hour
	wait, _ = o.Wait(120, tokens, last)
	assert.InDelta(t, 40, wait, 0)
	_, begins := o.Wait(160, tokens, last)
	assert.True(t, begins)
	assert.Equal(t, OfTokens, o.of)
	wait, begins = o.Wait(160, held(m, 1, 0), last)
	assert.InDelta(t, 1, wait, 0)
	assert.False(t, begins)
}
