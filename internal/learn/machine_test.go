package learn

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// machineRun sends calls of 100 tokens through a machine, and notes what it decides.
type machineRun struct {
	*Machine
	decided []Decision
	last    Call
	shown   *shown
}

// shown is a bucket that headers report but that rejects no calls.
type shown struct{ rate, full, left float64 }

func (s *shown) refill(seconds float64) {
	if s != nil {
		s.left = min(s.full, s.left+seconds*s.rate)
	}
}

func (s *shown) take() {
	if s != nil {
		s.left = max(0, s.left-1)
	}
}

func (s *shown) tell() Told {
	if s == nil {
		return Told{}
	}
	return told(60*s.rate, math.Floor(s.left), (s.full-s.left)/s.rate)
}

func runMachine(c Config) *machineRun {
	r := &machineRun{}
	c.Decide = func(d Decision) { r.decided = append(r.decided, d) }
	if c.Max == 0 {
		c.Initial, c.Max = 10, 100
	}
	r.Machine = New(c)
	return r
}

func (r *machineRun) send(at float64) Call {
	r.last = Call{Seq: r.last.Seq + 1, At: at, Others: 5, Tokens: 100, Total: r.last.Total + 100}
	r.Sent(r.last)
	return r.last
}

// sendMany sends ten a second, from a tenth on until the moment until.
func (r *machineRun) sendMany(until float64) (calls []Call) {
	for i := 1; float64(i)/10 <= until; i++ {
		calls = append(calls, r.send(float64(i)/10))
	}
	return calls
}

// inUse has the calls be sent while many others were in flight.
func inUse(calls ...Call) []Call {
	for i := range calls {
		calls[i].Others = 49
	}
	return calls
}

// cutOnce has sent 20 calls and has the last of them refused at 2.1.
func cutOnce(c Config, refusal Refusal) *machineRun {
	r := runMachine(c)
	for _, call := range r.sendMany(2)[:19] {
		r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5})
	}
	r.Wait(2.1, 100, 5)
	r.Refused(2.1, r.last, refusal)
	return r
}

func (r *machineRun) count(k Kind) (n int) {
	for i := range r.decided {
		if r.decided[i].Kind == k {
			n++
		}
	}
	return n
}

func TestOneEpochOneCut(t *testing.T) {
	for _, c := range []struct {
		name string
		off  Rules
		at   float64 // when the last of three refused calls left
		want int
	}{
		{"all left before the first was heard", 0, 1.9, 1},
		{"at the moment of the cut", 0, 2.1, 1},
		{"one left after the cut", 0, 9, 2},
		{"left out", EpochRule, 1.9, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Off: c.off})
			calls := r.sendMany(2)
			r.Refused(2.1, calls[5], Refusal{Asked: 1})
			r.Refused(2.2, calls[10], Refusal{Asked: 1})
			last := calls[19]
			last.At = c.at
			r.Refused(c.at+2, last, Refusal{Asked: 1})
			assert.Equal(t, c.want, r.count(Cut))
		})
	}
}

func TestARefusalMeasuresTheRate(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1})
	assert.InDelta(t, 9.5, r.Calls.Rate, 0.6)
	assert.InDelta(t, 950, r.Tokens.Rate, 60)
	require.Len(t, r.decided, 1)
	d := r.decided[0]
	d.From = 0 // no pace was known
	assert.Equal(t, Decision{At: 2.1, Of: OfCalls, To: r.Calls.Pace(), Why: WhyRate}, d)
}

// Calls that are sent together arrive in any order, and the first refusal to be noticed may be
// that of any of them.
func TestTheFirstMarkIsCorrected(t *testing.T) {
	for _, c := range []struct {
		name    string
		heard   []int // which of 40 calls are refused, in this order
		again   float64
		off     Rules
		want    float64
		because Why
	}{
		{"all of the others got through", []int{0}, 1, 0, 39 / shortest, WhyFirst},
		{"half of the others got through", []int{1, 0, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37}, 1, 0, 20 / shortest, WhyFirst},
		{"the others are still out", []int{0}, 0.3, 0, 2 / shortest, WhyRate},
		{"too few got through", []int{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, 1, 0, 2 / shortest, WhyRate},
		{"it was right", []int{39}, 1, 0, 39 / shortest, WhyFirst},
		{"left out", []int{0}, 1, GrowthRule, 2 / shortest, WhyRate},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Off: c.off})
			var calls []Call
			for range 40 {
				calls = append(calls, r.send(0))
			}
			for _, i := range c.heard {
				r.Refused(0.01, calls[i], Refusal{Asked: 0.2})
			}
			r.Wait(c.again, 100, 5)
			r.send(c.again)
			assert.InEpsilon(t, c.want, r.Calls.Rate, 0.03)
			if c.because == WhyFirst {
				assert.InEpsilon(t, 100*c.want, r.Tokens.Rate, 0.03)
			}
			assert.Equal(t, c.because, r.decided[len(r.decided)-1].Why)
			assert.LessOrEqual(t, len(r.decided), 2, "once")
		})
	}
}

