package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const pacerCycle = 100

func expectTen() *Pacer {
	p := &Pacer{}
	p.Expect(10, pacerCycle, false)
	p.Binding = true
	return p
}

func TestCycleIsShorterForAHigherRate(t *testing.T) {
	for _, c := range []struct{ rate, want float64 }{{0, 7931.2}, {0.01, 1582.5}, {1, 63}, {10, 31.6}, {12, 29.9}, {24, 12.1}, {48, 5}, {1e6, 5}} {
		assert.InDelta(t, c.want, Cycle(c.rate), 0.1, "%v", c.rate)
	}
}

func TestTheFirstOfAnUnusedPacerWaitsForNobody(t *testing.T) {
	var used, p Pacer
	used.Expect(10, pacerCycle, false)
	assert.InDelta(t, 4/margin, used.Wait(40), 1e-9)

	p.Expect(10, pacerCycle, true)
	p.Take(0)
	assert.Zero(t, p.Wait(40))
	p.Take(40)
	assert.InDelta(t, 4/margin, p.Wait(40), 1e-9, "the second pays for itself, not for the first too")
}

func TestACutEndsWhatWasUnused(t *testing.T) {
	var p Pacer
	p.Expect(10, pacerCycle, true)
	p.Cut(10, pacerCycle, false)
	assert.Positive(t, p.Wait(1))
}

func TestPacerGrowsAlongItsCurve(t *testing.T) {
	for _, c := range []struct {
		name            string
		seconds         int
		open, grow, own bool
		span, want      float64
	}{
		{"just after a mark", 0, true, true, true, 0, 9.7},
		{"halfway to the rate", 7, true, true, true, 0, 9.84},
		{"at the rate", 15, true, true, true, 0, 10},
		{"a first probe", 55, true, true, true, 0, 10.3},
		{"cubic", 95, true, true, true, 0, 12.4},
		{"less in a window", 95, true, true, true, 60, 12},
		{"not while something else holds back", 95, true, true, false, 0, 9.7},
		{"not while the gate is shut", 95, false, true, true, 0, 9.7},
		{"not while stuck", 95, true, false, true, 0, 9.7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := expectTen()
			p.Binding = c.own
			p.SetSpan(c.span)
			for s := 1; s <= c.seconds; s++ {
				p.Tick(float64(s), c.open, c.grow, false, 1)
			}
			assert.InDelta(t, c.want, p.Pace(), 1e-9)
			assert.InDelta(t, 1/c.want, expectAt(p).Wait(1), 1e-9)
		})
	}
}

// expectAt is p with nothing to go at once.
func expectAt(p *Pacer) *Pacer {
	q := *p
	q.Take(q.level)
	return &q
}

// While the pace is below a slow limit, a bucket that holds one call runs over, so that less is measured than the limit. The
// pace at which a call was rejected was no lower than that.
func TestASlowPaceReturnsToWhereItWasRejected(t *testing.T) {
	const rejected = 0.62
	for _, c := range []struct {
		name           string
		rate, measured float64
		with           func(*Pacer)
		want           float64
	}{
		{"the pace of the last mark", 0.5, 0.52, nil, margin * rejected},
		{"nothing beyond it is known", 0.5, 0.62, nil, rejected * (1 + climbBy)},
		{"the limit has fallen", 0.5, 0.45, nil, 0.45 * (1 + climbBy)},
		{"a rate of more calls", 5, 5.2, nil, 5.2 * (1 + climbBy)},
		{"a window", 0.5, 0.52, func(p *Pacer) { p.SetSpan(60) }, 0.52 * (1 + climbBy)},
		{"tokens as well", 0.5, 0.52, func(p *Pacer) { p.Turns = true }, backOff * rejected * (1 + climbBy)},
		{"a part, which is to become even with those of others", 0.5, 0.52, func(p *Pacer) { p.part = true }, 0.52 * (1 + climbBy)},
		{"fast growth", 0.5, 0.52, (*Pacer).Hasten, 0.52 * (1 + climbBy)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Pacer
			p.Expect(c.rate, pacerCycle, false)
			p.Binding = true
			p.Tick(95, true, true, false, 1)
			assert.InDelta(t, rejected*c.rate/0.5, p.Pace(), 1e-9)
			if c.with != nil {
				c.with(&p)
			}
			p.Cut(c.measured, pacerCycle, false)
			p.Tick(95+55, true, true, false, 1)
			assert.InDelta(t, c.want, p.Pace(), 1e-9)
			p.Set(c.rate, pacerCycle)
			assert.Zero(t, p.back)
		})
	}
}

