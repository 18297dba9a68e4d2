package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
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

func TestTrueHeadersCostARejectionInFifteenMinutes(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.shown = &shown{rate: 10, full: 10, left: 10}
	r.play(0, 800, constant(10), Refusal{Asked: 1})
	assert.Equal(t, 1, r.reasons(WhyDraft))
	assert.Zero(t, r.reasons(WhyLow))
	assert.Less(t, r.hits, int64(8))
	assert.Zero(t, r.reasons(WhyRate), "a try measures no rate")
	assert.False(t, r.Calls.On)
}

// draft has a try begin at 100 with 2 calls left of a bucket of 10 that refills by 2 a second.
func draft() (o *Overdraft, m *Mirror) {
	o, m = &Overdraft{held: draftFirst}, &Mirror{Known: true, at: 100, left: 2, full: 10, refill: 2, limit: 120}
	_, begins := o.Wait(100, 1, m, 0, Call{Seq: 7, At: 100})
	if !begins {
		panic("no try")
	}
	return o, m
}

func TestATryTakesTwiceWhatComesIn(t *testing.T) {
	o, m := draft()
	wait, begins := o.Wait(100.1, 1, m, 0, Call{Seq: 8, At: 100})
	assert.InDelta(t, 0.15, wait, 1e-9)
	assert.False(t, begins)
	wait, _ = o.Wait(100.1, 0.1, m, 0, Call{Seq: 8, At: 100})
	assert.InDelta(t, 0.1, wait, 1e-9, "never longer than the headers say")
}

func TestProofIsWhatWasLeftAndCameInAndFourMore(t *testing.T) {
	o, _ := draft()
	for seq := int64(8); seq < 8+2+4+2*5-1; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 105}), "call %d", seq)
	}
	assert.False(t, o.Taken(Call{Seq: 7, At: 100}), "it left before the try")
	assert.True(t, o.Taken(Call{Seq: 100, At: 105}))
	assert.False(t, o.Taken(Call{Seq: 101, At: 105}), "once")
}

// An early call of a try may be answered last, and then says nothing of how fast the calls were taken.
func TestALateAnswerIsNoProof(t *testing.T) {
	o, _ := draft()
	for seq := int64(9); seq < 9+2+4+2*5-2; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 105}))
	}
	assert.False(t, o.Taken(Call{Seq: 8, At: 100.1}))
	assert.True(t, o.Taken(Call{Seq: 100, At: 105}))
}

func TestATryEnds(t *testing.T) {
	o, m := draft()
	wait, _ := o.Wait(100+cycleShortest, 1, m, 0, Call{Seq: 9, At: 110})
	assert.InDelta(t, 1, wait, 0)
	assert.False(t, o.Taken(Call{Seq: 8, At: 110}))
}

func TestATryLastsHalfAnHourAtMost(t *testing.T) {
	for left, want := range map[float64]bool{99 + trustMost: true, 100 + trustMost: false} {
		o := Overdraft{held: draftFirst}
		o.Wait(100, 1, &Mirror{Known: true, at: 100, full: 1e18, refill: 1e-5, limit: 1e18}, 0, Call{Seq: 7, At: 100})
		assert.Equal(t, want, o.Refused(101+trustMost, Call{Seq: 8, At: left}, &Refusal{}))
	}
}

func TestOnlyWhatLeftDuringATryCounts(t *testing.T) {
	o, m := draft()
	for seq := int64(8); seq < 100; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 100 + cycleShortest}), "call %d", seq)
	}
	assert.False(t, o.Refused(300, Call{Seq: 100, At: 100 + cycleShortest}, &Refusal{}))
	o.Wait(100+cycleShortest, 1, m, 0, Call{Seq: 100, At: 110})
	assert.True(t, o.Refused(101+cycleShortest, Call{Seq: 9, At: 110}, &Refusal{}), "it is heard late")
}