// The first pause may have been taken for a window. If few calls were admitted in as long a time, that shows no rate.
func TestAFewCallsInAWindowLowerThePaceByAThirdAtMost(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls int // in the window
		least bool
	}{
		{"a few", handful - 1, true},
		{"enough", handful + 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{}, Refusal{Asked: 1})
			r.Tokens = Pacer{}
			for i := range c.calls {
				call := r.send(12 + float64(i)/2)
				r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5})
			}
			r.Wait(19, 100, 5)
			window, floor := r.spans.Window, memoryFell*r.Calls.Pace()
			assert.InDelta(t, 12, window, 0.2)
			r.Refused(19.1, r.send(19), Refusal{Asked: 1})
			if c.least {
				assert.InDelta(t, floor, r.Calls.Rate, 1e-9)
			} else {
				assert.InDelta(t, float64(c.calls)/window, r.Calls.Rate, 0.1)
			}
		})
	}
}

// That two of four calls which leave at once get through says nothing about the rate. That the provider is then closed for four
// seconds shows that it is low: each of the four may have used quota.
func TestAFirstMarkOfAFewCallsIsMeasuredOverThePause(t *testing.T) {
	for _, c := range []struct {
		name         string
		sent         int
		asked, again float64
		off          Rules
		want         float64
	}{
		{"a low rate", 4, 4, 4.5, 0, (2 + 1 + 1) / 4.5},
		{"lower than that", 4, 4, 9, 0, (2 + 1 + 1) / 9.},
		{"a second may be any fraction, rounded up", 4, 1, 1.5, 0, 3 / shortest},
		{"it does not raise the rate", 4, 2, 0.55, 0, 3 / shortest},
		{"none got through", 2, 4, 4.5, 0, 2 / shortest},
		{"enough got through", 12, 4, 4.5, 0, 10 / shortest},
		{"left out", 4, 4, 4.5, GrowthRule, 3 / shortest},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Off: c.off})
			for range c.sent - 2 {
				r.send(0)
			}
			for _, call := range []Call{r.send(0), r.send(0)} {
				r.Refused(0.01, call, Refusal{Asked: c.asked})
			}
			r.send(c.again)
			assert.InEpsilon(t, c.want, r.Calls.Rate, 1e-9)
		})
	}
}

// A cap was taken for it before, so that far more calls have got through than those at first.
func TestALateMarkIsNotThatOfTheFirstCalls(t *testing.T) {
	r := runMachine(Config{})
	for i := range 100 {
		r.send(float64(i) / 10)
	}
	r.spans.begin = 60 // what was a window has ended
	r.Wait(60.1, 100, 5)
	r.Refused(60.2, r.send(60.1), Refusal{Asked: 1})
	require.True(t, r.Calls.On)
	r.Wait(70, 100, 5)
	r.send(70)
	assert.Zero(t, r.reasons(WhyFirst))
	assert.Less(t, r.Calls.Rate, 20.)
}

// A machine that begins late can be given what was sent before.
func TestWhatWentBefore(t *testing.T) {
	r := runMachine(Config{})
	for i := range int64(10) {
		r.Before(Call{Seq: 100 * i, At: float64(i), Total: float64(700 * i)})
	}
	r.last = Call{Seq: 900, Total: 6300}
	r.Refused(9.1, r.send(9), Refusal{Asked: 1})
	assert.InEpsilon(t, 100, r.Calls.Rate, 0.1)
	assert.InEpsilon(t, 700, r.Tokens.Rate, 0.1)
}

// The headers of a rejection account for the calls that were sent before there was a controller.
func TestWhatWentBeforeIsNoneOfWhatTheHeadersShow(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 200})
	var calls []Call
	for i := range int64(20) {
		calls = append(calls, Call{Seq: i + 1, Others: int(i), Tokens: 100, Total: float64(100 * (i + 1))})
		r.Before(calls[i])
	}
	empty := told(600, 0, 1)
	for _, c := range calls[10:] {
		r.Refused(0.2, c, Refusal{Asked: 1, Calls: empty, Tokens: told(60_000, 0, 1)})
	}
	r.last = calls[19]
	r.Wait(0.8, 100, 10)
	r.send(0.8)
	r.Wait(1.4, 100, 11)
	assert.NotEqual(t, ByHeaders, r.Bound(), "the bucket has been full since 1")
}

func TestTheGateIsForEverybody(t *testing.T) {
	for _, c := range []struct {
		name  string
		asked float64
		off   Rules
		until float64
		bound Bound
	}{
		{"as long as it asks", 3, 0, 5.1, ByGate},
		{"else about a call", 0, 0, 2.4, ByGate},
		{"left out", 3, GateRule, 2.1, ByCalls},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{Off: c.off | CapRule}, Refusal{Asked: c.asked})
			for _, inFlight := range []int{0, 5} {
				wait := r.Wait(2.1, 1, inFlight)
				assert.Equal(t, c.bound, r.Bound())
				assert.InDelta(t, c.until-2.1, wait, 0.12)
			}
			until := max(2.1, r.Door.Until)
			r.Wait(until+0.001, 1, 0)
			assert.NotEqual(t, ByGate, r.Bound())
			assert.Zero(t, r.Wait(until+1, 1, 0))
		})
	}
}