// Other processes empty a slow bucket at any pace of this one. If each rejection began a cycle, the pace would never grow.
func TestASlowPaceGrowsOnThoughOthersTakeFromIt(t *testing.T) {
	const before, longer = 40.0, 60.0 // seconds of the cycle; after 55 the pace is above the rate
	for _, c := range []struct {
		name           string
		rate, measured float64
		active         float64
		with           func(*Pacer)
		want           float64
	}{
		{"less was left", 0.5, 0.4, before, nil, before},
		{"the same was", 0.5, 0.49, before, nil, 0},
		{"the pace had grown", 0.5, 0.4, longer, nil, 0},
		{"a rate of more calls", 5, 4, before, nil, 0},
		{"headers say what is left", 0.5, 0.4, before, func(p *Pacer) { p.OneByOne = false }, 0},
		{"a window", 0.5, 0.4, before, func(p *Pacer) { p.SetSpan(60) }, 0},
		{"tokens as well", 0.5, 0.4, before, func(p *Pacer) { p.Turns = true }, 0},
		{"a part, which is to become even with those of others", 0.5, 0.4, before, func(p *Pacer) { p.part = true }, 0},
		{"fast growth", 0.5, 0.4, before, (*Pacer).Hasten, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Pacer{OneByOne: true}
			p.Expect(c.rate, pacerCycle, false)
			p.Binding = true
			p.Tick(c.active, true, true, false, 1)
			if c.with != nil {
				c.with(&p)
			}
			p.Cut(c.measured, pacerCycle, false)
			assert.InDelta(t, c.want, p.active, 1e-9)
		})
	}
}

func TestPacerCut(t *testing.T) {
	for _, c := range []struct {
		name     string
		measured float64
		few      bool
		rested   bool
		want     float64
	}{
		{"what was measured", 4, false, false, 4},
		{"never up", 50, false, false, 9.7},
		{"never to nothing", 0, false, false, leastRate},
		{"on a few calls, no more than by a third", 1, true, false, 0.7 * 9.7},
		{"on a few calls, little", 9, true, false, 9},
		{"after a pause nothing is known to have fallen", 4, false, true, 9.7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := expectTen()
			if c.rested {
				p.Binding = false
				p.Tick(5, true, true, true, 1)
			}
			p.Tick(6, true, true, false, 1)
			p.Binding = false
			p.active = 0
			p.Cut(c.measured, pacerCycle, c.few)
			assert.InDelta(t, c.want, p.Rate, 1e-9)
			assert.InDelta(t, margin*c.want, p.Pace(), 1e-9)
			assert.InDelta(t, 1/(margin*c.want), p.Wait(1), 1e-6, "nothing goes at once")
			assert.False(t, p.Rising())
		})
	}
}

func TestPacerIsOffUntilItKnowsARate(t *testing.T) {
	p := &Pacer{}
	p.Set(5, pacerCycle)
	p.Tick(1, true, true, false, 1)
	p.Take(100)
	assert.Zero(t, p.Wait(1))
	assert.False(t, p.On)
}

func TestFirstMarkGrowsFastUntilTheSecond(t *testing.T) {
	p := &Pacer{Binding: true}
	p.Cut(10, pacerCycle, false)
	assert.True(t, p.Rising())
	p.Tick(2, true, true, false, 1)
	assert.InDelta(t, 9.7*math.Exp(2*firstGrow), p.Pace(), 1e-9)
	p.Tick(3, true, false, false, 1)
	p.Tick(4, false, true, false, 1)
	assert.InDelta(t, 9.7*math.Exp(2*firstGrow), p.Pace(), 1e-9, "not while stuck or shut")
	p.Cut(12, pacerCycle, false)
	assert.False(t, p.Rising())
	assert.InDelta(t, 0.97*12, p.Pace(), 1e-9)

	p = &Pacer{off: GrowthRule}
	p.Cut(10, pacerCycle, false)
	assert.False(t, p.Rising())
}

