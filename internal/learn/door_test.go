package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDoorObeys(t *testing.T) {
	for name, c := range map[string]struct {
		asked, rate, luck float64
		off               Rules
		want              float64
	}{
		"as asked":                 {asked: 10, want: 10},
		"and a little later":       {asked: 10, luck: 1, want: 10.1},
		"a tenth of a short one":   {asked: 0.5, luck: 1, want: 0.55},
		"until others are heard":   {asked: 0.1, want: 0.3},
		"without the rule, as is":  {asked: 0.1, off: TruthRule, want: 0.1},
		"likewise a little later":  {asked: 10, luck: 0.5, off: TruthRule, want: 10.05},
		"never earlier than asked": {asked: 10, rate: 1e6, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(c.off)
			d.Obey(100, c.asked, c.rate, c.luck)
			assert.InDelta(t, 100+c.want, d.Until, 1e-9)
			d.Obey(100, 0.01, 0, 0)
			assert.InDelta(t, 100+c.want, max(d.Until, 100.3*min(1, c.want)), 1e-9, "never forward")
		})
	}
}

func TestDoorWeighsShortAndLongWaitsApart(t *testing.T) {
	for name, c := range map[string]struct{ lie, asked, want float64 }{
		"long ones lie":          {10, 10, 1.5 / margin * 10},
		"short ones do not":      {10, 1, 1},
		"short ones lie":         {1, 1, 1.5 / margin},
		"long ones do not":       {1, 1.6, 1.6},
		"the bound is inclusive": {1, 0.5, 0.75 / margin},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(0)
			for _, now := range []float64{100, 200} {
				d.Obey(now, c.lie, 0, 0)
				d.KeepShut(now+c.lie, c.lie, 0, 0, 0)
				d.Opened(now + 2*c.lie)
			}
			d.Obey(1000, c.asked, 0, 0)
			assert.InDelta(t, 1000+c.want, d.Until, 1e-9)
		})
	}
}

func TestDoorStillShutWaitsLongerEachTime(t *testing.T) {
	for name, c := range map[string]struct {
		asked, reset, rate, luck float64
		want                     []float64 // since the refusal
	}{
		"doubles":             {rate: 1, want: []float64{0.25, 0.5, 1, 2, 4, 8, 16, 32, 50, 50}},
		"at most a minute":    {want: []float64{0.25, 0.5, 1, 2, 4, 8, 16, 32, 60, 60}},
		"two percent of rate": {rate: 10, want: []float64{0.25, 0.5, 1, 2, 4, 5, 5}},
		"a second at least":   {rate: 1000, want: []float64{0.25, 0.5, 1, 1}},
		"jitter":              {rate: 1000, luck: 1, want: []float64{0.3125, 0.625, 1.25, 1.25}},
		"as asked":            {asked: 3, want: []float64{3}},
		"asked too little":    {asked: 3, rate: 1, want: []float64{3, 3.5, 4, 5, 7, 11, 19, 35, 53, 53}},
		"of a fast rate":      {asked: 3, luck: 1, rate: 10, want: []float64{3, 3.625, 4.25, 5.5, 8, 9.25, 9.25}},
		"until the reset":     {reset: 7, want: []float64{0.25, 7, 7, 7}},
		"which slips":         {reset: 7, luck: 1, want: []float64{0.3125, 7, 14, 28, 56, 60}},
		"the longer of them":  {asked: 3, reset: 7, want: []float64{3, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(TruthRule)
			for i, want := range c.want {
				now := 1000 * float64(i+1)
				d.KeepShut(now, c.asked, c.reset, c.rate, c.luck)
				assert.InDelta(t, now+want, d.Until, 1e-9, "refusal %d", i+1)
			}
		})
	}
}