func TestStillShutProbesWithOneCall(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 2})
	rate := r.Calls.Rate
	for _, at := range []float64{5, 20} {
		r.Refused(at+0.1, r.send(at), Refusal{Asked: 2})
	}
	assert.Equal(t, 2, r.count(Gate))
	assert.Equal(t, WhyStillShut, r.decided[len(r.decided)-1].Why)
	assert.Equal(t, 1, r.count(Cut), "no new measurement")
	assert.InDelta(t, rate, r.Calls.Rate, 0)

	assert.Zero(t, r.Wait(60, 1, 0))
	probe := r.send(60)
	assert.Equal(t, 1, r.count(Probe))
	assert.Positive(t, r.Wait(60.1, 1, 0))
	assert.Equal(t, ByProbe, r.Bound(), "all wait for what becomes of it")

	for name, hear := range map[string]func(*machineRun) float64{
		"taken": func(r *machineRun) float64 {
			r.Answered(60.2, probe, Answer{Used: 100})
			return 60.2
		},
		"not refused in time": func(r *machineRun) float64 { return 60 + r.Door.RefusalTimeout() },
	} {
		t.Run(name, func(t *testing.T) {
			m := *r.Machine
			at := hear(&machineRun{Machine: &m})
			m.Wait(at, 1, 0)
			assert.NotEqual(t, ByProbe, m.Bound())
			assert.False(t, m.Door.Shut())
		})
	}
}

func TestATerminalRetryAfterTeachesNothing(t *testing.T) {
	for name, r := range map[string]*machineRun{
		"nothing is known": runMachine(Config{}),
		"a rate is":        cutOnce(Config{}, Refusal{Asked: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			c := r.send(10)
			before, bound, decided := r.Save(), r.InFlight(), len(r.decided)
			r.Closed(10, c, false)
			assert.Equal(t, before, r.Save())
			assert.Equal(t, bound, r.InFlight())
			assert.Len(t, r.decided, decided)
		})
	}
}

func TestOverloadsCutTheCallsInFlightAndNoRate(t *testing.T) {
	for _, c := range []struct {
		name string
		rate float64
	}{{"no rate is known, and none is learned", 0}, {"one is known, and stays", 10}} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Initial: 50, Max: 100, CallRate: c.rate})
			calls, pace := inUse(r.sendMany(1)...), r.Calls.Pace()
			r.Refused(1.1, calls[3], Refusal{Mild: true, Asked: 2})
			assert.Equal(t, 50, r.InFlight(), "one is an exception")
			r.Refused(1.2, calls[4], Refusal{Mild: true, Asked: 2})
			r.Refused(1.3, calls[5], Refusal{Mild: true, Asked: 2})
			assert.Equal(t, 45, r.InFlight(), "once an epoch")
			assert.InDelta(t, c.rate, r.Calls.Rate, 1e-9)
			assert.InDelta(t, pace, r.Calls.Pace(), 1e-9)
			assert.Equal(t, c.rate > 0, r.Calls.On)
			assert.GreaterOrEqual(t, r.Wait(1.3, 1, 0), 2.0)
			assert.Equal(t, []Decision{{At: 1.2, Of: OfFlight, From: 50, To: 45, Why: WhyOverload}}, r.decided)
			r.Refused(9.1, inUse(r.send(9))[0], Refusal{Mild: true})
			assert.Equal(t, 40, r.InFlight())
		})
	}
}

func TestOverloadsHalveTheCallsInFlightInTenSecondsAtMost(t *testing.T) {
	r := runMachine(Config{Initial: 50, Max: 100})
	least := r.InFlight()
	refuse := func(at float64) {
		r.Refused(at+0.1, inUse(r.send(at))[0], Refusal{Mild: true})
	}
	for at := 1.0; at < 10; at += 0.25 {
		refuse(at)
		least = min(least, r.InFlight())
	}
	assert.InDelta(t, 25, least, 1)
	for at := 12.0; at < 20; at += 0.25 {
		refuse(at)
	}
	assert.Less(t, r.InFlight(), 20, "and then on from there")
}

func TestAnOverloadNowAndThenChangesNothing(t *testing.T) {
	r := runMachine(Config{Initial: 50, Max: 100, CallRate: 10})
	for i, call := range r.sendMany(60) {
		if at := call.At + 0.1; i%30 == 0 {
			r.Refused(at, call, Refusal{Mild: true})
		} else {
			r.Answered(at, call, Answer{Used: 100, InFlight: 5})
		}
	}
	assert.Zero(t, r.count(Cut))
	assert.GreaterOrEqual(t, r.Calls.Pace(), 9.7)
}