func TestFastGrowthTakesAProof(t *testing.T) {
	for _, c := range []struct {
		name             string
		took, back, span float64
		binding, want    bool
		off              Rules
	}{
		{"far more than the model holds", 65, 0, 0, true, true, 0},
		{"a little more", 62, 0, 0, true, false, 0},
		{"it was refused", 65, 10, 0, true, false, 0},
		{"something else holds back", 65, 0, 0, false, false, 0},
		{"room in a window", 65, 0, 60, true, false, 0},
		{"more than room in a window", 105, 0, 60, true, true, 0},
		{"left out", 65, 0, 0, true, false, GrowthRule},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := expectTen()
			p.off, p.Binding = c.off, c.binding
			p.Cut(9.7, pacerCycle, false)
			p.Rate = 10
			p.SetSpan(c.span)
			p.Take(c.took)
			p.Refund(c.back)
			p.Tick(1, true, true, false, 1) // 10 come in; the proof is 53 or 93
			pace := p.Pace()
			assert.Equal(t, c.want, p.Rising())
			assert.Equal(t, c.want, p.Grown())
			p.Tick(3, true, true, false, 1)
			if !c.want {
				assert.Less(t, p.Pace(), 10.0)
				return
			}
			assert.InDelta(t, pace*math.Exp(2*fastGrow), p.Pace(), 1e-9)
			p.Sober()
			assert.False(t, p.Rising())
			assert.InDelta(t, 10, p.Pace(), 1e-9, "back to the rate")
		})
	}
}

func TestRefundsMayLieAboveTheDepth(t *testing.T) {
	p := expectTen()
	p.Tick(10, true, true, false, 1)
	assert.Positive(t, p.Wait(2), "one goes at once")
	p.Return(4)
	p.Tick(20, true, true, false, 1)
	assert.Zero(t, p.Wait(5), "kept")
	assert.Positive(t, p.Wait(6), "and no more")

	p.Take(p.level)
	p.Refund(4)
	assert.Positive(t, p.Wait(1), "a refusal gives nothing back to the pace")
}

func TestFourCallsGoAtOnceWhereTokensArePacedAsWell(t *testing.T) {
	p := expectTen()
	p.Turns = true
	p.Tick(1000, true, true, false, 100)
	assert.Zero(t, p.Wait(400))
	assert.Positive(t, p.Wait(401))
	p.Take(400)
	p.Tick(2000, false, true, false, 100)
	assert.Positive(t, p.Wait(100), "nothing comes in while the gate is shut")

	p = expectTen()
	p.Turns, p.OneByOne = true, true
	p.Tick(1000, true, true, false, 100)
	assert.Zero(t, p.Wait(100))
	assert.Positive(t, p.Wait(101), "how many may go at once is unknown")
}

func TestAMarkCutsLessWhereCallsTakeDifferentAmountsOfTokens(t *testing.T) {
	for name, c := range map[string]struct {
		turns, few bool
		want       float64
	}{
		"what was measured": {want: 1},
		"on a handful":      {few: true, want: 0.7 * 9.7},
		"uneven":            {turns: true, want: 0.9 * 9.7},
		"uneven, a handful": {turns: true, few: true, want: 0.7 * 9.7},
	} {
		t.Run(name, func(t *testing.T) {
			p := expectTen()
			p.Turns = c.turns
			p.Cut(1, Cycle(1), c.few)
			assert.InDelta(t, c.want, p.Rate, 1e-9)
		})
	}
}

func TestPacerNextIsTheTimeUntilMoreIsSent(t *testing.T) {
	p := expectTen()
	assert.InDelta(t, 15, p.Next(), 1e-9)
	p.Tick(10, true, true, false, 1)
	assert.InDelta(t, 5, p.Next(), 1e-9)
	p.Tick(50, true, true, false, 1)
	assert.Zero(t, p.Next())
}

func TestWhatGoesBeyondThePaceIsNoDebt(t *testing.T) {
	p := Pacer{}
	p.Expect(2, 20, false)
	for range 600 {
		p.Take(1)
	}
	assert.InDelta(t, 2/p.Pace(), p.Wait(1), 1e-9, "one call, and the next")
	p.Return(3)
	p.Take(1)
	assert.Zero(t, p.Wait(1))
}

