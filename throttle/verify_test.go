package throttle

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
)

// make test runs a million calls for each WindowKind without the race detector,
// which has nothing to find in a single goroutine and takes thirty times as
// long, and make verify a hundred million.
var (
	verifyCalls = flag.Int("calls", 20_000, "virtual calls for each WindowKind")
	verifySeeds = flag.Int("seeds", 8, "seeds they are divided among")
)

// Virtual calls by the million for each WindowKind, with weights, several windows,
// waiters, settlements, cancels and resizes: the judge, which shares no code
// with the limiter, finds no interval that held too much.
func TestNoWindowIsEverExceeded(t *testing.T) {
	for name, kinds := range map[string][]WindowKind{
		"sliding": {SlidingWindow, SlidingWindow},
		"bucket":  {TokenBucket, TokenBucket},
		"fixed":   {CalendarWindow, CalendarWindow},
		"mixed":   {SlidingWindow, TokenBucket, CalendarWindow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, judged, exceeded := 0, 0, 0
			for seed := range *verifySeeds {
				x := newTrial(t, rand.NewPCG(uint64(seed), 1), kinds)
				for _, rule := range x.run(max(1, *verifyCalls / *verifySeeds)) {
					judged += rule.Judged
					exceeded += rule.Violations
				}
				calls += x.calls
			}
			t.Logf("scorecard: row=1 algorithms=1 seeds=%d calls=%d judged=%d exceeded=%d", *verifySeeds, calls, judged, exceeded)
		})
	}
}

// trial drives a limiter in virtual time, as its callers and its timer would,
// and tells the judge of everything.
type trial struct {
	t       *testing.T
	rnd     *rand.Rand
	clock   *handClock
	begin   time.Time
	periods []time.Duration
	most    []int64
	rates   []int64 // of buckets, for each period: credit at one rate is no measure for another
	lim     *Limiter
	judge   *oracle.Auditor

	calls   int
	open    []openCall
	waiting []*waiter
	tickets map[*waiter]int64
	ticket  int64 // of the last to arrive
}

type openCall struct {
	permit Permit
	entry  int // in the judge's log
	cost   Cost
}

// handClock is moved by hand; its timers never fire.
type handClock struct {
	clockwork.Clock
	now time.Time
}

func (c *handClock) Now() time.Time                  { return c.now }
func (c *handClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }
func (c *handClock) AfterFunc(time.Duration, func()) clockwork.Timer {
	return clockwork.NewFakeClock().NewTimer(time.Hour)
}

func newTrial(t *testing.T, from rand.Source, kinds []WindowKind) *trial {
	t.Helper()
	begin := time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC)
	x := &trial{
		t: t, rnd: rand.New(from),
		clock: &handClock{now: begin}, begin: begin, tickets: map[*waiter]int64{},
	}
	lim := Limits{Concurrency: 1 + x.rnd.IntN(20)}
	rules := []oracle.Rule{oracle.FIFO(), oracle.Concurrency(int64(lim.Concurrency))}
	for i, kind := range kinds {
		x.periods = append(x.periods, time.Duration(1+x.rnd.IntN(200))*5*time.Millisecond)
		x.rates = append(x.rates, 1+x.rnd.Int64N(400))
		x.most = append(x.most, 0)
		w, r := x.window(kind, Unit(i))
		lim.Windows = append(lim.Windows, w)
		rules = append(rules, r)
	}
	l, err := New(lim, WithClock(x.clock))
	require.NoError(t, err)
	x.lim, x.judge = l, oracle.NewAuditor(rules...)
	return x
}

// window draws a window of the kind, and the rule to judge it by.
func (x *trial) window(kind WindowKind, u Unit) (Window, oracle.Rule) {
	per, rate := x.periods[u], x.rates[u]
	most := int64(1 + x.rnd.IntN(40))
	switch {
	case u == Tokens:
		most *= 40
	case x.rnd.IntN(4) == 0:
		most *= 100 // quantised
	}
	x.most[u] = most
	switch kind {
	case TokenBucket:
		rounding := 5 * time.Nanosecond
		return Bucket(float64(rate)/per.Seconds(), most).Of(u),
			oracle.Bucket(int(u), rate, per, most).WithSlack(maxLateness + rounding)
	case CalendarWindow:
		return Fixed(most, per, x.begin).Of(u), oracle.Fixed(int(u), most, per, x.begin, x.begin)
	case SlidingWindow:
	}
	return Sliding(most, per).Of(u), oracle.Sliding(int(u), most, per)
}

func (x *trial) now() time.Duration { return x.clock.now.Sub(x.begin) }

func (x *trial) run(calls int) []oracle.Tally {
	x.t.Helper()
	for x.calls < calls {
		x.step()
		x.collect()
	}
	for len(x.open)+len(x.waiting) > 0 {
		for len(x.open) > 0 {
			x.release(0)
		}
		x.clock.now = x.clock.now.Add(time.Second)
		x.lim.Update(nil)
		x.collect()
	}
	v := x.judge.Verdict()
	require.NoError(x.t, v.Err())
	for _, rule := range v.Tallies {
		require.True(x.t, calls < 1000 || 2*rule.Judged >= calls, "hardly anything was judged by %s", rule.Rule)
	}
	s := x.lim.Stats()
	require.Zero(x.t, s.InFlight+s.Waiting, "a permit or a waiter leaked")
	require.Equal(x.t, int64(x.calls), s.Admitted)
	return v.Tallies
}