func TestDoorProbesWithOneCall(t *testing.T) {
	d := newDoor(0)
	d.KeepShut(10, 0, 0, 0, 0)
	assert.True(t, d.Shut())
	assert.False(t, d.Stuck())
	assert.False(t, d.Sent(11), "the first time, all may go")
	wait, found := d.Probing(11)
	assert.Zero(t, wait+found)

	d.KeepShut(12, 0, 0, 0, 0)
	assert.True(t, d.Stuck())
	wait, found = d.Probing(13)
	assert.Zero(t, wait+found, "none has left yet")
	assert.True(t, d.Sent(13))
	assert.False(t, d.Sent(13.1), "one")
	wait, found = d.Probing(13.2)
	assert.InDelta(t, 0.3, wait, 1e-9)
	assert.Zero(t, found)
	wait, found = d.Probing(13.5)
	assert.Zero(t, wait)
	assert.Equal(t, 13.0, found, "its refusal would have been heard")

	d.Refused(13)
	assert.True(t, d.Sent(14), "another one")
	d.Opened(14)
	assert.False(t, d.Shut())
	assert.False(t, d.Sent(15))
	wait, found = d.Probing(15)
	assert.Zero(t, wait+found)
}

func TestDoorHearsAsLateAsRefusalsCome(t *testing.T) {
	d := newDoor(0)
	assert.InDelta(t, 2.5*0.2, d.RefusalTimeout(), 1e-9)
	d.RefusalTook(60)
	assert.InDelta(t, 2.5*0.32, d.RefusalTimeout(), 1e-9, "one that is very late counts as four times as late as usual")
	for range 100 {
		d.RefusalTook(1.2)
	}
	assert.InDelta(t, 2.5*1.2, d.RefusalTimeout(), 1e-6)
}

func TestDoorProbesWhetherItOpensEarly(t *testing.T) {
	d := newDoor(0)
	d.Obey(100, 10, 1, 0)
	assert.False(t, d.Sent(110))
	d.Opened(110)
	d.Obey(200, 10, 1, 0)
	assert.InDelta(t, 205, d.Until, 1e-9)
	assert.True(t, d.Sent(205), "at half the time goes one")
	d.Refused(205)
	d.KeepShut(205.2, 5, 0, 1, 0)
	assert.InDelta(t, 210.2, d.Until, 1e-9)
	assert.False(t, d.Sent(211))
}

// A test of an earlier opening takes one call. No other call waits longer than it would without the test.
func TestATestHoldsTheOthersBackForAsLongAsIsAskedAtMost(t *testing.T) {
	for name, c := range map[string]struct{ asked, now, wait, found float64 }{
		"the refusal may be on its way":  {1, 100.5, 0.2, 0},
		"it would have been received":    {1, 100.75, 0, 100.4},
		"what was asked is over":         {0.5, 100.52, 0, 0},
		"and the refusal comes too late": {0.5, 100.7, 0, 100.4},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(0)
			d.Refused(99.9)
			d.Obey(100, 1, 10, 0)
			d.untested = 100 + c.asked
			assert.InDelta(t, 100.4, d.Until, 1e-9)
			assert.True(t, d.Sent(100.4))
			wait, found := d.Probing(c.now)
			assert.InDelta(t, c.wait, wait, 1e-9)
			assert.InDelta(t, c.found, found, 1e-9)
			assert.False(t, d.Sent(c.now), "one call tests")
		})
	}
}

// To take a long wait for too long by mistake costs more than the time in which the rejection of its test arrives.
func TestATestOfALongWaitIsHeardOut(t *testing.T) {
	d := newDoor(0)
	d.Obey(100, 10, 1, 0)
	d.Opened(110)
	d.Obey(200, 10, 1, 0)
	assert.True(t, d.Sent(205))
	wait, found := d.Probing(205.4)
	assert.InDelta(t, 0.1, wait, 1e-9)
	assert.Zero(t, found)
}

