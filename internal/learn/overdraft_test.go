package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func constant(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

func TestHeadersOfASmallerLimitAreFoundOut(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.shown = &shown{rate: 1, full: 10, left: 10}
	r.play(0, 120, constant(10), Refusal{Names: CallLimit, Asked: 1})
	assert.Equal(t, 1, r.reasons(WhyDraft))
	assert.Equal(t, 1, r.reasons(WhyLow))
	before := r.last.Seq
	r.play(120, 180, constant(10), Refusal{Names: CallLimit, Asked: 1})
	assert.InDelta(t, 600, r.last.Seq-before, 30, "the limit that rejects is used")
	assert.True(t, r.trust.Ignored(900))
	assert.False(t, r.trust.Ignored(1100), "they may have become true")
}

// What is admitted while the headers are ignored shows whether they are still too low. A test would hold calls back.
func TestHeadersThatAreStillTooLowAreNotTestedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		rate float64 // admitted later
		lows int
	}{"more is admitted": {10, 2}, "less is admitted": {0.4, 1}} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{Initial: 10, Max: 100})
			r.shown = &shown{rate: 1, full: 10, left: 10}
			r.play(0, 120, constant(10), Refusal{Names: CallLimit, Asked: 1})
			r.play(120, 1100, constant(c.rate), Refusal{Names: CallLimit, Asked: 1})
			assert.Equal(t, 1, r.reasons(WhyDraft))
			assert.Equal(t, c.lows, r.reasons(WhyLow))
		})
	}
}

func TestWhatHeadersLeaveInAQuarterOfAnHour(t *testing.T) {
	bucket := Mirror{Known: true, full: 100, refill: 2}
	window := Mirror{Known: true, limit: 60, turn: Turn{span: 60, votes: enough}}
	unknown := bucket
	unknown.Known = false
	for _, c := range []struct {
		m    Mirror
		used float64
		want bool
	}{{bucket, 1996, true}, {bucket, 1994, false}, {window, 1009, true}, {window, 1007, false}, {unknown, 1e9, false}} {
		assert.Equal(t, c.want, c.m.exceeded(c.used), "%v", c)
	}
	q := Quota{Tokens: bucket, draft: Overdraft{of: OfTokens}}
	var tally Tally
	tally.Sent(Call{Seq: 1, At: 1, Tokens: 5000, Total: 5000})
	tally.Answered(Call{Seq: 1, At: 1, Tokens: 5000}, 1985)
	assert.False(t, q.exceeded(2, &tally), "what was not used does not count")
	tally.Answered(Call{Seq: 2, At: 1, Tokens: 5000}, 20)
	assert.True(t, q.exceeded(2, &tally))
}

func TestTrueHeadersCostARejectionInFifteenMinutes(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.shown = &shown{rate: 10, full: 10, left: 10}
	r.play(0, 800, constant(10), Refusal{Asked: 1})
	assert.Equal(t, 1, r.reasons(WhyDraft))
	assert.Zero(t, r.reasons(WhyLow))
	assert.Less(t, r.hits, int64(8))
	assert.Zero(t, r.reasons(WhyRate), "a test measures no rate")
	assert.False(t, r.Calls.On)
}

// held is one call that is held back for so long. own calls were sent since the newest answer.
func held(m *Mirror, wait, own float64) hold {
	return hold{m: m, of: OfCalls, n: 1, own: own, wait: wait}
}

// draft has a test begin at 100 with 2 calls left of a bucket of 10 that refills by 2 a second.
func draft() (o *Overdraft, m *Mirror) {
	o, m = &Overdraft{held: draftFirst}, &Mirror{Known: true, at: 100, left: 2, full: 10, refill: 2, limit: 120}
	_, begins := o.Wait(100, held(m, 1, 0), Call{Seq: 7, At: 100})
	if !begins {
		panic("no test")
	}
	return o, m
}

func TestATryTakesTwiceWhatComesIn(t *testing.T) {
	o, m := draft()
	wait, begins := o.Wait(100.1, held(m, 1, 0), Call{Seq: 8, At: 100})
	assert.InDelta(t, 0.15, wait, 1e-9)
	assert.False(t, begins)
	wait, _ = o.Wait(100.1, held(m, 0.1, 0), Call{Seq: 8, At: 100})
	assert.InDelta(t, 0.1, wait, 1e-9, "never longer than the headers say")
}