// must is require.True for what is asked millions of times.
func (x *trial) must(ok bool) {
	if !ok {
		x.t.Helper()
		x.t.FailNow()
	}
}

func (x *trial) step() {
	switch op := x.rnd.IntN(100); {
	case op < 40 && len(x.waiting) < 16:
		x.arrive()
	case op < 50:
		x.clock.now = x.clock.now.Add(time.Duration(x.rnd.Int64N(int64(3 * time.Millisecond))))
	case op < 57:
		x.clock.now = x.clock.now.Add(time.Duration(x.rnd.Int64N(int64(x.periods[0]))))
	case op < 70:
		x.lim.Update(nil) // as the timer does, late
	case op < 97 && len(x.open) > 0:
		x.endAny()
	case op < 98 && len(x.waiting) > 0:
		x.giveUp()
	case op == 99 && x.rnd.IntN(20) == 0:
		x.resize()
	}
}

// cost draws a cost that fits.
func (x *trial) cost() Cost {
	c := Cost{Tokens: x.rnd.Int64N(40), Input: x.rnd.Int64N(30)}
	if x.rnd.IntN(3) == 0 {
		c.Requests = min(x.rnd.Int64N(4), x.most[Requests])
	}
	c.Tokens = min(max(c.Tokens, 1), x.most[Tokens])
	if len(x.most) > 2 {
		c.Input = min(c.Input, x.most[InputTokens])
	}
	return c
}

func (x *trial) arrive() {
	x.ticket++
	c := x.cost()
	if x.rnd.IntN(2) == 0 {
		if p, err := x.lim.TryAcquire(c); err == nil {
			x.collect() // late calls were admitted first
			x.note(p, x.ticket)
		}
		return
	}
	w, p, err := x.lim.enter(x.t.Context(), c, true)
	x.must(err == nil)
	x.collect()
	if w == nil {
		x.note(p, x.ticket)
		return
	}
	x.waiting = append(x.waiting, w)
	x.tickets[w] = x.ticket
	x.collect()
}

// collect records which calls were admitted since, in order.
func (x *trial) collect() {
	x.waiting = slices.DeleteFunc(x.waiting, func(w *waiter) bool {
		select {
		case <-w.ready:
		default:
			return false
		}
		if w.err == nil { // else it never fits the new limits
			x.note(w.permit, x.tickets[w])
		}
		delete(x.tickets, w)
		x.lim.queue.put(w)
		return true
	})
}

func (x *trial) note(p Permit, ticket int64) {
	s, ok := p.Sent()
	x.must(ok)
	x.calls++
	i := x.judge.Add(oracle.Entry{At: x.now(), Weights: weights(s.Cost.amounts()), Ticket: ticket})
	x.open = append(x.open, openCall{p, i, s.Cost})
}

func weights(a amounts) (w oracle.Weights) {
	copy(w[:], a[:])
	return w
}

func (x *trial) endAny() {
	i := x.rnd.IntN(len(x.open))
	switch x.rnd.IntN(4) {
	case 0:
		x.end(i, Permit.Cancel, amounts{})
	case 1:
		used := x.cost()
		x.end(i, func(p Permit) { p.Settle(used) }, used.amounts())
	default:
		x.release(i)
	}
}

func (x *trial) release(i int) { x.end(i, Permit.Release, x.open[i].cost.amounts()) }

// end informs the judge before the limiter, which may admit others at once. Calls
// with a late timer come first.
func (x *trial) end(i int, f func(Permit), used amounts) {
	x.lim.Update(nil)
	x.collect()
	call := x.open[i]
	x.open[i] = x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	var back, debit oracle.Weights
	for u, reserved := range call.cost.amounts() {
		back[u], debit[u] = max(0, reserved-used[u]), max(0, used[u]-reserved)
	}
	x.judge.Add(oracle.Entry{At: x.now(), Kind: oracle.End, Of: call.entry})
	x.judge.Add(oracle.Entry{At: x.now(), Kind: oracle.GiveBack, Of: call.entry, Weights: back})
	x.judge.Add(oracle.Entry{At: x.now(), Kind: oracle.Debit, Weights: debit})
	f(call.permit)
}

func (x *trial) giveUp() {
	i := x.rnd.IntN(len(x.waiting))
	w := x.waiting[i]
	x.must(x.lim.leave(w, nil))
	delete(x.tickets, w)
	x.waiting = slices.Delete(x.waiting, i, i+1)
}

// resize changes everything but the periods and the rates.
func (x *trial) resize() {
	lim := Limits{Concurrency: 1 + x.rnd.IntN(20)}
	to := oracle.Concurrency(int64(lim.Concurrency))
	x.judge.Add(oracle.Entry{At: x.now(), Kind: oracle.Resize, Of: 1, To: &to})
	for i, w := range x.lim.Limits().Windows {
		w, rule := x.window(w.Kind(), w.Unit())
		lim.Windows = append(lim.Windows, w)
		x.judge.Add(oracle.Entry{At: x.now(), Kind: oracle.Resize, Of: i + 2, To: &rule})
	}
	require.NoError(x.t, x.lim.SetLimits(lim))
}
