package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trials are when a rate that fell from high is tried again until the moment to;
// each trial is refused at once.
func trials(m *Memory, from, to float64) []float64 { return trialsFrom(m, 1, 0, from, to) }

// trialsFrom are the same from a rate of low, if a rejection takes rtt seconds.
func trialsFrom(m *Memory, low, rtt, from, to float64) (at []float64) {
	for now := from; now < to; now++ {
		if m.Due(now) {
			at = append(at, now-from)
			m.Begin(now, int64(now), low)
			m.Refused(now, rtt)
		}
	}
	return at
}

func TestWhatHeldIsTriedAgain(t *testing.T) {
	m := Memory{first: 2}
	m.Marked(0, 10, false)
	assert.Empty(t, trials(&m, 0, 100), "nothing held yet")
	m.Marked(100, 10, true)
	m.Marked(110, 7.1, false)
	assert.Empty(t, trials(&m, 110, 200), "seven tenths are no fall")
	m.Marked(200, 6.9, false)
	assert.Equal(t, []float64{2, 6, 14, 30, 62, 126, 254, 510}, trials(&m, 200, 4000), "until 15 minutes are over")
}

// The first trial of a rate costs about one call: after fifty at the rate that is left. The next ones cost as many calls as leave
// until a rejection is received.
func TestTheLessIsLostTheSoonerARateIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		value, held, rtt float64
		want             []float64
	}{
		"five a second":         {5, 0, 0, []float64{10, 23, 39, 59, 84}},
		"one a second":          {1, 0, 0, []float64{30, 90}},
		"a hundred":             {100, 0, 0, []float64{2, 5, 9, 13, 18, 25, 33, 43, 55, 70, 89}},
		"five calls a trial":    {50, 0, 0.004, []float64{2, 12, 25, 41, 61, 86}},
		"a hundred calls":       {5, 0, 0.1, []float64{10, 40}},
		"it held for too short": {5, 980, 0, []float64{30, 68}},
		"it held for long":      {5, 970, 0, []float64{10, 23, 39, 59, 84}},
	} {
		t.Run(name, func(t *testing.T) {
			m := Memory{first: 30, rate: true, succeeded: c.held}
			m.Marked(0, 1000, true)
			m.Marked(1000, c.value, false)
			assert.Equal(t, c.want, trialsFrom(&m, c.value, c.rtt, 1000, 1091))
		})
	}
}

// What is held for long replaces what was tried for long enough.
func TestWhatIsHeldReplacesWhatIsTriedNoMore(t *testing.T) {
	m := Memory{first: 2}
	m.Held(0, 10)
	m.Held(1, 8)
	m.Marked(10, 5, false)
	m.Held(9+remembered, 5)
	assert.InDelta(t, 10, m.held, 0)
	m.Held(10+remembered, 5)
	assert.InDelta(t, 5, m.held, 0)
	assert.Empty(t, trials(&m, 10+remembered, 2000))
}

func TestASmallFallAfterAnotherIsOneFall(t *testing.T) {
	m := Memory{first: 2}
	m.Marked(0, 10, true)
	m.Marked(10, 8.9, false)
	m.Marked(20, 8, false)
	m.Marked(30, 6.9, false)
	assert.True(t, m.Due(32))
	assert.InDelta(t, 10, m.Begin(0, 1, 6.9), 0)
}

func TestATrialSucceedsWithTwentyCalls(t *testing.T) {
	m := Memory{first: 2}
	m.Fell(0, 32)
	assert.InDelta(t, 32, m.Begin(0, 100, 8), 0)
	assert.False(t, m.Due(100), "one at a time")
	assert.False(t, m.Tries(Call{Seq: 100}), "it had left before")
	for i := range trialTaken {
		assert.True(t, m.Tries(Call{Seq: 101}), "after %d", i)
		m.Taken(5, Call{Seq: 100})
		m.Taken(5, Call{Seq: int64(101 + i)})
	}
	assert.False(t, m.Tries(Call{Seq: 200}))
	assert.Empty(t, trials(&m, 5, 2000))
}

func TestATrialFailsWithOneRefusal(t *testing.T) {
	m := Memory{first: 2}
	m.Fell(0, 32)
	m.Begin(0, 100, 8)
	assert.InDelta(t, 8, m.Refused(3, 0), 0)
	assert.False(t, m.Due(6.9))
	assert.True(t, m.Due(7), "after twice the pause")
}