func TestRefusalsThatKeepComingAreNotForeign(t *testing.T) {
	r := runMachine(Config{})
	calls := r.sendMany(2)
	for _, call := range calls[:19] {
		r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5})
	}
	r.Refused(2.1, calls[19], Refusal{Asked: 1}) // those of the rate say for how long
	foreign := func() (n int) {
		for _, d := range r.decided {
			if d.Why == WhyForeign {
				n++
			}
		}
		return n
	}
	for at := 5.0; at < 60; at += 0.5 {
		call := r.send(at)
		if int(2*at)%2 == 0 { // one of two gets through: the door stays open
			r.Refused(at+0.1, call, Refusal{})
			continue
		}
		r.Answered(at+0.1, call, Answer{Used: 100, InFlight: 5})
	}
	assert.Positive(t, foreign())
	assert.Greater(t, r.count(Cut), 1, "what never ends is answered by the pace")
}

func TestASignalCutsOnce(t *testing.T) {
	r := runMachine(Config{Initial: 40, Max: 100, CallRate: 1})
	r.Signal(2, 1)
	r.Signal(3, 1.5)
	r.Signal(3, 2)
	assert.Equal(t, 20, r.InFlight())
	assert.Equal(t, []Decision{{At: 2, Of: OfFlight, From: 40, To: 20, Why: WhySignal}}, r.decided)
	assert.InDelta(t, 1, r.Calls.Rate, 0, "no rate is learned")
	r.Signal(4, 2.5)
	assert.Equal(t, 10, r.InFlight(), "a new epoch")
}

// It counts as the signal of a call that left by the time that a call takes, which is a second at first.
func TestASignalFromTheFutureCutsOnceInTheTimeOfACall(t *testing.T) {
	r := runMachine(Config{Initial: 40, Max: 100, CallRate: 1})
	for now, want := range []int{20, 20, 10, 10} {
		at := 2 + 0.6*float64(now)
		r.Signal(at, at+hour)
		assert.Equal(t, want, r.InFlight(), "at %v", at)
	}
}

func TestCallsFromBeforeTheMachineBegan(t *testing.T) {
	early := Call{Seq: 50, At: -1, Others: 3, Tokens: 100, Total: 5000}
	for name, hear := range map[string]func(*Machine){
		"unsent":   func(m *Machine) { m.Unsent(early) },
		"answered": func(m *Machine) { m.Answered(1, early, Answer{Used: 10}) },
		"refused":  func(m *Machine) { m.account(1, early, &Refusal{}) },
	} {
		for _, begun := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				m := New(Config{Initial: 10, Max: 100, CallRate: 1, TokenRate: 100})
				if begun {
					m.Sent(Call{Seq: 100, At: 0.5, Tokens: 100, Total: 10000})
				}
				calls, tokens, uncharged := m.Calls, m.Tokens, m.quota.uncharged
				hear(m)
				assert.Equal(t, calls, m.Calls, "they were not charged here")
				assert.Equal(t, tokens, m.Tokens)
				assert.Equal(t, uncharged, m.quota.uncharged)
			})
		}
	}
}

func TestUnsentUndoes(t *testing.T) {
	r := runMachine(Config{CallRate: 1, TokenRate: 1000})
	r.Answered(0.1, r.send(0), Answer{Used: 100, Calls: told(60, 5, 30)})
	require.Zero(t, r.Wait(10, 100, 0))
	calls, tokens := r.Calls, r.Tokens
	sent := r.tally.total.Calls
	for range 20 {
		r.Unsent(r.send(10))
	}
	assert.Equal(t, calls, r.Calls)
	assert.Equal(t, tokens, r.Tokens)
	assert.InDelta(t, sent, r.tally.total.Calls, 0)
	assert.Zero(t, r.Wait(10, 100, 0), "nor do the headers count them")
	for range turnsDeep {
		r.send(10)
	}
	assert.Positive(t, r.Wait(10, 100, 0))
}

func TestSavedGoesOn(t *testing.T) {
	all := Saved{
		InFlight: 12, Claimed: true, Calls: 5, Tokens: 500, Trip: 3, Refusal: 0.4,
		PerCall: 90, Noise: 0.02, Window: 60, Short: 0.5, Long: 2,
	}
	m := New(Config{Initial: 1, Max: 100, Saved: all})
	assert.Equal(t, all, m.Save())
	assert.Equal(t, 12, m.InFlight())
	assert.InDelta(t, 5*margin, m.Calls.Pace(), 1e-9)
	assert.Equal(t, Saved{Trip: 1, Refusal: firstTrip}, New(Config{Initial: 1, Max: 9}).Save(), "nothing was learned")

	learned := cutOnce(Config{}, Refusal{Asked: 1}).Save()
	assert.Positive(t, learned.Calls)
	assert.Equal(t, learned, New(Config{Initial: 1, Max: 100, Saved: learned}).Save())
}

