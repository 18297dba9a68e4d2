package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// heldBack is a flight that has been what held back for so many seconds.
func heldBack(f Flight, seconds float64) Flight {
	f.Binding = true
	f.Tick(f.at+seconds, true)
	return f
}

func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		name                    string
		initial, most           float64
		inFlight, answers, want int
	}{
		{"one more for each that is taken", 4, 100, 3, 3, 7},
		{"half in use is enough", 4, 100, 1, 1, 5},
		{"less is not", 4, 100, 0, 1, 4},
		{"up to the most", 4, 6, 9, 10, 6},
		{"never more than the most", 10, 6, 9, 0, 6},
		{"one at least", 0, 6, 9, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(c.initial, c.most)
			for range c.answers {
				f.Answered(0, c.inFlight, 0)
			}
			assert.Equal(t, c.want, f.Bound(0))
			assert.True(t, f.Starting())
			assert.True(t, math.IsInf(f.Wait(c.want, 0), 1), "only answers help")
			assert.True(t, math.IsInf(f.Next(), 1))
		})
	}
}

// capped has a cap of 10, with a cycle of 63 seconds.
func capped() Flight {
	f := NewFlight(30, 1000)
	f.Cap(10, 10)
	f.Claimed = true
	return f
}

func TestCapHoldsThenProbes(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds float64
		want    int
	}{
		{"at once", 0, 10},
		{"holds", 56.6, 10},
		{"one more after nine tenths of a cycle", 56.8, 11},
		{"then cubic", 25.2 + 5*31.5 + 0.01, 72},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := heldBack(capped(), c.seconds)
			assert.Equal(t, c.want, f.Bound(500), "whatever the pace takes")
		})
	}
	f := capped()
	f.Tick(100, true)
	assert.Equal(t, 10, f.Bound(0), "no time for growth: not binding")
	f.Binding = true
	f.Tick(200, false)
	assert.Equal(t, 10, f.Bound(0), "no time for growth: shut")
	assert.InDelta(t, 25.2, f.Next(), 1e-9)
	f.Tick(210, true)
	assert.InDelta(t, 15.2, f.Next(), 1e-9)
}

func TestCapAgain(t *testing.T) {
	for _, c := range []struct {
		name        string
		n           float64
		want, later int
	}{
		{"the same level", 10, 10, 10},
		{"nearly", 9, 9, 9},
		{"another: to below it, and back", 20, 18, 20},
		{"lower", 5, 4, 5},
		{"one at least", 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := heldBack(capped(), 500)
			f.Cap(c.n, 10)
			assert.Equal(t, c.want, f.Bound(0))
			f.active = 0.4 * f.cycle
			assert.Equal(t, c.later, f.Bound(0))
			assert.InDelta(t, max(1, c.n), f.level, 0)
		})
	}
}

// A rejection that comes sooner says that the cut has not helped.
func TestACapThatHoldsIsNotProbedInTheTimeInWhichACutHelps(t *testing.T) {
	f := NewFlight(30, 1000)
	for n, want := range []float64{holdsFor * settled(0.1), holdsFor * settled(0.1), soonTrips * 100} {
		f.Cap(10, 100)
		assert.InDelta(t, want, f.Next(), 1e-9, "refusal %d", n+1)
	}
	f.Cap(5, 100)
	assert.InDelta(t, holdsFor*settled(0.05), f.Next(), 1e-9, "another level")
}

func TestClimbingStartsAboveEveryLevelRefusedOfLate(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  int
		binding bool
		want    float64
	}{
		{"above the last only", 11, true, 0},
		{"at the highest", 20, true, 0},
		{"above the highest", 21, true, 4},
		{"while something else holds back", 21, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(30, 1000)
			f.Cap(20, 10)
			f.Cap(10, 10)
			f.Claimed, f.Binding = true, c.binding
			before := f.Bound(0)
			f.Answered(c.others, 30, 0)
			for range 8 {
				f.Answered(0, 30, 0)
			}
			assert.InDelta(t, float64(before)+c.want, f.Bound(0), 0, "half a call for each")
			for range 8 {
				f.Answered(0, 0, 0)
			}
			assert.InDelta(t, float64(before)+c.want, f.Bound(0), 0, "not when they are not used")
		})
	}
}

