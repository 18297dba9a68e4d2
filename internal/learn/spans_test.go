package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpansMeasureAWindow(t *testing.T) {
	for name, c := range map[string]struct {
		shut, opened float64
		calls, hits  float64
		known        float64
		no           bool // it cannot be a window
		rate, window float64
	}{
		"a minute":                {shut: 30, opened: 70, calls: 120, rate: 2, window: 60},
		"refusals cost quota":     {shut: 30, opened: 70, calls: 120, hits: 60, rate: 3, window: 60},
		"at most as much again":   {shut: 30, opened: 70, calls: 120, hits: 600, rate: 4, window: 60},
		"not if it cannot be one": {shut: 30, opened: 70, calls: 120, no: true},
		"a handful":               {shut: 30, opened: 70, calls: 9},
		"just enough":             {shut: 30, opened: 70, calls: 10, rate: 10.0 / 60, window: 60},
		"shut for a moment":       {shut: 18.5, opened: 20, calls: 120},
		"shut long enough":        {shut: 18, opened: 20, calls: 120, rate: 12, window: 10},
		"a small share of it":     {shut: 60, opened: 70, calls: 120},
		"a fifth of it":           {shut: 58, opened: 70, calls: 120, rate: 2, window: 60},
		"much of what is known":   {shut: 30, opened: 70, calls: 120, known: 2 / memoryFell, rate: 2, window: 60},
		"an outage":               {shut: 30, opened: 70, calls: 120, known: 2.1 / memoryFell},
	} {
		t.Run(name, func(t *testing.T) {
			var s Spans
			s.Sent(10)
			s.Sent(11) // the first one begins the span
			s.Shut(c.shut)
			s.Shut(c.shut + 1) // and the first refused one ends what was open
			assert.InDelta(t, c.rate, s.Opened(c.opened, c.calls, c.hits, c.known, !c.no), 1e-9)
			assert.InDelta(t, c.window, s.Window, 1e-9)
			assert.Zero(t, s.Opened(c.opened+50, 1000, 0, 0, true), "it is open already")
		})
	}
}

func TestSpansGoFromOpeningToOpening(t *testing.T) {
	var s Spans
	s.Sent(10)
	s.Shut(30)
	s.Opened(70, 120, 6, 0, true)
	s.Sent(75)
	s.Shut(100)
	assert.InDelta(t, (100+3)/50.0, s.Opened(120, 220, 9, 0, true), 1e-9, "what came since the last opening")
	assert.InDelta(t, 50, s.Window, 1e-9)
}

func TestWhatSaysMuchLessThanIsKnownHasToComeAgain(t *testing.T) {
	const known = 10
	for name, c := range map[string]struct{ second, rate float64 }{
		"as long":           {second: 130, rate: 60.0 / 60},
		"a quarter longer":  {second: 144, rate: 60.0 / 74},
		"much longer":       {second: 146},
		"a quarter shorter": {second: 119, rate: 60.0 / 49},
		"much shorter":      {second: 117},
	} {
		t.Run(name, func(t *testing.T) {
			var s Spans
			s.Sent(10)
			s.Shut(30)
			assert.Zero(t, s.Opened(70, 60, 0, known, true), "shut for the first time")
			s.Shut(80)
			assert.InDelta(t, c.rate, s.Opened(c.second, 120, 0, known, true), 1e-9)
		})
	}
}

func TestAClosureBeforeAWindowIsUsedUpIsAnOutage(t *testing.T) {
	for name, c := range map[string]struct{ got, rates []float64 }{
		"used up":                      {[]float64{120, 96}, []float64{2, 1.6}},
		"not used up":                  {[]float64{120, 95}, []float64{2, 0}},
		"used up the next time":        {[]float64{120, 90, 120}, []float64{2, 0, 2}},
		"as little again: it has less": {[]float64{120, 60, 72}, []float64{2, 0, 1.2}},
		"little again, but not alike":  {[]float64{120, 90, 60}, []float64{2, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var s Spans
			s.Sent(10)
			var rates []float64
			opened, calls := 10.0, 0.0
			for _, got := range c.got {
				s.Shut(opened + 30)
				opened, calls = opened+60, calls+got
				rates = append(rates, s.Opened(opened, calls, 0, 0, true))
			}
			assert.InDeltaSlice(t, c.rates, rates, 1e-9)
		})
	}
}

func TestSpansGoOnOverAShortClosure(t *testing.T) {
	for name, c := range map[string]struct{ first, calls, rate float64 }{
		"goes on":          {first: 60, calls: 200, rate: 2},
		"until it is long": {first: 131, calls: 200, rate: 100.0 / 29},
	} {
		t.Run(name, func(t *testing.T) {
			var s Spans
			s.Sent(10)
			s.Shut(c.first - 1)
			assert.Zero(t, s.Opened(c.first, 100, 0, 0, true))
			end := 110.0
			if c.first > end {
				end = 160
			}
			s.Shut(end - 25)
			assert.InDelta(t, c.rate, s.Opened(end, c.calls, 0, 0, true), 1e-9)
		})
	}
}

func TestALongClosureIsAWindowWhenItComesAgain(t *testing.T) {
	var s Spans
	s.Sent(1)
	for i, want := range []float64{0, 0.5, 0.5} {
		from := float64(i) * 1000
		s.Shut(from + 500)
		assert.InDelta(t, want, s.Opened(from+1001, float64(i+1)*500, 0, 0, true), 1e-3, "closure %d", i+1)
	}
}

// Answers overtake each other: the refusal of a call that left before the last opening says nothing about what came after it.
func TestALateRefusalEndsNoWindow(t *testing.T) {
	s := Spans{Window: 60, begin: 70, shut: 60}
	assert.Zero(t, s.Opened(70, 20, 0, 0, true))
	assert.InDelta(t, 60, s.Window, 0)
	s = Spans{begin: 70, shut: 60}
	assert.Zero(t, s.Opened(70.5, 20, 0, 0, true), "half a second is no window either")
	assert.Zero(t, s.Window)
}

func TestALimitThatRisesTwiceIsThatOfNoWindow(t *testing.T) {
	s := Spans{Window: 60}
	assert.False(t, s.NoteRise(10))
	assert.True(t, s.NoteRise(20))
	s.begin = 20
	s.Shut(50)
	s.Opened(80, 120, 0, 0, true)
	assert.False(t, s.NoteRise(100), "it was used up")
	s.Shut(110)
	s.Opened(111, 130, 0, 0, true)
	assert.True(t, s.NoteRise(99+remembered), "and was not since")
	assert.False(t, s.NoteRise(99+2*remembered), "long ago")
	s.Window = remembered
	assert.True(t, s.NoteRise(99+4*remembered), "but not for a long window")
}

// The provider counted in windows of five minutes, and does not any more.
func TestAWindowThatIsGoneIsGivenUp(t *testing.T) {
	r := runMachine(Config{Saved: Saved{Calls: 1, Window: 300}})
	r.play(1, 800, func(float64) float64 { return 10 }, Refusal{Asked: 0.2})
	assert.Equal(t, 1, r.reasons(WhyNoSpan))
	assert.Greater(t, r.Calls.Rate, 9.0)
}

func TestOneRiseIsThatOfTheWindow(t *testing.T) {
	r := runMachine(Config{Saved: Saved{Calls: 1, Window: 60}})
	r.Calls.model, r.Calls.Binding = -1000, true
	for now := 1.0; now < 5; now++ {
		r.tick(now, false)
		r.due = now
		assert.True(t, r.Calls.Rising())
		assert.InDelta(t, 60, r.spans.Window, 0)
	}
}