func TestNonsenseInSavedIsBounded(t *testing.T) {
	filled := func(v float64) Saved {
		return Saved{
			InFlight: v, Claimed: true, Calls: v, Tokens: v, Trip: v, Refusal: v,
			PerCall: v, Noise: v, Window: v, Short: v, Long: v,
		}
	}
	for _, v := range []float64{-1, -1e300, 1e-300, 1e12, 1e300, math.MaxFloat64} {
		m := New(Config{Initial: 10, Max: 100, Saved: filled(v)})
		s := m.Save()
		assert.LessOrEqual(t, s.InFlight, 100.0, "%v", v)
		assert.LessOrEqual(t, s.Trip, float64(mostTrip))
		assert.Positive(t, s.Trip)
		assert.LessOrEqual(t, s.Refusal, 60.0)
		assert.Positive(t, s.Refusal)
		assert.LessOrEqual(t, s.Noise, noisy)
		assert.LessOrEqual(t, s.Window, 86400.0)
		assert.True(t, s.Window == 0 || s.Window >= interruption, "%v", v)
		for _, factor := range []float64{s.Short, s.Long} {
			assert.True(t, factor == 0 || factor >= shortestLie && factor <= longestLie, "%v", v)
		}
		assert.GreaterOrEqual(t, min(s.PerCall, s.Noise), 0.0, "%v", v)
		for _, p := range []*Pacer{&m.Calls, &m.Tokens} {
			assert.False(t, math.IsInf(p.Pace(), 0) || p.Pace() > 2*mostRate, "%v: %v", v, p.Pace())
		}
		assert.LessOrEqual(t, s.PerCall, float64(mostRate))
		assert.LessOrEqual(t, m.InFlight(), 100)
		assert.GreaterOrEqual(t, m.InFlight(), 1)
		wait := m.Wait(1, 1, 0)
		assert.False(t, math.IsNaN(wait) || wait < 0 || wait > 1.1/leastRate, "%v: %v", v, wait)
	}
}

func TestDecisionsGiveTheirReasons(t *testing.T) {
	seen := map[string]bool{}
	for why := range Why(len(reasons)) {
		d := Decision{Why: why}
		if why == WhySignal {
			assert.Empty(t, d.Reason(), "whoever signals says why")
			continue
		}
		assert.NotEmpty(t, d.Reason())
		assert.False(t, seen[d.Reason()], "one of its own")
		seen[d.Reason()] = true
	}
}

func TestTheFirstRefusalWithoutALabelIsTakenForACap(t *testing.T) {
	for _, c := range []struct {
		name    string
		off     Rules
		refusal Refusal
		claimed bool
	}{
		{"no label", 0, Refusal{}, true},
		{"a Retry-After", 0, Refusal{Asked: 1}, false},
		{"it names the cap", 0, Refusal{Asked: 1, Names: FlightLimit}, true},
		{"left out", CapRule, Refusal{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{Off: c.off}, c.refusal)
			assert.Equal(t, c.claimed, r.Flight.Claimed)
			assert.Equal(t, !c.claimed, r.Calls.On)
			if c.claimed {
				assert.Equal(t, 5, r.InFlight())
			}
		})
	}
	full := Told{Known: true, Limit: 60, Remaining: 30}
	told := cutOnce(Config{Blind: true}, Refusal{Names: FlightLimit, Calls: full})
	assert.True(t, told.Flight.Claimed, "what a refusal names is no header")
	assert.False(t, told.quota.Known(), "what it tells beside it is")
}

func TestARefusalThatNamesARate(t *testing.T) {
	full, empty := Told{Known: true, Limit: 60, Remaining: 30}, Told{Known: true, Limit: 60}
	manyTokens := Told{Known: true, Limit: 6000, Remaining: 100}
	for _, c := range []struct {
		name    string
		off     Rules
		refusal Refusal
		want    verdict
	}{
		{"of calls", 0, Refusal{Names: CallLimit}, isRate},
		{"of tokens", 0, Refusal{Names: TokenLimit}, isRate},
		{"with a Retry-After", 0, Refusal{Names: CallLimit, Asked: 1}, isRate},
		{"that is used up", 0, Refusal{Names: CallLimit, Calls: empty, Tokens: manyTokens}, isRate},
		{"that no meter tells of", 0, Refusal{Names: CallLimit, Tokens: manyTokens}, isRate},
		{"with calls left", 0, Refusal{Names: CallLimit, Calls: full}, isNothing},
		{"with too few tokens left", 0, Refusal{Names: TokenLimit, Calls: full, Tokens: Told{Known: true, Limit: 6000, Remaining: 99}}, isRate},
		{"with tokens left", 0, Refusal{Names: TokenLimit, Tokens: manyTokens}, isNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{Off: c.off}, c.refusal)
			assert.Equal(t, c.want == isCap, r.Flight.Claimed)
			assert.Equal(t, c.want == isRate, r.Calls.On)
			assert.Equal(t, c.want == isRate && c.refusal.Names != CallLimit, r.Tokens.On)
		})
	}
	others := cutOnce(Config{}, Refusal{Asked: 1})
	others.Answered(8.1, others.send(8), Answer{Used: 100, InFlight: 5})
	others.Refused(9.1, others.send(9), Refusal{Names: CallLimit})
	assert.Equal(t, WhyRate, others.decided[len(others.decided)-1].Why, "a name is enough, also without a Retry-After")
}