func TestFollowsThePace(t *testing.T) {
	for _, c := range []struct {
		name           string
		needed, now    float64
		claimed        bool
		want, followed int
	}{
		{"the pace takes less", 4, 4, false, 8, 8},
		{"the pace takes more", 30, 30, false, 30, 30},
		{"and more yet", 30, 50, false, 30, 50},
		{"not with a cap", 30, 50, true, 30, 30},
		{"up to the most", 5000, 5000, false, 100, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(8, 100)
			f.Follow(63, c.needed)
			f.Claimed = c.claimed
			assert.False(t, f.Starting())
			assert.Equal(t, c.want, f.Bound(0))
			assert.Equal(t, c.followed, f.Bound(c.now))
		})
	}
}

func TestHovers(t *testing.T) {
	f := NewFlight(40, 21)
	assert.Zero(t, f.Hovers())
	f.Hover(20)
	assert.InDelta(t, 20, f.Hovers(), 1e-9, "first at the level of the refusal")
	f.Hover(30)
	assert.InDelta(t, 17.6, f.Hovers(), 1e-9, "then a step down, whatever the level")
	assert.Equal(t, 17, f.Bound(100))
	f.Answered(0, 17, 0)
	assert.InDelta(t, 17.6+0.003*14/17.6, f.Hovers(), 1e-9, "by the share of 20 for each round trip")
	f.Answered(0, 3, 0)
	assert.InDelta(t, 17.6+0.003*14/17.6, f.Hovers(), 1e-9, "not when they are not used")
	for range 2000 {
		f.Answered(0, 17, 0)
	}
	assert.InDelta(t, 21, f.Hovers(), 1e-9, "up to the most")
}

// A cut is of one call at least.
func TestABoundThatHoversGrowsFasterFromTheSecondCutAboveTheLastOn(t *testing.T) {
	for _, c := range []struct {
		name                string
		level, above, times float64
	}{
		{"within a cut", 50, 6, 1},
		{"two cuts above", 50, 12, 2},
		{"three", 50, 18, 3},
		{"one call above a small bound", 2, 1, 1},
		{"two calls", 2, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(30, 1000)
			f.Hover(c.level)
			slow := hoverGain * max(hoverLeast, c.level+c.above) / (c.level + c.above)
			f.bound += c.above
			assert.InDelta(t, c.times*slow, f.gain(), 1e-9)
			f.part = true
			assert.InDelta(t, evenGain*max(1, hoverLeast/f.bound), f.gain(), 1e-9, "not where it is told its part")
		})
	}
}

func TestABoundThatHoversClimbsThreeCutsAboveTheLast(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  int
		part    bool
		binding bool
		want    mode
	}{
		{"within two cuts", 44, false, true, hovering},
		{"above three", 49, false, true, climbing},
		{"where it is told its part", 49, true, true, hovering},
		{"while something else holds back", 49, false, false, hovering},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(30, 1000)
			f.Hover(40)
			f.Hover(40)
			f.Claimed, f.part, f.Binding = true, c.part, c.binding
			assert.Equal(t, c.want == climbing, f.Answered(c.others, 45, 0))
			assert.Equal(t, c.want, f.mode)
		})
	}
}

// Two that share a cap and are cut alike come to even parts, also when one
// began far above the other.
func TestBoundsThatHoverGetEven(t *testing.T) {
	a, b := NewFlight(2, 100), NewFlight(6, 100)
	a.Hover(2)
	b.Hover(6)
	for range 30 {
		for a.Hovers()+b.Hovers() < 9 {
			for _, f := range []*Flight{&a, &b} { // a round trip: an answer for each call
				for n := f.Hovers(); n > 0; n-- {
					f.Answered(0, f.Bound(0), 0)
				}
			}
		}
		a.Hover(1)
		b.Hover(1)
	}
	assert.Less(t, b.Hovers()/a.Hovers(), 1.3, "%.1f and %.1f", a.Hovers(), b.Hovers())
}

func TestABoundThatReturnsToWhereItHoveredStillHovers(t *testing.T) {
	f := NewFlight(4, 100)
	f.Hover(10)
	for n, want := range []float64{1, 3} { // of calls in flight, a second pause later
		f.Reopen(n * 2)
		assert.InDelta(t, want, f.Hovers(), 0)
		f.Answered(0, 10, 0)
		f.Answered(0, 10, 0)
	}
	g := f
	g.Return(20)
	assert.Zero(t, g.Hovers(), "a trial does not")
	for range 5 {
		f.Answered(0, 10, 0)
	}
	assert.Equal(t, 10, f.Bound(0))
	assert.Zero(t, f.Hovers(), "it is back")
	f.Reopen(0)
	assert.Zero(t, f.Hovers(), "what it returns to is the cap")
}

