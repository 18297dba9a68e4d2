package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// story drives a machine against a provider that takes ten calls a second, and a cap
// of eight of them in flight for the last minute, and returns all that it decided and
// how long it had calls wait.
func story(share float64) (waits []float64, decided []Decision) {
	m := New(Config{Initial: 4, Max: 50, Share: share, Seed: 3, Decide: func(d Decision) { decided = append(decided, d) }})
	type out struct {
		Call
		ends    float64
		refused bool
	}
	var flying []out
	var seq int64
	var now float64
	level := 10.0
	for now < 240 {
		wait := m.Wait(now, 100, len(flying))
		waits = append(waits, wait)
		if wait == 0 {
			seq++
			c := Call{Seq: seq, At: now, Others: len(flying), Tokens: 100, Total: float64(100 * seq)}
			refused := level < 1 || now > 180 && len(flying) >= 8
			ends := now + 0.7
			if refused {
				ends = now + 0.15
			} else {
				level--
			}
			m.Sent(c)
			flying = append(flying, out{c, ends, refused})
			continue
		}
		next := now + max(1e-3, wait)
		first := -1
		for i, f := range flying {
			if f.ends <= next {
				next, first = f.ends, i
			}
		}
		level = min(10, level+10*(next-now))
		if now = next; first < 0 {
			continue
		}
		f := flying[first]
		flying = append(flying[:first], flying[first+1:]...)
		told := Told{Known: seq%3 == 0, Limit: 600, Remaining: math.Floor(level), Reset: (10 - level) / 10}
		if f.refused {
			r := Refusal{Calls: told}
			if now < 180 {
				r.Asked = 1
			}
			m.Refused(now, f.Call, r)
		} else {
			m.Answered(now, f.Call, Answer{Used: 60, InFlight: len(flying), Calls: told})
		}
	}
	return waits, decided
}

func TestAShareOfOneChangesNothing(t *testing.T) {
	waits, decided := story(0)
	assert.NotEmpty(t, decided)
	whole, same := story(1)
	assert.Equal(t, waits, whole)
	assert.Equal(t, decided, same)
	part, _ := story(0.25)
	assert.NotEqual(t, waits, part)
}

// A machine that has less of a limit tries more sooner than the others.
func TestAShareGrowsTheSoonerTheLessItHas(t *testing.T) {
	m := New(Config{Initial: 4, Max: 50, Share: 0.25})
	var before float64
	for _, rate := range []float64{0.1, 0.25, 1, 2.5} {
		assert.Greater(t, m.calm.Cycle(rate), before)
		before = m.calm.Cycle(rate)
	}
	assert.InEpsilon(t, evenLongest, m.calm.Cycle(100), 1e-9)
}

func TestSharesOfACapGrowAlike(t *testing.T) {
	for _, share := range []float64{0, 0.25} {
		early, late := New(Config{Initial: 4, Max: 50, Share: share}), New(Config{Initial: 4, Max: 50, Share: share})
		early.Flight.Hover(20) // it was alone then
		late.Flight.Hover(5)
		for early.Flight.bound > 5 {
			early.Flight.Hover(0)
		}
		early.Flight.bound = 5
		if share > 0 {
			assert.InEpsilon(t, late.Flight.gain(), early.Flight.gain(), 1e-9)
		} else {
			assert.Greater(t, early.Flight.gain(), late.Flight.gain())
		}
	}
}

func TestAShareOfACapStandsWhereOthersCrowd(t *testing.T) {
	m := New(Config{Initial: 4, Max: 50, Share: 0.25})
	c := &m.claim
	c.Begin(Call{Others: 20}, 0)
	c.scatter = convinced
	assert.True(t, c.Weigh(Call{At: 100, Others: 5}, 50, 1, true), "others crowd, and the cap was measured when there were fewer of them")
	c.unhelped = hoverAgain
	assert.False(t, c.Weigh(Call{At: 100.1, Others: 5}, 100, 1, true), "the cuts do not help")

	c.Refused(5, false)
	assert.True(t, c.shared, "others hold the rest of it")
}

// partOfTen is what a bucket of ten calls that come in at ten per second tells.
func partOfTen(left float64) Told {
	return Told{Known: true, Limit: 600, Remaining: left, Reset: (10 - left) / 10}
}