func TestANameIsNotBelievedForEver(t *testing.T) {
	r := runMachine(Config{})
	epoch := func() {
		for range 40 {
			call := r.send(r.last.At + 0.5)
			call.Others = 3
			r.Answered(call.At+0.2, call, Answer{Used: 100, InFlight: 3})
		}
		call := r.send(r.last.At + 0.5)
		r.Wait(call.At, 100, 5)
		r.Refused(call.At+0.1, call, Refusal{Names: CallLimit})
	}
	for range enough - 1 {
		epoch()
		assert.False(t, r.Flight.Claimed)
	}
	epoch()
	assert.True(t, r.Flight.Claimed)
	assert.InDelta(t, 5, r.Flight.level, 0)
}

func TestARefusalThatNamesCallsMarksNoTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		names  Limit
		tokens bool
	}{
		{"neither", Unnamed, true},
		{"calls", CallLimit, false},
		{"tokens", TokenLimit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{}, Refusal{Asked: 1})
			r.Tokens.fast, r.Calls.fast = 0, 0
			calls, tokens := r.Calls.Rate, r.Tokens.Rate
			for range 19 {
				call := r.send(r.last.At + 1)
				r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5})
			}
			call := r.send(r.last.At + 1)
			r.Wait(call.At, 100, 5)
			from := r.Calls.Pace()
			r.Refused(call.At+0.1, call, Refusal{Asked: 1, Names: c.names})
			assert.Less(t, r.Calls.Rate, calls)
			assert.Equal(t, c.tokens, r.Tokens.Rate < tokens, "%v", r.Tokens.Rate)
			d := r.decided[len(r.decided)-1]
			assert.Equal(t, Decision{At: call.At + 0.1, Of: OfCalls, From: from, To: r.Calls.Pace(), Why: WhyRate}, d)
		})
	}
}

func TestALimitOnTokensThatNobodyCounts(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1})
	before, tokens := r.Calls.Rate, r.Tokens.Rate
	for range 20 {
		call := r.send(r.last.At + 1)
		r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5})
	}
	call := r.send(r.last.At + 1)
	call.Tokens = 0
	r.Refused(call.At+0.1, call, Refusal{Names: TokenLimit, Asked: 1})
	assert.Less(t, r.Calls.Rate, before)
	assert.InDelta(t, tokens, r.Tokens.Rate, 0)
}

func TestWhatHoldsBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		rate     float64
		tokens   float64
		inFlight int
		sent     int
		want     Bound
	}{
		{"nothing", 1, 1000, 0, 0, Free},
		{"calls in flight", 0, 0, 10, 0, ByFlight},
		{"calls", 1, 1e6, 0, 5, ByCalls},
		{"tokens", 100, 10, 0, 5, ByTokens},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{CallRate: c.rate, TokenRate: c.tokens})
			r.Wait(1000, 100, 0)
			for range c.sent {
				r.send(1000)
			}
			wait := r.Wait(1000, 100, c.inFlight)
			assert.Equal(t, c.want, r.Bound())
			assert.Equal(t, c.want != Free, wait > 0)
		})
	}
}

func TestAMachineIsSmall(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Machine{}), uintptr(64<<10))
}

func TestNoCallAllocates(t *testing.T) {
	n := 0
	m := New(Config{Initial: 10, Max: 100, Decide: func(Decision) { n++ }})
	c := Call{Others: 5, Tokens: 100}
	step := func(hear func(now float64)) func() {
		return func() {
			c.Seq++
			c.At++
			c.Total += 100
			m.Wait(c.At, 100, 3)
			m.Sent(c)
			hear(c.At + 0.5)
			m.Slack(c.At + 0.6)
		}
	}
	for name, f := range map[string]func(now float64){
		"answered": func(now float64) {
			m.Answered(now, c, Answer{Used: 50, Calls: told(60, 50, 10), Tokens: told(6000, 500, 60)})
		},
		"refused":  func(now float64) { m.Refused(now, c, Refusal{Asked: 0.1}) },
		"no label": func(now float64) { m.Refused(now, c, Refusal{}) },
		"overload": func(now float64) { m.Refused(now, c, Refusal{Mild: true}) },
		"unsent":   func(float64) { m.Unsent(c) },
		"signal":   func(now float64) { m.Signal(now, c.At) },
		"closed":   func(now float64) { m.Closed(now, c, true) },
		"saved":    func(float64) { m.Save() },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, step(f)), name)
	}
	assert.Positive(t, n)
}