func TestTrialsAreSoonAgainAfterOneThatHeld(t *testing.T) {
	for name, c := range map[string]struct{ again, pause float64 }{
		"it held for longer than the pause": {17, 2},
		"it did not":                        {15, 32},
	} {
		t.Run(name, func(t *testing.T) {
			m := Memory{first: 2, held: 10, pause: 16}
			m.Begin(0, 1, 5)
			for range trialTaken {
				m.Taken(0, Call{Seq: 2})
			}
			m.Marked(c.again, 5, false)
			assert.False(t, m.Due(c.again+c.pause-0.1))
			assert.True(t, m.Due(c.again+c.pause))
		})
	}
}

func TestWhatMarksAgreeAboutHoldsAfterTheLastTrial(t *testing.T) {
	m := Memory{first: 2}
	m.Marked(0, 10, true)
	m.Marked(10, 5, false)
	m.Marked(20, 5, true)
	assert.True(t, m.Due(20), "an episode may have marks that agree")
	m.Marked(10+remembered, 5, true)
	assert.False(t, m.Due(remembered))
	m.Marked(2000, 3, false)
	assert.True(t, m.Due(2002))
	assert.InDelta(t, 5, m.Begin(0, 1, 3), 0)
}

// What was tried long ago is not what a refusal is about.
func TestATrialWithoutCallsEnds(t *testing.T) {
	m := Memory{first: 2}
	m.Fell(0, 10)
	assert.InDelta(t, 10, m.Begin(0, 7, 3), 0)
	assert.True(t, m.Tries(Call{Seq: 8, At: remembered - 1}))
	assert.False(t, m.Tries(Call{Seq: 9, At: remembered}))
	m.Fell(remembered, 20)
	assert.True(t, m.Due(remembered+4), "the next one is free to begin")
}

// A trial that no calls have decided holds back no other one, and its level is the bound.
func TestATrialWithoutCallsHoldsNothingBack(t *testing.T) {
	m := New(Config{Initial: 10, Max: 100, CallRate: 10})
	m.Flight.hold(5)
	m.levels.Fell(0, 20)
	m.rates.Fell(0, 20)
	m.rates.Begin(0, 0, 3)
	m.Flight.Return(m.levels.Begin(0, 0, 5))
	m.Flight.hold(20)
	for now, want := range map[float64]struct{ held, before float64 }{
		remembered - 1: {5, 3},
		remembered:     {20, 10},
	} {
		m.tick(now, true)
		assert.InDelta(t, want.held, m.heldLevel(), 1e-9)
		assert.Equal(t, now < remembered, m.levelTried())
		n := *m
		n.capRate.calls = 10
		n.tryCap(now)
		assert.InDelta(t, want.before, n.capRate.before.calls, 1e-9)
	}
}

// Where tokens are paced as well, both paces have fallen: that of tokens would hold back the calls of a trial, which would prove nothing.
func TestATrialOfAnEarlierRateTriesAsMuchMoreTokens(t *testing.T) {
	fallen := func() *Machine {
		m := New(Config{Initial: 10, Max: 100, CallRate: 8, TokenRate: 1000})
		m.Calls.Set(2, 30)
		m.Tokens.Set(300, 30)
		m.rates.Fell(0, 8)
		m.tick(againFirst, false)
		require.True(t, m.rates.Trying(againFirst))
		assert.InDelta(t, 8, m.Calls.Rate, 1e-9)
		assert.InDelta(t, 1200, m.Tokens.Rate, 1e-9)
		assert.InDelta(t, 300, m.Save().Tokens, 1e-9, "what is tried may not hold")
		return m
	}
	for name, end := range map[string]func(*Machine){
		"a refusal":          func(m *Machine) { m.failTrials(31, Call{Seq: 1, At: 31}) },
		"a trial of the cap": func(m *Machine) { m.capRate.calls = 20; m.tryCap(31); m.endCapTrial() },
	} {
		t.Run(name, func(t *testing.T) {
			m := fallen()
			end(m)
			assert.False(t, m.rates.Trying(31))
			assert.InDelta(t, 2, m.Calls.Rate, 1e-9)
			assert.InDelta(t, 300, m.Tokens.Rate, 1e-9)
		})
	}
	t.Run("lower than now", func(t *testing.T) {
		m := New(Config{Initial: 10, Max: 100, CallRate: 8, TokenRate: 1000})
		m.rates.Fell(0, 4)
		m.tick(againFirst, false)
		require.True(t, m.rates.Trying(againFirst))
		assert.InDelta(t, 1000, m.Tokens.Rate, 1e-9)
	})
}