func TestAPaceThatGrowsForHoursIsFinite(t *testing.T) {
	for _, first := range []bool{true, false} {
		p := Pacer{}
		p.Expect(2, 20, false)
		p.Cut(2, 20, false)
		p.fast, p.Binding = 2, true
		if first {
			p.marks = 1
		}
		p.Tick(86400, true, true, false, 1)
		assert.InDelta(t, mostRate, p.Pace(), 0)
	}
}

func TestNoRateIsBeyondAllMeasure(t *testing.T) {
	p := Pacer{}
	for rate, want := range map[float64]float64{0: leastRate, 1e300: mostRate} {
		p.Expect(rate, 20, false)
		assert.InDelta(t, want, p.Rate, 0)
		p.Set(rate, 20)
		assert.InDelta(t, want, p.Rate, 0)
	}
}

// Headers that show room speed the pace up, until the room is taken.
func TestRoomSpeedsThePaceUp(t *testing.T) {
	p := expectTen()
	p.Binding = true
	p.Slow()
	assert.InDelta(t, 9.7, p.Pace(), 1e-9, "there is nothing to end")
	p.Hasten()
	p.Tick(2, true, true, false, 1)
	p.Hasten() // goes on
	assert.InDelta(t, 9.7*math.Exp(2*firstGrow), p.Pace(), 0.01)
	p.Slow()
	assert.False(t, p.Rising())
	assert.InDelta(t, 9.7, p.Pace(), 1e-9)

	p.fast = 20 // what was proved is not ended by that
	p.Hasten()
	p.Slow()
	assert.InDelta(t, 20, p.Pace(), 1e-9)

	var off Pacer
	off.Hasten()
	assert.Zero(t, off.Pace())
}

// Each window of a second begins with room: the slow growth goes on from one to the next.
func TestRoomDoesNotBeginTheSlowGrowthAnew(t *testing.T) {
	p := expectTen()
	now := 0.0
	for range 95 {
		p.Hasten()
		p.Tick(now+0.2, true, true, false, 1)
		p.Slow()
		p.Tick(now+1.2, true, true, false, 1)
		now += 1.2
	}
	assert.InDelta(t, 12.4, p.Pace(), 1e-9, "as after 95 seconds without room")
}

// A cut ends what room in the headers began: what is proved after it goes on.
func TestACutEndsWhatRoomBegan(t *testing.T) {
	p := expectTen()
	p.Hasten()
	p.Set(5, 20)
	p.fast = 20
	p.Slow()
	assert.InDelta(t, 20, p.Pace(), 1e-9)
}

// What goes at first besides the pace, with few calls in flight, is no proof that the limit has risen, and is not saved up again.
func TestABurstAtFirst(t *testing.T) {
	for about, c := range map[string]struct{ burst, inFlight, atOnce float64 }{
		"none":            {0, 0, 1},
		"32":              {32, 0, 32},
		"few in flight":   {32, 9, 32},
		"many are":        {32, 10, 1},
		"the whole quota": {500, 9, 500},
	} {
		m := New(Config{Initial: 100, Max: 100, CallRate: 1, CallBurst: c.burst, Few: 10})
		var at, sent float64
		for ; at < 10; at += 0.01 {
			for m.Wait(at, 0, int(c.inFlight)) == 0 {
				sent++
				m.Sent(Call{Seq: int64(sent), At: at})
			}
			if at == 0 {
				assert.InDelta(t, c.atOnce, sent, 0, about)
			}
		}
		assert.InDelta(t, c.atOnce+10, sent, 1, about)
		assert.False(t, m.Calls.Rising(), about)
	}
}

func TestABurstOfTokensAtFirst(t *testing.T) {
	m := New(Config{Initial: 100, Max: 100, TokenRate: 10, TokenBurst: 600, Few: 10})
	for i := range 6 {
		assert.Zero(t, m.Wait(0, 100, i))
		m.Sent(Call{Seq: int64(i + 1), Tokens: 100, Total: float64(100 * (i + 1))})
	}
	assert.Positive(t, m.Wait(0, 100, 6))
}