// A window of 20 calls opens at 60. The first call that it lets in is followed by
// one too many, and its refusal arrives before the answer to the first.
func TestARefusalMayBeHeardBeforeTheAnswerThatOpensTheDoor(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 58})
	r.Wait(60.1, 100, 0)
	first := r.send(60.1)
	for i := range 8 {
		r.send(60.1 + float64(i+1)/100)
	}
	last := r.send(60.2)
	r.Refused(60.3, last, Refusal{Asked: 1})
	assert.InDelta(t, 60, r.spans.Window, 0.2, "from the first call of the first window to the first of the next")
	assert.Greater(t, r.Calls.Rate, 0.3)
	r.Answered(62, first, Answer{Used: 100})
	assert.InDelta(t, 60, r.spans.Window, 0.2)
}

// A rejected probe is not the call that ended the pause.
func TestARefusedProbeEndsNoClosure(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 28})
	r.Wait(31, 100, 0)
	r.Refused(31.1, r.send(31), Refusal{Asked: 31}) // still shut
	r.Wait(62.2, 100, 0)
	for i := range 9 {
		r.send(62.2 + float64(i)/100)
	}
	r.Refused(62.4, r.send(62.3), Refusal{Asked: 1})
	assert.InDelta(t, 62.1, r.spans.Window, 0.2)
	assert.InDelta(t, 19/62.1, r.Calls.Rate, 0.1, "not counting what was sent after the opening")
}

func TestSlowDownWithATerminalWaitCountsToo(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1})
	r.Closed(3, r.send(3), true)
	assert.InDelta(t, 3+SlowFor, r.slowBy, 1e-9)
}

// The bound does not grow meanwhile, so there is nothing to wake up for.
func TestNobodyWakesUpWhileGrowthIsStopped(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1, Names: FlightLimit})
	r.Wait(3.5, 100, r.InFlight())
	r.Refused(3.6, r.send(3.5), Refusal{Asked: 1, Names: FlightLimit, Slow: true})
	now := 10.0
	assert.GreaterOrEqual(t, r.Wait(now, 100, r.InFlight()), 3.6+SlowFor-now)
	assert.Equal(t, ByFlight, r.Bound())
}

func TestSlowDownStopsGrowthForAQuarterOfAnHour(t *testing.T) {
	for _, c := range []struct {
		name  string
		slow  bool
		after float64
		want  bool // it grows
	}{
		{"a refusal like any other", false, 100, true},
		{"asked to slow down", true, 100, false},
		{"almost a quarter of an hour ago", true, 890, false},
		{"a quarter of an hour ago", true, 1100, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cutOnce(Config{}, Refusal{Asked: 1, Slow: c.slow})
			r.Refused(4, r.send(3.5), Refusal{Asked: 1, Slow: c.slow})
			at := r.Calls.Pace()
			for now := 5.0; now < c.after; now += 0.05 {
				if r.Wait(now, 100, 1) == 0 {
					call := r.send(now)
					r.Answered(now, call, Answer{Used: 100, InFlight: 1})
				}
			}
			assert.Equal(t, c.want, r.Calls.Pace() > 1.02*at, "%.2f, was %.2f", r.Calls.Pace(), at)
		})
	}
}

// What a window explains is no noise, however far the pace had fallen before.
func TestAWindowThatIsMeasuredExplainsWhatWasRefused(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1})
	r.noise.unexplained = 3
	r.spans = Spans{begin: 1, shut: 20}
	r.Calls.Set(100, 20)
	r.opened(61)
	assert.Zero(t, r.noise.unexplained)
}

// What speaks against a claim, and how a bound hovers, is left out with the rest.
func TestEveryPieceIsToldWhatIsLeftOut(t *testing.T) {
	for _, rule := range AllRules() {
		m := New(Config{Initial: 1, Max: 2, Off: rule})
		for _, off := range []Rules{m.off, m.Door.off, m.quota.off, m.Calls.off, m.Tokens.off, m.claim.off} {
			assert.Equal(t, rule, off)
		}
	}
}

func TestAClaimWithoutTheRules(t *testing.T) {
	k, x := claimedAtTen(400)
	k.off, x.Others = CapRule, 0
	for range 5 {
		assert.True(t, k.Weigh(x, x.At-9, 1, true))
	}
	k.scatter = 1
	k.weighCrowd(x)
	assert.EqualValues(t, 1, k.scatter)
}

// Marks within 5 % agree.
func TestMarksOfASteadyRateAgree(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 1})
	now := 2.1
	mark := func() {
		pace := r.Calls.Pace()
		for range 100 {
			now += margin / pace
			r.Wait(now, 100, 0)
			r.send(now)
		}
		r.Refused(now, r.last, Refusal{Asked: 0.1})
	}
	mark()
	assert.False(t, r.calm.Agreed())
	for range 3 {
		mark()
	}
	assert.True(t, r.calm.Agreed())
}

func TestTheBoundInFlightDoesNotGrowEither(t *testing.T) {
	for _, slow := range []bool{false, true} {
		r := cutOnce(Config{}, Refusal{Asked: 1, Slow: slow})
		r.Flight.Hover(10)
		before := r.Flight.Hovers()
		call := r.send(5)
		r.Answered(6, call, Answer{Used: 100, InFlight: 9})
		assert.Equal(t, slow, r.Flight.Hovers() == before)
	}
}