func TestThePartOfABucket(t *testing.T) {
	p := Part{share: 0.25}
	told := partOfTen(8)
	p.Begin(8, 0)
	p.Observe(0, 10, &told, 1)
	for range 2 {
		assert.Zero(t, p.Wait(0, 1, 10))
		p.Take(0, 1)
	}
	assert.InEpsilon(t, 0.4, p.Wait(0, 1, 10), 1e-9, "a quarter of eight, and of what comes in")
	assert.Zero(t, p.Wait(0.4, 1, 10))

	p.Wait(60, 1, 10)
	p.Take(60, 2.5)
	assert.InEpsilon(t, 0.4, p.Wait(60, 1, 10), 1e-9, "it holds a quarter of a full bucket")
	p.Return(1)
	assert.Zero(t, p.Wait(60, 1, 10))

	assert.Zero(t, p.Wait(120, 5, 10), "a call that is larger goes when there is no more to wait for")
}

// Of one call per second, four processes get one each in four seconds. A call that was
// refused 0.6 s too early is tried again a turn and those 0.6 s later, which is when
// the call comes in that follows that of the other process.
func TestARefusedCallTakesTheNextTurnBehindAnother(t *testing.T) {
	p := Part{share: 0.25}
	first := Told{Known: true, Limit: 60, Reset: 1}
	p.Observe(0, 1, &first, 1)
	assert.InEpsilon(t, 4, p.Wait(0, 1, 1), 1e-9)
	p.Wait(4, 1, 1)
	p.Take(4, 1)
	no := Told{Known: true, Limit: 60, Reset: 0.6}
	p.Observe(4, 1, &no, 0)
	assert.InEpsilon(t, 4.6, p.Wait(4, 1, 1), 1e-9)
}

// A window looks like a bucket until its turn is seen. One from which little is taken
// seems to fill slowly, so that it would stay so.
func TestThePartOfAWindowThatLooksLikeABucket(t *testing.T) {
	p := Part{share: 0.25}
	told := Told{Known: true, Limit: 600, Remaining: 597, Reset: 50}
	p.Observe(0, 0.05, &told, 1)
	p.Wait(0, 1, 600)
	p.Take(0, p.level)
	assert.InEpsilon(t, 4*50./597, p.Wait(0, 1, 600), 1e-9)
}

func TestTheMirrorKeepsToItsPart(t *testing.T) {
	var m Mirror
	m.part.share = 0.25
	m.part.Begin(9, 0)
	m.Observe(1, 0, 0, 1, partOfTen(9))
	for range 2 {
		wait, _ := m.Wait(0, 1, 0, 1, false)
		assert.Zero(t, wait)
		m.part.Take(0, 1)
	}
	wait, _ := m.Wait(0, 1, 2, 3, false)
	assert.Positive(t, wait)

	m = Mirror{Known: true, limit: 600, left: 300}
	m.turn = Turn{At: 30, votes: enough, span: 60}
	whole, _ := m.windowWait(0, 1, 0, false)
	m.part.share = 0.25
	part, _ := m.windowWait(0, 1, 0, false)
	assert.InEpsilon(t, 4*whole*301/304, part, 1e-9)
}

func TestThePartOfAPresetsQuota(t *testing.T) {
	m := New(Config{Initial: 4, Max: 50, CallRate: 1, CallBurst: 60, TokenRate: 10, TokenBurst: 600, Share: 0.25})
	assert.True(t, m.Calls.Saves(15))
	assert.False(t, m.Calls.Saves(15.1))
	assert.True(t, m.Tokens.Saves(150))
	assert.False(t, m.Tokens.Saves(150.1))
}

// A call that was not sent gives its turn back; one that was refused had it.
func TestTurnsThatAreGivenBack(t *testing.T) {
	for _, unsent := range []bool{true, false} {
		m := New(Config{Initial: 4, Max: 50, Share: 0.25})
		m.quota.Calls.part.level, m.quota.Tokens.part.level = 5, 500
		c := Call{Seq: 1, At: 1, Tokens: 100, Total: 100}
		m.Sent(c)
		if unsent {
			m.Unsent(c)
			assert.InEpsilon(t, 5, m.quota.Calls.part.level, 1e-9)
			assert.InEpsilon(t, 500, m.quota.Tokens.part.level, 1e-9)
			continue
		}
		m.Refused(1.1, c, Refusal{})
		assert.InEpsilon(t, 4, m.quota.Calls.part.level, 1e-9)
		assert.InEpsilon(t, 400, m.quota.Tokens.part.level, 1e-9)
	}

	m := New(Config{Initial: 4, Max: 50, Share: 0.25})
	m.quota.Tokens.part.level = 500
	c := Call{Seq: 1, At: 1, Tokens: 100, Total: 100}
	m.Sent(c)
	m.Answered(2, c, Answer{Used: 40})
	assert.InEpsilon(t, 460, m.quota.Tokens.part.level, 1e-9, "what it did not use")
}