// The quota of a preset is not spread over its window while it is unused, and a rejection ends it.
func TestAPresetsQuotaIsNotSpread(t *testing.T) {
	m := New(Config{Initial: 100, Max: 100, CallRate: 500. / minute, CallBurst: 500, Few: 32})
	call := Call{}
	for i := range 40 {
		at := 0.5 * float64(i)
		require.Zero(t, m.Wait(at, 0, 1), "call %d", i)
		call = Call{Seq: int64(i + 1), At: at, Others: 1}
		m.Sent(call)
		m.Answered(at+0.4, call, Answer{InFlight: 1, Calls: told(500, float64(499-i), minute-at)})
	}
	require.True(t, m.quota.Calls.turn.Windowed())
	m.Refused(20, call, Refusal{Asked: 0.1})
	for at := 21.0; m.Wait(at, 0, 1) == 0; at += 0.01 {
		require.Less(t, call.Seq, int64(43))
		call = Call{Seq: call.Seq + 1, At: at, Others: 1}
		m.Sent(call)
	}
}

// A response may report more tokens than any call can use.
func TestANumberInAResponseHoldsCallsBackForAMinuteAtMost(t *testing.T) {
	for name, c := range map[string]struct{ beyond, level, model float64 }{
		"more than reserved": {200, -400, -400},
		"nonsense":           {1e12, -600, -1200},
	} {
		p := expectTen()
		p.Return(-c.beyond)
		p.Return(-c.beyond)
		assert.InDelta(t, c.level, p.level, 0, name)
		assert.InDelta(t, c.model, p.model, 0, name)
	}
	p := expectTen()
	p.Take(1000)
	p.Return(-1)
	assert.InDelta(t, -1000, p.level, 0, "what a call has reserved is waited for")
}

// What an earlier run has saved replaces a preset. Its calls may have used the quota.
func TestNoPresetsQuotaIsLeftAfterAnotherRun(t *testing.T) {
	c := Config{Initial: 100, Max: 100, CallRate: 1, CallBurst: 60, TokenRate: 10, TokenBurst: 600, Few: 32}
	c.Saved = Saved{Calls: 1, Tokens: 10}
	m := New(c)
	assert.InDelta(t, 1/margin, m.Wait(0, 0, 0), 1e-9)
	assert.InDelta(t, 10/margin, m.Wait(0, 100, 0), 1e-9)
}

// At a rate that was expected, the bucket fills during the first pause. A later pause is not made up for, nor is any at a rate that
// has just been measured, which may be far too high.
func TestWhatComesInDuringTheFirstPauseGoesAtOnce(t *testing.T) {
	for about, c := range map[string]struct {
		rate  float64 // that is expected, per second
		pause float64 // seconds
		want  []int   // calls at once after the first pause and the second
	}{
		"as many as came in":       {10, 0.6, []int{6, 1}},
		"what any bucket holds":    {10, 20, []int{leastBucket, 1}},
		"a rate that is not known": {0, 0.6, []int{1, 1}},
	} {
		m := New(Config{Initial: 100, Max: 100, CallRate: c.rate, CallBurst: 20, Few: 32})
		now, seq := 0.0, int64(0)
		for m.Wait(now, 0, int(seq)) == 0 && seq < 20 {
			seq++
			m.Sent(Call{Seq: seq, At: now, Others: int(seq)})
		}
		for _, want := range c.want {
			left := now
			m.Refused(now+0.1, Call{Seq: seq, At: left, Others: 9}, Refusal{Names: CallLimit})
			now = max(m.Door.Until, now+0.1+c.pause)
			m.Wait(now-0.01, 0, 1)
			m.Door.Until = now
			first := seq
			for m.Wait(now, 0, 1) == 0 {
				seq++
				m.Sent(Call{Seq: seq, At: now, Others: 9})
			}
			assert.EqualValues(t, want, seq-first, about)
			now++
		}
	}
}

func TestARefusedCallKeepsItsTurnAndTheOthersKeepTheirs(t *testing.T) {
	p := expectTen()
	p.level = 3
	p.Again(1)
	assert.InDelta(t, 3, p.level, 0)
	p.level = -3
	p.Again(1)
	assert.InDelta(t, 1, p.level, 0)
}