func TestDoorIsOpenForWhatLeftAfterTheRefused(t *testing.T) {
	d := newDoor(0)
	assert.True(t, d.Opens(0), "nothing was refused yet")
	d.Refused(10)
	assert.False(t, d.Opens(9))
	assert.False(t, d.Opens(10))
	assert.True(t, d.Opens(10.01))
}

func TestDoorSettlesWhenSomethingGotThrough(t *testing.T) {
	d := newDoor(0)
	d.KeepShut(10, 0, 0, 0, 0)
	d.KeepShut(20, 0, 0, 0, 0)
	d.Settled()
	assert.False(t, d.Shut())
	d.KeepShut(30, 0, 0, 0, 0)
	assert.InDelta(t, 30.25, d.Until, 1e-9, "from the beginning")
}

// TestDoorWaits are the waits that say nothing of a rate, one a step, each a
// hundred seconds after the one before.
func TestDoorWaits(t *testing.T) {
	foreign := func(d *Door, now, luck float64) { d.PauseForeign(now, luck) }
	full := func(d *Door, now, luck float64) { d.Overloaded(now, now, 0, 0, 0.2, luck, true) }
	asks := func(d *Door, now, luck float64) { d.Overloaded(now, now, 7, 0, 1, luck, true) }
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		refused func(d *Door, now, luck float64)
		luck    float64
		want    []float64
	}{
		"foreign":           {foreign, 0, []float64{-inf, 0.4, 0.8, 1.6, 3.2, 5, 5}},
		"foreign, jitter":   {foreign, 1, []float64{-inf, 0.5, 1}},
		"full":              {full, 0, []float64{0.25, 0.5, 1, 2, 4, 8, 16, 30, 30}},
		"full, jitter":      {full, 1, []float64{0.275, 0.55}},
		"full, one epoch":   {func(d *Door, now, l float64) { d.Overloaded(now, now, 0, 0, 0.2, l, false) }, 0, []float64{0.25, 0.25, 0.25}},
		"full, all calls":   {func(d *Door, now, l float64) { d.Overloaded(now, now, 0, 0, 1, l, true) }, 0, []float64{0.5, 0.5, 1}},
		"full, as asked":    {asks, 1, []float64{7.7, 7.7}},
		"pause, a call":     {func(d *Door, now, _ float64) { d.Pause(now, 0.5) }, 0, []float64{2}},
		"pause, five":       {func(d *Door, now, _ float64) { d.Pause(now, 0) }, 0, []float64{5}},
		"pause, until told": {func(d *Door, now, _ float64) { d.Pause(now, 1000) }, 0, []float64{0.3}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(0)
			for range 2 {
				for i, want := range c.want {
					now := 100 * float64(i+1)
					d.Until = -inf
					c.refused(&d, now, c.luck)
					assert.InDelta(t, max(-1e9, now+want), max(-1e9, d.Until), 1e-9, "refusal %d", i+1)
				}
				d.Opened(101) // and all begins anew
			}
		})
	}
}

// Of the calls that were out together, the one heard first need not have a Retry-After. The first that
// has one counts as a closure, so that a wait that is too long is found out.
func TestAWaitThatOnlyAnEchoAsksForIsTested(t *testing.T) {
	d := newDoor(0)
	for now := 0.0; now < 600; now += 100 {
		d.Refused(now)
		assert.True(t, d.Echo(now, 60))
		d.Obey(now, 60, 10, 0)
		assert.False(t, d.Echo(now, 60))
		if d.truths[1].Testing {
			assert.InDelta(t, now+30, d.Until, 1)
			return
		}
		assert.InDelta(t, now+60, d.Until, 1)
		d.Opened(now + 60)
	}
	assert.Fail(t, "half of it was never tried")
}