// A call for each answer would double the rate of calls.
func TestATrialOfMoreThanHoversGrowsSlowly(t *testing.T) {
	for _, c := range []struct {
		name string
		to   func(f *Flight)
		want float64
	}{
		{"of what held under a cap", func(f *Flight) { f.Cap(10, 1); f.Return(20) }, 1},
		{"of more than hovers", func(f *Flight) { f.Hover(10); f.Return(20) }, trialGain},
		{"and after a pause", func(f *Flight) { f.Hover(10); f.Return(20); f.Reopen(3) }, trialGain},
		{"after a pause, to where it hovers", func(f *Flight) { f.Hover(10); f.Reopen(1) }, 1},
		{"the same after a trial", func(f *Flight) { f.Hover(10); f.Return(20); f.Back(); f.Reopen(1) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlight(4, 100)
			c.to(&f)
			before := f.bound
			f.Answered(0, 10, 0)
			assert.InDelta(t, c.want, f.bound-before, 1e-9)
		})
	}
}

func TestSignalIsMadeGoodWithinACycle(t *testing.T) {
	f := NewFlight(40, 100)
	f.Signal(0.5, 40)
	for _, c := range []struct {
		seconds float64
		want    int
	}{{0, 20}, {12.6, 30}, {25.3, 40}} {
		g := heldBack(f, c.seconds)
		assert.Equal(t, c.want, g.Bound(0), "%v", c.seconds)
	}
	f.Signal(0.5, 1)
	assert.Equal(t, 1, f.Bound(0), "one at least")
}

func TestRestartIsASlowStart(t *testing.T) {
	for _, c := range []struct{ n, want float64 }{{25, 25}, {3, 10}} {
		f := capped()
		f.Restart(c.n)
		assert.True(t, f.Starting())
		assert.False(t, f.Claimed)
		assert.InDelta(t, c.want, f.Bound(0), 0)
	}
}

// Wait is the inverse of Bound over time.
func TestFlightWaitAgreesWithBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Flight{mode: steady, Max: 1000, Binding: true}
		f.level = rapid.Float64Range(1, 200).Draw(t, "level")
		f.bound = f.level * rapid.SampledFrom([]float64{1, 0.9, 0.5}).Draw(t, "share")
		f.cycle = rapid.Float64Range(20, 600).Draw(t, "cycle")
		f.active = f.cycle * rapid.Float64Range(0, 3).Draw(t, "active")
		n := f.Bound(0)
		n += rapid.IntRange(0, 20).Draw(t, "more")
		if n >= int(f.Max) {
			return
		}
		wait := f.Wait(n, 0)
		assert.Positive(t, wait)
		after, before := f, f
		after.active += wait + 1e-6
		before.active += wait - 1e-3
		assert.Greater(t, after.Bound(0), n, "waited long enough")
		if wait > 2e-3 {
			assert.LessOrEqual(t, before.Bound(0), n, "and no longer")
		}
	})
}

func TestFlightWaitsForAnAnswerIfTimeDoesNotHelp(t *testing.T) {
	f := capped()
	assert.True(t, math.IsInf(f.Wait(10, 0), 1), "not binding")
	f.Binding = true
	assert.InDelta(t, 56.7, f.Wait(10, 0), 1e-9)
	f.Max = 10
	assert.True(t, math.IsInf(f.Wait(10, 0), 1), "at the most")
	f.Hover(5)
	assert.True(t, math.IsInf(f.Wait(5, 0), 1), "hovering")
}

// A cut goes below the level, and a pause that follows it does not make that the level.
func TestAPauseAfterACutKeepsTheLevel(t *testing.T) {
	f := NewFlight(4, 200)
	f.Cap(10, 1)
	f.Cap(20, 1)
	assert.Equal(t, 18, f.Bound(0))
	f.Reopen(0)
	for range 40 {
		f.Answered(0, 20, 0)
	}
	assert.Equal(t, 20, f.Bound(0))
}

func TestABoundThatIsDueWakesUpLater(t *testing.T) {
	f := NewFlight(4, 100)
	f.Cap(10, 1)
	f.Binding, f.active = true, 1000
	assert.Positive(t, f.Wait(10, 0))
	assert.Zero(t, f.Next())
}

func TestClearlyAboveASmallBoundIsThreeCalls(t *testing.T) {
	assert.InDelta(t, 5, clearlyAbove(2), 0)
	assert.InDelta(t, 100+3*12, clearlyAbove(100), 1e-9)
}

// A bound that climbs begins no lower than what the pace takes, which it was allowed before.
func TestABoundThatClimbsIsEnoughForThePace(t *testing.T) {
	f := NewFlight(4, 100)
	f.Return(8)
	f.Climb(30)
	assert.Equal(t, 30, f.Bound(0))
}