func TestProofIsWhatWasLeftAndCameInAndFourMore(t *testing.T) {
	o, _ := draft()
	for seq := int64(8); seq < 8+2+4+2*5-1; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 105}, 100), "call %d", seq)
	}
	assert.False(t, o.Taken(Call{Seq: 7, At: 100}, 100), "it left before the test")
	assert.True(t, o.Taken(Call{Seq: 100, At: 105}, 100))
	assert.False(t, o.Taken(Call{Seq: 101, At: 105}, 100), "once")
}

// An early call of a test may be answered last, and then says nothing of how fast the calls were taken.
func TestALateAnswerIsNoProof(t *testing.T) {
	o, _ := draft()
	for seq := int64(9); seq < 9+2+4+2*5-2; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 105}, 100))
	}
	assert.False(t, o.Taken(Call{Seq: 8, At: 100.1}, 100))
	assert.True(t, o.Taken(Call{Seq: 100, At: 105}, 100))
}

func TestATryEnds(t *testing.T) {
	o, m := draft()
	wait, _ := o.Wait(100+cycleShortest, held(m, 1, 0), Call{Seq: 9, At: 110})
	assert.InDelta(t, 1, wait, 0)
	assert.False(t, o.Taken(Call{Seq: 8, At: 110}, 100))
}

func TestATryLastsHalfAnHourAtMost(t *testing.T) {
	for left, want := range map[float64]bool{99 + trustMost: true, 100 + trustMost: false} {
		o := Overdraft{held: draftFirst}
		o.Wait(100, held(&Mirror{Known: true, at: 100, full: 1e18, refill: 1e-5, limit: 1e18}, 1, 0), Call{Seq: 7, At: 100})
		assert.Equal(t, want, o.Refused(101+trustMost, Call{Seq: 8, At: left}, &Refusal{}))
	}
}

func TestOnlyWhatLeftDuringATryCounts(t *testing.T) {
	o, m := draft()
	for seq := int64(8); seq < 100; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 100 + cycleShortest}, 100), "call %d", seq)
	}
	assert.False(t, o.Refused(300, Call{Seq: 100, At: 100 + cycleShortest}, &Refusal{}))
	o.Wait(100+cycleShortest, held(m, 1, 0), Call{Seq: 100, At: 110})
	assert.True(t, o.Refused(101+cycleShortest, Call{Seq: 9, At: 110}, &Refusal{}), "it is heard late")
}

// A window that others have used up early is tried at its end, although until it turns no call could be sent.
func TestATryWaitsForTheEndOfAWindow(t *testing.T) {
	o, m := &Overdraft{held: draftFirst}, &Mirror{Known: true, limit: 10, turn: Turn{At: 160, span: 60, votes: enough}}
	wait, begins := o.Wait(110, held(m, 50, 0), Call{Seq: 7, At: 109})
	assert.InDelta(t, 160-draftEnd*60-110, wait, 1e-9)
	assert.False(t, begins)
	_, begins = o.Wait(110+wait, held(m, 50-wait, 0), Call{Seq: 7, At: 109})
	assert.True(t, begins)

	for name, o := range map[string]*Overdraft{"few were held back": {held: 1}, "it was rejected lately": {held: draftFirst, next: 200}} {
		wait, _ = o.Wait(110, held(m, 50, 0), Call{Seq: 7, At: 109})
		assert.InDelta(t, 50, wait, 0, name)
	}
}

func TestProofStartsThePausesAnew(t *testing.T) {
	o, m := draft()
	for _, pause := range []float64{30, 60, 120} {
		o.Refused(o.began, Call{Seq: 100}, &Refusal{})
		assert.InDelta(t, o.began+pause, o.next, 0)
		o.begin(o.next, held(m, 0, 0), 7)
	}
	for seq := int64(8); !o.Taken(Call{Seq: seq, At: o.began}, 100); seq++ {
		assert.Less(t, seq, int64(1000))
	}
	o.begin(1000, held(m, 0, 0), 7)
	o.Refused(1000, Call{Seq: 8}, &Refusal{})
	assert.InDelta(t, 1030, o.next, 0)
}