// Random 503s that ask for three seconds do not stop every call for as long. An outage that follows is waited for as asked.
func TestAWaitThatAnOverloadAsksForIsTested(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.Calls.Expect(20, 20, false)
	refuse := func(now float64) (wait float64) {
		r.Refused(now+0.1, r.send(now), Refusal{Mild: true, Asked: 3})
		return r.Door.Until - now - 0.1
	}
	for i := range 10 {
		now := 10 * float64(i)
		if wait := refuse(now); i == 0 {
			assert.InDelta(t, 3.2, wait, 0.3)
		} else if i == 9 {
			assert.Less(t, wait, 0.6)
		}
		for at := now + 4; at < now+10; at += 0.05 {
			r.Answered(at+0.5, r.send(at), Answer{})
		}
	}
	for i := range 8 {
		refuse(100 + 10*float64(i))
	}
	assert.GreaterOrEqual(t, refuse(200), 3.0)
}

// Calls that were out together ran into the same closure, each a little later. They do not lengthen a fraction of a second that
// was rounded up; a long wait gets longer if a later call asks for more than the first.
func TestAnEchoOfAFractionIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		asked, factor float64
		want          bool
	}{{1, 0.5, false}, {1, 1, true}, {1, 2, true}, {20, 0.5, true}} {
		d := newDoor(0)
		d.truths[shortWait].factor, d.truths[longWait].factor = c.factor, c.factor
		d.Refused(100)
		d.Obey(100, c.asked, 0, 0)
		until := d.Until
		d.Echo(100.5, c.asked)
		assert.Equal(t, c.want, d.Until > until, "%v", c)
	}
}

// A cap sets no pace, but a wait under it may still be too long.
func TestAWaitUnderACapIsTested(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.Refused(0.5, r.send(0.1), Refusal{})
	assert.False(t, r.Calls.On)
	r.rtt = 0.5
	assert.InDelta(t, float64(r.InFlight())/0.5, r.speed(), 1e-9)
}

// A call may be out while a process sleeps, and in virtual time a refusal takes none. Neither holds calls back for long.
func TestTimesOfCallsAreBounded(t *testing.T) {
	for name, took := range map[string]float64{"a day": day, "no time": 0, "a clock that was set back": -hour} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			for range 4000 {
				r.Answered(day+took, r.send(day), Answer{Used: 100})
				r.Door.RefusalTook(took)
			}
			for range 4000 {
				r.Door.PauseForeign(0, 0.5)
			}
			for _, c := range []struct{ got, most float64 }{{r.rtt, mostTrip}, {r.Door.rtt, mostRefusal}, {r.Door.Until, 2 * longestPause}} {
				assert.Positive(t, c.got)
				assert.LessOrEqual(t, c.got, c.most)
			}
		})
	}
}

// While an earlier opening is tested, the others wait for no longer than without a test.
func TestWhenAWaitIsOverWithoutATest(t *testing.T) {
	d := newDoor(0)
	d.truths[longWait].factor = 0.5
	d.Obey(100, 10, 1, 1)
	assert.InDelta(t, 105+askedJitter, d.untested, 1e-9)
	d.truths[overloadWait] = Truth{factor: 0.5, obeyed: 1}
	d.Overloaded(200, 199, 20, 1, 0, 0, true)
	assert.InDelta(t, 210, d.untested, 1e-9)
	assert.InDelta(t, 205, d.Until, 1e-9)
}

func TestAWaitThatAnOverloadAsksForIsCorrectedIfItIsRare(t *testing.T) {
	for name, c := range map[string]struct {
		asked, rate float64
		off         Rules
		want        float64
	}{
		"rare":                   {10, 1, 0, 5},
		"often":                  {10, 0, 0, 10},
		"left out":               {10, 1, TruthRule, 10},
		"an answer takes longer": {1, 1, 0, settles * firstTrip * 2},
		"none, of an old call":   {0, 0, 0, overloadFirst},
	} {
		d := newDoor(c.off)
		d.rtt = 2 * firstTrip
		d.truths[overloadWait].factor = 0.5
		d.Overloaded(100, 99, c.asked, c.rate, 0, 0, false)
		assert.InDelta(t, 100+c.want, d.Until, 1e-9, name)
	}
}