// What is beyond a share is for others, so it is not tried whether there is more.
func TestAShareTriesNoMoreThanTheHeadersDeclare(t *testing.T) {
	for share, tries := range map[float64]bool{0: true, 0.25: false} {
		m := New(Config{Initial: 4, Max: 50, Share: share})
		m.quota.Observe(1, Call{Seq: 1, Total: 100}, 1, Told{Known: true, Limit: 60, Reset: 60}, Told{}, &m.tally)
		m.quota.draft.held = draftFirst
		assert.Equal(t, tries, m.quota.wait(1, 0, unspent{}, &m.tally).tests)
	}
}

// What is left already lacks the calls that were answered before.
func TestAPartBeginsWithTheFirstHeader(t *testing.T) {
	m := New(Config{Initial: 4, Max: 50, Share: 0.25})
	var c, last Call
	for seq := range int64(1000) {
		last = Call{Seq: seq + 1, At: float64(seq) / 100, Tokens: 100, Total: float64(100 * (seq + 1))}
		m.Sent(last)
		if seq == 997 {
			c = last
		}
	}
	m.Answered(10, c, Answer{Used: 100, Calls: Told{Known: true, Limit: 600, Remaining: 400, Reset: 20}, Tokens: Told{Known: true, Limit: 6e4, Remaining: 4e4, Reset: 20}})
	assert.InDelta(t, 98, m.quota.Calls.part.level, 1e-9, "a quarter of 400, less the two that left since")
	assert.InDelta(t, 9800, m.quota.Tokens.part.level, 1e-9)
}

func TestAPartBeginsWithACallOfAnEarlierRun(t *testing.T) {
	p := Part{share: 0.25}
	p.Begin(8, -1000)
	assert.InDelta(t, 2, p.level, 1e-9)
}

// More is sent than the part while the headers are ignored.
func TestTheWaitForAPartHasABound(t *testing.T) {
	p := Part{share: 0.25}
	told := partOfTen(8)
	p.Observe(0, 10, &told, 1)
	for now := range 1800 {
		p.Take(float64(now), 10)
	}
	assert.InDelta(t, debtMost*1.0, p.Wait(1800, 1, 10), 1e-9, "a part of a full bucket comes in a second")
}

// The headers alone decide what a part is: there is neither a pace beside them nor a reason to speed it up.
func TestAPartIsAllThatHoldsBack(t *testing.T) {
	for name, turn := range map[string]Turn{"bucket": {}, "window": {At: 60, span: 60, votes: enough}} {
		m := New(Config{Initial: 4, Max: 50, Share: 0.25})
		m.Calls.Expect(0.1, 60, false)
		m.quota.Calls = Mirror{Known: true, limit: 10, full: 10, left: 10, refill: 10, turn: turn, part: Part{share: 0.25, begun: true, rate: 10, level: 2}}
		if turn.votes > 0 {
			m.quota.Calls.left = 1 // less than of its time
		}
		m.quota.Calls.last = -1e6
		assert.Zero(t, m.Wait(1, 0, 0), name)
		assert.False(t, m.Calls.Rising(), name)
	}
}

// The cycle is that of the whole limit.
func TestTheCycleOfAPartIsThatOfTheWhole(t *testing.T) {
	c := Calm{share: 0.25, stretch: 1}
	assert.InDelta(t, evenFirst+4*evenSlope, c.Cycle(1), 1e-9)
}

func TestAPartOfASlowLimitStaysEven(t *testing.T) {
	for share, want := range map[float64]bool{0: false, 0.25: true, 1: false} {
		assert.Equal(t, want, runMachine(Config{Share: share}).Calls.part)
	}
}