func TestARejectedTryPostponesTheNext(t *testing.T) {
	for _, c := range []struct {
		name    string
		refusal Refusal
		pause   float64
	}{
		{"nothing is told", Refusal{}, againFirst},
		{"a long wait", Refusal{Asked: 10}, 10 * draftCost},
		{"a day", Refusal{Asked: 24 * 60 * 60}, trustMost},
		{"the header says that nothing is left", Refusal{Calls: told(120, 0, 5)}, remembered},
		{"the header says that some is left", Refusal{Calls: told(120, 3, 5)}, againFirst},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, m := draft()
			assert.False(t, o.Refused(101, Call{Seq: 7}, &c.refusal), "it left before the test")
			assert.True(t, o.Refused(101, Call{Seq: 8}, &c.refusal))
			o.held = 1000
			_, begins := o.Wait(100.9+c.pause, held(m, 1, 0), Call{})
			assert.False(t, begins)
			_, begins = o.Wait(101+c.pause, held(m, 1, 0), Call{})
			assert.True(t, begins)
		})
	}
}

// A cap or a full service says nothing about the headers. Where they reject calls again and again, no test would ever end with a proof.
func TestARejectionAboutAnotherLimitEndsNoTry(t *testing.T) {
	for name, refusal := range map[string]Refusal{"a cap": {Names: FlightLimit}, "a service that is full": {Mild: true}} {
		t.Run(name, func(t *testing.T) {
			o, _ := draft()
			assert.False(t, o.Refused(101, Call{Seq: 8, At: 101}, &refusal))
			assert.True(t, o.testing)
			assert.Zero(t, o.next)
		})
	}
}

// A gateway says in each response that nothing is left until tomorrow.
func TestAWrongTimeIsFoundOutSoon(t *testing.T) {
	for _, limit := range []float64{10, 1000} {
		r := runMachine(Config{Initial: 10, Max: 100})
		at := 1.0
		for seq := 0; r.reasons(WhyLow) == 0; seq++ {
			require.Less(t, seq, 50)
			c := r.send(at)
			r.Answered(at+0.1, c, Answer{Used: 100, Calls: told(limit, 0, day)})
			for wait := r.Wait(at+0.1, 100, 0); wait > 0; wait = r.Wait(at, 100, 0) {
				at = max(at+0.1, at+wait)
			}
		}
		assert.Less(t, at, 1.5*minute+draftIdle, "%v", limit)
	}
}

func TestATryThatClosesTheKeyIsRare(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.quota.draft = Overdraft{testing: true, ends: 10}
	r.Closed(2, r.send(1), false)
	assert.False(t, r.quota.draft.testing)
	assert.InDelta(t, 2+trustMost, r.quota.draft.next, 0)
}

func TestWhenATryIsDue(t *testing.T) {
	bucket := Mirror{Known: true, left: 2, full: 10, refill: 2, limit: 120}
	shared := bucket
	shared.others.Rate = 1
	window := bucket
	window.turn = Turn{At: 100 + 0.3*60, span: 60, votes: enough}
	ending := window
	ending.turn.At = 100 + 0.1*60
	endingShared := ending
	endingShared.others.Rate = 1
	for _, c := range []struct {
		name string
		m    Mirror
		held float64
		low  bool
		want bool
	}{
		{"after fifty calls", bucket, draftFirst, false, true},
		{"not before", bucket, draftFirst - 1, false, false},
		{"after ten, if the headers were too low the last time", bucket, draftAgain, true, true},
		{"not if others take from what the headers tell of", shared, 1000, false, false},
		{"not in the middle of a window", window, 1000, false, false},
		{"at the end of a window", ending, handful, false, true},
		{"after ten at least", ending, handful - 1, false, false},
		{"although others take from it", endingShared, handful, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Overdraft{held: c.held, proved: c.low}
			_, begins := o.Wait(100, held(&c.m, 1, 0), Call{})
			assert.Equal(t, c.want, begins)
		})
	}
}

func TestATryInAWindowTakesMoreThanIsLeftBeforeItTurns(t *testing.T) {
	m := Mirror{Known: true, left: 5, limit: 100, turn: Turn{At: 103, span: 60, votes: enough}}
	o := Overdraft{held: draftFirst}
	wait, begins := o.Wait(100, held(&m, 2, 1), Call{Seq: 7, At: 100})
	assert.True(t, begins)
	assert.InDelta(t, 3.0/(draftPace*(4+several)), wait, 1e-9)
	for seq := int64(8); seq < 8+7; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 102}, 100))
	}
	assert.True(t, o.Taken(Call{Seq: 15, At: 102}, 100))
}