// A documented quota goes until the first rejection, whatever that is of.
func TestARejectionEndsWhatIsSaved(t *testing.T) {
	for name, names := range map[string]Limit{"a rate": CallLimit, "a cap": FlightLimit} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{Initial: 32, Max: 32, CallRate: 1, CallBurst: 60, Few: 32})
			assert.True(t, r.Calls.Saves(1))
			r.Refused(0.1, r.send(0), Refusal{Names: names})
			assert.False(t, r.Calls.Saves(1))
		})
	}
}

// A process that sleeps for an hour while a call waits has not held it back for an hour.
func TestAProcessThatSleepsDoesNotGrow(t *testing.T) {
	for name, c := range map[string]struct {
		late  float64
		grows bool
	}{"a late timer": {1, true}, "it slept": {hour, false}} {
		r := runMachine(Config{CallRate: 10})
		for r.Wait(1, 100, 1) == 0 {
			r.send(1)
		}
		r.Wait(1.1+c.late, 100, 1)
		assert.Equal(t, c.grows, r.Calls.active > 0, name)
	}
}

// An estimate far above those before it is likely to be wrong, and would hold all others back for as long as its tokens take.
func TestAHugeCallDelaysNoneForLong(t *testing.T) {
	for name, c := range map[string]struct {
		known   bool
		longest float64
	}{"the rate is documented": {true, 4 * 60}, "it was measured, maybe on smaller calls": {false, 10}} {
		t.Run(name, func(t *testing.T) {
			waits := func(tokens ...float64) (waited []float64) {
				m := New(Config{Initial: 10, Max: 100, CallRate: 10, TokenRate: 100})
				m.Tokens.expected = c.known
				now, total := 0.0, 0.0
				for i, n := range tokens {
					began := now
					for d := m.Wait(now, n, 0); d > 0; d = m.Wait(now, n, 0) {
						now += d
					}
					total += n
					m.Sent(Call{Seq: int64(i + 1), At: now, Tokens: n, Total: total})
					waited = append(waited, now-began)
				}
				return waited
			}
			huge := waits(10, 1e6, 10, 1e6)
			assert.InDelta(t, c.longest, huge[1], c.longest*rare)
			assert.Less(t, huge[2], 1.0)
			assert.LessOrEqual(t, huge[3], c.longest, "the pace has grown meanwhile")
		})
	}
}

// The burst of a preset's tokens is used up by what calls reserve, however large they are.
func TestLargeCallsUseUpTheBurstOfTokens(t *testing.T) {
	m := New(Config{Initial: 100, Max: 100, CallRate: 8, TokenRate: 500, TokenBurst: 30_000, CallBurst: 10, Few: 32})
	var sent float64
	for now := 0.0; now < minute; now++ {
		for m.Wait(now, 20_000, 0) <= 0 {
			sent++
			m.Sent(Call{Seq: int64(sent), At: now, Tokens: 20_000, Total: 20_000 * sent})
		}
	}
	assert.LessOrEqual(t, sent, 3.0, "60,000 tokens in a minute")
}

// What was charged for it is returned, and no more.
func TestAHugeCallReturnsWhatItWasChargedFor(t *testing.T) {
	const rate = 100.0
	for name, end := range map[string]func(*Machine, Call){
		"it is answered": func(m *Machine, c Call) { m.Answered(300, c, Answer{Used: 10}) },
		"it is refused":  func(m *Machine, c Call) { m.Refused(300, c, Refusal{Mild: true}) },
		"it is not sent": func(m *Machine, c Call) { m.Unsent(c) },
	} {
		t.Run(name, func(t *testing.T) {
			m := New(Config{Initial: 10, Max: 100, CallRate: 10, TokenRate: rate})
			for seq := int64(1); seq <= 10; seq++ {
				c := Call{Seq: seq, At: float64(seq), Tokens: 10, Total: 10 * float64(seq)}
				m.Sent(c)
				m.Answered(c.At+0.5, c, Answer{Used: 10})
			}
			before := m.Tokens.level
			huge := Call{Seq: 11, At: 11, Tokens: 1e6, Total: 1e6 + 100}
			m.Sent(huge)
			assert.InDelta(t, before-4*60*rate, m.Tokens.level, 2*rate)
			end(m, huge)
			assert.InDelta(t, before, m.Tokens.level, 4*rate)
		})
	}
}

// If calls usually take as much, it is no error.
func TestCallsThatAreAllHugeWaitForTheirTokens(t *testing.T) {
	m := New(Config{Initial: 10, Max: 100, CallRate: 10, TokenRate: 100})
	for seq := int64(1); seq <= 30; seq++ {
		c := Call{Seq: seq, At: float64(seq), Tokens: 60_000, Total: 60_000 * float64(seq)}
		m.Sent(c)
		m.Answered(c.At, c, Answer{Used: 60_000})
	}
	assert.InDelta(t, 60_000, m.paced(60_000), 1e-9)
	assert.Less(t, m.paced(1e6), 4*60_000.0)
}