// A refusal of a call that left before a trial begins the pace of tokens. The end of the trial does not take it back.
func TestTokensThatAreFirstPacedInATrial(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100, CallRate: 8})
	calls := make([]Call, 160)
	for i := range calls {
		calls[i] = r.send(0.2 + float64(i)/4)
		if i < len(calls)-2 {
			r.Answered(calls[i].At+0.1, calls[i], Answer{Used: 100, InFlight: 5})
		}
	}
	r.Calls.Set(2, 30)
	r.rates.Fell(40-againFirst, 8)
	r.tick(40, false)
	require.True(t, r.rates.Trying(40))
	require.False(t, r.Tokens.On)
	r.Refused(40.1, calls[len(calls)-2], Refusal{})
	require.True(t, r.rates.Trying(40.1))
	paced := r.Tokens.Rate
	require.Greater(t, paced, 100.0)
	assert.InDelta(t, paced, r.Save().Tokens, 1e-9)
	r.Refused(41, r.send(40.5), Refusal{})
	require.False(t, r.rates.Trying(41))
	assert.InDelta(t, 2, r.Calls.Rate, 1e-9)
	assert.InDelta(t, paced, r.Tokens.Rate, 1e-9)
}

// No refusal has measured what headers let through. It is tried again if refusals refute them for a while.
func TestWhatHeadersLetThroughHasHeld(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	room := told(600, 5, 1)
	for _, c := range r.sendMany(60) {
		r.Answered(c.At+0.05, c, Answer{Used: 100, InFlight: 5, Calls: room})
	}
	for at := 60.1; !r.trust.Ignored(at); at += 0.1 {
		require.Less(t, at, 70.0)
		r.Answered(at, r.send(at), Answer{Used: 100, InFlight: 5, Calls: room})
		c := r.send(at + 0.01)
		r.Refused(at+0.05, c, Refusal{Calls: room})
	}
	assert.InDelta(t, 10, r.rates.held, 1)
	r.rates.Marked(70, 5, false)
	assert.True(t, r.rates.Due(80))
}

// Episodes of errors keep measurements from agreeing.
func TestARateThatWasAdmittedForLongHasHeld(t *testing.T) {
	for _, c := range []struct {
		name       string
		rate, span float64
		marks      int
		window     float64
		want       float64
	}{
		{"long enough", 1, 31, 1, 0, 1},
		{"for a short time", 20, heldFor - 1, 1, 0, 0},
		{"few calls", 1, 29, 1, 0, 0},
		{"the first rate, after a full bucket", 1, 31, 0, 0, 0},
		{"in a part of a window", 1, 31, 1, 60, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Initial: 10, Max: 100})
			for i := range int(c.rate * c.span) {
				r.send(float64(i+1) / c.rate)
			}
			r.Calls = Pacer{On: true, Rate: c.rate, cycle: cycleShortest, marks: c.marks}
			r.spans.Window = c.window
			r.cutPace(c.span, r.last, &Refusal{}, Rate{Calls: c.rate, Span: c.span})
			assert.InDelta(t, c.want, r.rates.held, 0.1)
		})
	}
}

// Where marks never agree, nothing replaces what held before a limit fell for good.
func TestTrialsOfWhatNeverComesBackStayRare(t *testing.T) {
	m := Memory{first: 30}
	m.Marked(0, 10, true)
	var trials []float64
	for now := 0.0; now < 2*hour; now++ {
		m.Marked(now, 3, false)
		if m.Due(now) {
			trials = append(trials, now)
			m.Begin(now, int64(now), 3)
			m.Refused(now, 0)
		}
	}
	assert.Equal(t, []float64{30, 90, 210, 450}, trials[:4])
	for i := range trials[4:] {
		assert.InDelta(t, remembered, trials[4+i]-trials[3+i], 1)
	}
	assert.Len(t, trials, 4+7)
	m.Marked(2*hour, 10, false)
	m.Marked(2*hour+500, 3, false)
	assert.True(t, m.Due(2*hour+530), "it had come back")
}

func TestATimeWithoutTrialsPostponesOnlyThoseThatWait(t *testing.T) {
	var m Memory
	m.Rest(10)
	assert.Zero(t, m.next)
	m = Memory{first: 2}
	m.Fell(0, 10)
	m.Rest(10)
	assert.False(t, m.Due(11.9))
	assert.True(t, m.Due(12))
}