func TestABucketThatFillsSlowlyIsTriedForLong(t *testing.T) {
	for refill, want := range map[float64]float64{0.1: 80, 10: draftLasts, 0.001: draftMost} {
		var o Overdraft
		o.begin(10, held(&Mirror{full: 50, refill: refill, at: 10}, 0, 0), 1)
		assert.InDelta(t, 10+want, o.ends, 1e-9, "%g", refill)
	}
}

// Only a window ends, and a test is due at its end.
func TestACallAsksNearTheEndOfAWindow(t *testing.T) {
	for votes, want := range map[int]float64{0: draftIdle, enough: 40} {
		o := Overdraft{held: draftFirst, next: 50}
		wait, begins := o.Wait(10, held(&Mirror{turn: Turn{At: 60, span: 50, votes: votes}}, draftIdle, 0), Call{})
		assert.InDelta(t, want, wait, 1e-9)
		assert.False(t, begins)
	}
}

// A single response with a wrong time would otherwise stop all calls for that time.
func TestNoHeaderHoldsAllCallsBackForLong(t *testing.T) {
	for name, m := range map[string]*Mirror{
		"a bucket": {Known: true, limit: 10, full: 10, refill: 1e-4},
		"a window": {Known: true, limit: 10, turn: Turn{At: day, span: day, votes: enough}},
	} {
		t.Run(name, func(t *testing.T) {
			var o Overdraft
			last := Call{Seq: 7, At: 100}
			wait, begins := o.Wait(110, held(m, hour, 0), last)
			assert.InDelta(t, 100+draftIdle-110, wait, 1e-9)
			assert.False(t, begins)
			wait, begins = o.Wait(100+draftIdle, held(m, draftIdle, 0), last)
			assert.InDelta(t, draftIdle, wait, 1e-9, "what opens soon is waited for")
			assert.False(t, begins)
			wait, begins = o.Wait(100+draftIdle, held(m, hour, 0), last)
			assert.Zero(t, wait)
			assert.True(t, begins)

			probe := Call{Seq: 8, At: 100 + draftIdle}
			wait, _ = o.Wait(probe.At, held(m, hour, 1), probe)
			assert.InDelta(t, draftSlowest, wait, 1e-9)
			assert.True(t, o.Refused(probe.At, probe, &Refusal{Calls: told(10, 0, hour)}))
			wait, _ = o.Wait(probe.At, held(m, day, 1), probe)
			assert.InDelta(t, remembered, wait, 1e-9)
		})
	}
}

// A test of tokens goes by what calls used, because the rest may have been given back.
func TestHeadersOfFewerTokensAreFoundOut(t *testing.T) {
	o, m := &Overdraft{held: draftFirst}, &Mirror{Known: true, at: 100, left: 200, full: 1000, refill: 200, limit: 12000}
	h := hold{m: m, of: OfTokens, n: 100, wait: 1}
	wait, begins := o.Wait(100, h, Call{Seq: 7, At: 100})
	assert.True(t, begins)
	assert.InDelta(t, 0.25, wait, 1e-9, "twice what comes in")
	other := hold{m: &Mirror{Known: true, refill: 1}, of: OfCalls, n: 1, wait: 2}
	wait, begins = o.Wait(100.1, other, Call{Seq: 8, At: 100})
	assert.InDelta(t, 2, wait, 0, "calls are held back by their own quota")
	assert.False(t, begins)

	proof := 200 + several*100 + 5*200
	for used := 60; used < proof; used += 60 {
		assert.False(t, o.Taken(Call{Seq: 8, At: 105, Tokens: 100}, 60))
	}
	assert.True(t, o.Taken(Call{Seq: 8, At: 105, Tokens: 100}, 60))

	for left, pause := range map[float64]float64{99: remembered, 100: againFirst} {
		o.begin(200, h, 7)
		o.pause = 0
		assert.True(t, o.Refused(200, Call{Seq: 8, At: 200, Tokens: 100}, &Refusal{Calls: told(60, 0, 9), Tokens: told(12000, left, 5)}))
		assert.InDelta(t, pause, o.pause, 0)
	}
}

// What a call used beyond what it reserved was not admitted.
func TestATryCountsNoMoreThanWasReserved(t *testing.T) {
	o := Overdraft{}
	o.begin(100, hold{m: &Mirror{Known: true, at: 100, full: 1000, refill: 200}, of: OfTokens, n: 100}, 7)
	assert.False(t, o.Taken(Call{Seq: 8, At: 100, Tokens: 100}, 1e9))
}