// A window that others have used up early is tried at its end, although until it turns no call could be sent.
func TestATryWaitsForTheEndOfAWindow(t *testing.T) {
	o, m := &Overdraft{held: draftFirst}, &Mirror{Known: true, limit: 10, turn: Turn{At: 160, span: 60, votes: enough}}
	wait, begins := o.Wait(110, 50, m, 0, Call{Seq: 7, At: 109})
	assert.InDelta(t, 160-draftEnd*60-110, wait, 1e-9)
	assert.False(t, begins)
	_, begins = o.Wait(110+wait, 50-wait, m, 0, Call{Seq: 7, At: 109})
	assert.True(t, begins)

	for name, o := range map[string]*Overdraft{"few were held back": {held: 1}, "it was rejected lately": {held: draftFirst, next: 200}} {
		wait, _ = o.Wait(110, 50, m, 0, Call{Seq: 7, At: 109})
		assert.InDelta(t, 50, wait, 0, name)
	}
}

func TestProofStartsThePausesAnew(t *testing.T) {
	o, m := draft()
	for _, pause := range []float64{30, 60, 120} {
		o.Refused(o.began, Call{Seq: 100}, &Refusal{})
		assert.InDelta(t, o.began+pause, o.next, 0)
		o.begin(o.next, m, 0, 7)
	}
	for seq := int64(8); !o.Taken(Call{Seq: seq, At: o.began}); seq++ {
		assert.Less(t, seq, int64(1000))
	}
	o.begin(1000, m, 0, 7)
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
			assert.False(t, o.Refused(101, Call{Seq: 7}, &c.refusal), "it left before the try")
			assert.True(t, o.Refused(101, Call{Seq: 8}, &c.refusal))
			o.held = 1000
			_, begins := o.Wait(100.9+c.pause, 1, m, 0, Call{})
			assert.False(t, begins)
			_, begins = o.Wait(101+c.pause, 1, m, 0, Call{})
			assert.True(t, begins)
		})
	}
}

func TestATryThatClosesTheKeyIsRare(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.quota.draft = Overdraft{trying: true, ends: 10}
	r.Closed(2, r.send(1), false)
	assert.False(t, r.quota.draft.trying)
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
			o := Overdraft{held: c.held, low: c.low}
			_, begins := o.Wait(100, 1, &c.m, 0, Call{})
			assert.Equal(t, c.want, begins)
		})
	}
}

func TestATryInAWindowTakesMoreThanIsLeftBeforeItTurns(t *testing.T) {
	m := Mirror{Known: true, left: 5, limit: 100, turn: Turn{At: 103, span: 60, votes: enough}}
	o := Overdraft{held: draftFirst}
	wait, begins := o.Wait(100, 2, &m, 1, Call{Seq: 7, At: 100})
	assert.True(t, begins)
	assert.InDelta(t, 3.0/(draftPace*(4+10)), wait, 1e-9)
	for seq := int64(8); seq < 8+13; seq++ {
		assert.False(t, o.Taken(Call{Seq: seq, At: 102}))
	}
	assert.True(t, o.Taken(Call{Seq: 21, At: 102}))
}

func TestABucketThatFillsSlowlyIsTriedForLong(t *testing.T) {
	for refill, want := range map[float64]float64{0.1: 100, 10: draftLasts, 0.001: draftMost} {
		var o Overdraft
		o.begin(10, &Mirror{full: 50, refill: refill, at: 10}, 0, 1)
		assert.InDelta(t, 10+want, o.ends, 1e-9, "%g", refill)
	}
}

// Only a window ends, and a try is due at its end.
func TestACallAsksNearTheEndOfAWindow(t *testing.T) {
	for votes, want := range map[int]float64{0: 500, enough: 80} {
		o := Overdraft{held: draftFirst, next: 50}
		wait, begins := o.Wait(10, 500, &Mirror{turn: Turn{At: 100, span: 50, votes: votes}}, 0, Call{})
		assert.InDelta(t, want, wait, 1e-9)
		assert.False(t, begins)
	}
}