// What comes in during the first pause of a rate that was expected is spent once.
func TestWhatTheFirstPauseFilledIsNotFilledAgain(t *testing.T) {
	p := expectTen()
	p.Cut(10, pacerCycle, false)
	p.Tick(2, false, false, false, 1)
	assert.InDelta(t, leastBucket, p.level, 0)
	for range leastBucket - 1 {
		p.Take(1)
		assert.True(t, p.fills)
	}
	p.Take(1)
	assert.False(t, p.fills)
	p.Tick(4, true, false, false, 1)
	assert.Less(t, p.level, 2.0)
	p.Cut(10, pacerCycle, false)
	assert.False(t, p.fills, "a later mark")
	p = &Pacer{}
	p.Cut(10, pacerCycle, false)
	p.Cut(10, pacerCycle, false)
	assert.False(t, p.fills, "a rate that was not expected")
}

func TestWhatIsSavedIsNeverNegative(t *testing.T) {
	p := &Pacer{}
	p.Expect(10, pacerCycle, true)
	p.Save(5)
	p.Take(9) // the first goes whatever its size
	assert.Zero(t, p.saved)
	p.saved, p.level = 5, -3
	assert.True(t, p.Saves(2))
	assert.False(t, p.Saves(3), "what was used beyond it is owed")
	p.saved, p.level = 1, 1
	assert.False(t, p.Saves(2), "what the pace allows is not saved")
}

func TestALearnedBurstFades(t *testing.T) {
	p := expectTen()
	p.burst = 60
	p.Cut(10, pacerCycle, false)
	assert.InDelta(t, 60-60./burstFades, p.burst, 1e-9)
}

// Of tokens, a proof of a risen limit is a few calls' worth, not a few tokens.
func TestTheModelMayMiscountCalls(t *testing.T) {
	for model, rises := range map[float64]bool{-400: false, -1100: true} {
		p := &Pacer{Binding: true}
		p.Expect(10, 1, false)
		p.model = model
		p.Tick(1, true, true, false, 300)
		assert.Equal(t, rises, p.Rising(), "%g", model)
	}
}

// With nothing in flight, the next tick after a rejection is at the end of the pause.
func TestTheTimeOfAPauseIsNoneOfFastGrowth(t *testing.T) {
	p := expectTen()
	p.Hasten()
	before := p.Pace()
	p.Tick(1, false, false, false, 1)
	p.Tick(3600, true, true, false, 1)
	assert.InDelta(t, before, p.Pace(), 0)
	p.Tick(3601, true, true, false, 1)
	assert.InDelta(t, before*math.Exp(firstGrow), p.Pace(), 1e-9)
}

func TestAPauseTakesThePaceNoFurtherThanTheRate(t *testing.T) {
	for _, c := range []struct {
		name          string
		active, pause float64
		want          float64
	}{
		{"a short one", 0, 7, 9.84},
		{"a long one", 0, 3600, 10},
		{"of a pace above the rate", 55, 3600, 10.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := expectTen()
			p.Tick(c.active, true, true, false, 1)
			p.Tick(c.active+0.001, false, false, false, 1)
			p.Tick(c.active+0.001+c.pause, true, true, false, 1)
			assert.InDelta(t, c.want, p.Pace(), 1e-9)
		})
	}
}

// The first measurement is of a bucket that was full, or of a burst.
func TestUntilTheSecondMarkThePaceGrowsByAFactorOfEForEachCallAtMost(t *testing.T) {
	for name, c := range map[string]struct{ rate, each, want float64 }{
		"calls":         {rate: 0.1, want: 0.1},
		"fast calls":    {rate: 10, want: firstGrow},
		"tokens":        {rate: 1000, each: 10_000, want: 0.1},
		"of many calls": {rate: 1000, each: 100, want: firstGrow},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pacer{each: c.each}
			p.Cut(c.rate, 60, false)
			p.Tick(1, true, true, false, 1)
			before := p.Pace()
			p.Binding = true
			p.Tick(2, true, true, false, 1)
			assert.InDelta(t, c.want, math.Log(p.Pace()/before), 1e-9)
		})
	}
}
