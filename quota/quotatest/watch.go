package quotatest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// clockKey is an unlimited key: its tickets show the store's time.
const clockKey = "the clock"

// watch asks a store and judges each answer by its books.
type watch struct {
	testing.TB
	s       Subject
	handles []quota.Store
	turn    int
	books   map[string]*book
	tickets map[string]bool
	last    map[string]int64 // when the last ticket on a key was taken
	uses    bool             // ask for them
}

func newWatch(tb testing.TB, s Subject) *watch {
	tb.Helper()
	if s.Store == nil || s.Pass == nil {
		tb.Fatalf("quotatest: a Subject needs a Store and Pass")
	}
	if s.Epoch.IsZero() {
		s.Epoch = time.Unix(0, 0)
	}
	if s.patience == 0 {
		s.patience = 5 * time.Second
	}
	w := &watch{TB: tb, s: s, handles: []quota.Store{s.Store}, books: map[string]*book{}, tickets: map[string]bool{}, last: map[string]int64{}}
	if s.Peer != nil {
		w.handles = append(w.handles, s.Peer())
	}
	return w
}

// close judges what was admitted in all.
func (w *watch) close() {
	w.Helper()
	for key, b := range w.books {
		if err := b.verdict(); err != nil {
			w.Errorf("%s: %v", key, err)
		}
	}
}

// store is the handles in turn.
func (w *watch) store() quota.Store {
	w.turn++
	return w.handles[w.turn%len(w.handles)]
}

// must ends the test if a step failed that cannot.
func (w *watch) must(err error, step string) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", step, err)
	}
}

func (w *watch) check(ok bool, format string, args ...any) {
	w.Helper()
	if !ok {
		w.Errorf(format, args...)
	}
}

// now is the store's time.
func (w *watch) now() int64 {
	w.Helper()
	g, err := w.store().Take(w.Context(), quota.Request{Demands: []quota.Demand{{Key: clockKey}}})
	w.must(err, "Take without limits")
	w.check(g.Wait == 0, "Take without limits has to wait for %s", g.Wait)
	w.dated(g.Ticket)
	return g.Ticket.At
}

// dated judges the time of a ticket against those before it that share a key.
func (w *watch) dated(t quota.Ticket) {
	w.Helper()
	for _, d := range t.Demands {
		w.check(t.At >= w.last[d.Key], "%s: the time of tickets steps back, from %d to %d", d.Key, w.last[d.Key], t.At)
		w.last[d.Key] = t.At
	}
}

// passUntil lets time go by until that instant of the store.
func (w *watch) passUntil(at int64) {
	w.Helper()
	for range 100 {
		left := at - w.now()
		if left <= 0 {
			return
		}
		w.s.Pass(time.Duration(left))
	}
	w.Fatalf("the store's clock does not get anywhere")
}

// leap sets the store's clock forward: for what would take too long otherwise.
func (w *watch) leap(d time.Duration) {
	w.Helper()
	if w.s.StepClock == nil {
		w.Skip("this takes longer than a test may, and the clock of this store cannot be stepped: Subject.StepClock is nil")
	}
	t0 := w.now()
	w.s.StepClock(d)
	if w.now()-t0 < int64(d) {
		w.Skip("this takes longer than a test may, and the store does not follow Subject.StepClock")
	}
}

// view is the books of the demands under the limits that they state.
func (w *watch) view(at span, demands []demand) []*book {
	books := make([]*book, 0, len(demands))
	for _, d := range demands {
		b := w.books[d.key]
		if b == nil {
			b = &book{epoch: w.s.Epoch, slots: w.s.Slots, first: d.limits, limits: d.limits, leases: map[string]*lease{}}
		}
		books = append(books, b.under(d.limits, at))
	}
	return books
}

// take is a Take, judged.
func (w *watch) take(hold time.Duration, demands ...demand) quota.Grant {
	w.Helper()
	t0 := w.now()
	r := quota.Request{Demands: demandsOf(demands), Lease: hold, Uses: w.uses}
	g, err := w.store().Take(w.Context(), r)
	w.must(err, "Take")
	at := span{t0, w.now()}
	if g.Wait == 0 {
		late := int64(w.s.Late) // the clock's key and these have none in common
		w.check(at.lo-late <= g.Ticket.At && g.Ticket.At <= at.hi+late, "taken at %d, which is not between %d and %d", g.Ticket.At, at.lo, at.hi)
		w.admit(g, hold, demands)
		return g
	}
	books := w.view(at, demands)
	w.refused(at, g, demands, books)
	w.used(at, g, demands, books)
	for i, d := range demands {
		w.books[d.key] = books[i]
	}
	return g
}

// admit judges an admission and enters it into the books.
func (w *watch) admit(g quota.Grant, hold time.Duration, demands []demand) {
	w.Helper()
	t := g.Ticket
	w.check(t.ID != "" && !w.tickets[t.ID], "the ID %q is empty or was used before", t.ID)
	w.tickets[t.ID] = true
	w.dated(t)
	w.check(reflect.DeepEqual(t.Demands, demandsOf(demands)), "the ticket has other demands: %+v", t.Demands)
	w.check(g.Bound.Kind == throttle.NotBound && g.Bound.Wait == 0, "admitted, but bound by %s", g.Bound)
	books := w.view(span{t.At, t.At}, demands)
	w.legal(t.At, "admitted", demands, books)
	for i, d := range demands {
		b := books[i]
		w.books[d.key] = b
		b.take(t.At, t.ID, d.cost)
		if d.limits.concurrency > 0 {
			w.check(t.Token > b.token, "%s: the token %d is not above %d", d.key, t.Token, b.token)
			b.token = max(b.token, t.Token)
			b.leases[t.ID] = &lease{ends: span{t.At, t.At}.plus(hold)}
		}
	}
	w.used(span{t.At, t.At}, g, demands, books)
}

// legal complains about what must not be admitted at that time.
func (w *watch) legal(at int64, what string, demands []demand, books []*book) {
	w.Helper()
	for i, d := range demands {
		if early := books[i].ready(at, d.cost, lenient) - at; early > 0 {
			w.Errorf("%s: %s %s too early, at %d: %+v", d.key, what, time.Duration(early), at, d.cost)
		}
		_, full := books[i].full(at, lenient)
		w.check(!full, "%s: %s, though all %d slots are taken", d.key, what, d.limits.concurrency)
	}
}

// refused judges a grant that says to wait.
func (w *watch) refused(at span, g quota.Grant, demands []demand, books []*book) {
	w.Helper()
	ready, slots := span{at.lo, at.lo}, false
	latest := at.lo
	for i, d := range demands {
		b := books[i]
		ready.lo = max(ready.lo, b.ready(at.lo, d.cost, lenient))
		ready.hi = max(ready.hi, b.ready(at.lo, d.cost, strict))
		if lapse, full := b.full(at.lo, strict); full {
			slots, latest = true, max(latest, lapse)
		}
	}
	latest = max(latest, ready.hi)
	switch {
	case !slots && ready.hi <= at.lo:
		w.Errorf("must wait for %s by %s, although it fits: %+v", g.Wait, g.Bound, demands)
		return
	case g.Wait < 0:
		w.Errorf("a wait of %s", g.Wait)
	case int64(g.Wait) < ready.lo-at.hi:
		w.Errorf("must wait for %s by %s, not for %s", g.Wait, g.Bound, time.Duration(ready.lo-at.hi))
	case int64(g.Wait) > latest-at.lo+int64(w.s.Late):
		w.Errorf("must wait for %s by %s, not for %s", g.Wait, g.Bound, time.Duration(latest-at.lo))
	}
	w.check(g.Ticket.ID == "", "must wait, but the ticket is %q", g.Ticket.ID)
	if err := w.wrongBound(at, g, demands, books); err != nil {
		w.Errorf("%s: %v", g.Bound, err)
	}
}

// wrongBound is why the bound of a grant cannot be what it waits for.
func (w *watch) wrongBound(at span, g quota.Grant, demands []demand, books []*book) error {
	if g.Bound.Wait != g.Wait {
		return fmt.Errorf("a bound of %s for a wait of %s", g.Bound.Wait, g.Wait)
	}
	if g.Demand < 0 || g.Demand >= len(demands) {
		return fmt.Errorf("there is no demand %d", g.Demand)
	}
	d, b := demands[g.Demand], books[g.Demand]
	fits := func(ready span) bool {
		return int64(g.Wait) >= ready.lo-at.hi && int64(g.Wait) <= ready.hi-at.lo+int64(w.s.Late)
	}
	switch g.Bound.Kind {
	case throttle.BoundByWindow:
		for _, s := range d.limits.windows {
			n := d.cost.Of(s.unit)
			if s.window() == g.Bound.Window && fits(span{at.lo + b.wait(s, at.lo, n, lenient), at.lo + b.wait(s, at.lo, n, strict)}) {
				return nil
			}
		}
	case throttle.BoundByPause:
		if fits(b.cooled) {
			return nil
		}
	case throttle.BoundByConcurrency:
		if _, full := b.full(at.lo, strict); full {
			return nil
		}
	default:
	}
	return fmt.Errorf("that is not what %s waits for", d.key)
}

// peek is a Peek, judged. It leaves the books as they are.
func (w *watch) peek(demands ...demand) {
	w.Helper()
	t0 := w.now()
	g, err := w.store().Take(w.Context(), quota.Request{Demands: demandsOf(demands), Peek: true, Uses: w.uses})
	w.must(err, "Peek")
	at := span{t0, w.now()}
	w.check(g.Ticket.ID == "", "Peek returns the ticket %q", g.Ticket.ID)
	books := w.view(at, demands)
	if g.Wait == 0 {
		w.legal(at.hi, "Peek promises it", demands, books)
	} else {
		w.refused(at, g, demands, books)
	}
	w.used(at, g, demands, books)
}

// end is an End, judged, and reports whether the ticket had been lost.
func (w *watch) end(t quota.Ticket, actual []throttle.Cost) (lost bool) {
	w.Helper()
	t0 := w.now()
	err := w.store().End(w.Context(), t, actual)
	return w.ended(span{t0, w.now()}, t, err, func(i int) [throttle.Units]int64 {
		if actual == nil {
			return weigh(t.Demands[i].Cost)
		}
		return weigh(actual[i])
	})
}

// cancel is a Cancel, judged, and reports whether the ticket had been lost.
func (w *watch) cancel(t quota.Ticket) (lost bool) {
	w.Helper()
	t0 := w.now()
	err := w.store().Cancel(w.Context(), t)
	return w.ended(span{t0, w.now()}, t, err, func(int) (none [throttle.Units]int64) { return none })
}

func (w *watch) ended(at span, t quota.Ticket, err error, used func(i int) [throttle.Units]int64) (lost bool) {
	w.Helper()
	lost = errors.Is(err, quota.ErrLeaseLost)
	if !lost {
		w.must(err, "the end of a ticket")
	}
	w.heard(at, t, lost)
	for i, d := range t.Demands {
		b := w.books[d.Key]
		if l := b.leases[t.ID]; l != nil {
			l.over = true
		}
		if !lost {
			b.settle(at, t.ID, used(i))
		}
	}
	return lost
}

// heard checks whether the lease of t can have been lost, or not.
func (w *watch) heard(at span, t quota.Ticket, lost bool) {
	w.Helper()
	if !t.Leased() {
		w.check(!lost, "a ticket without a lease was lost")
		return
	}
	for _, d := range t.Demands {
		l := w.books[d.Key].leases[t.ID]
		switch {
		case l == nil:
		case lost:
			w.check(l.over || l.ends.lo <= at.hi, "%s: a lease is lost that lasts for another %s", d.Key, time.Duration(l.ends.lo-at.hi))
		case l.over:
			w.Errorf("%s: a lease that was ended is not lost", d.Key)
		default:
			w.check(l.ends.hi > at.lo, "%s: a lease is not lost that lapsed %s ago", d.Key, time.Duration(at.lo-l.ends.hi))
		}
	}
}

// renew is a Renew, judged, and returns how many were lost.
func (w *watch) renew(hold time.Duration, tickets ...quota.Ticket) int {
	w.Helper()
	t0 := w.now()
	list, err := w.store().Renew(w.Context(), tickets, hold)
	w.must(err, "Renew")
	at := span{t0, w.now()}
	lost := map[string]bool{}
	for _, t := range list {
		lost[t.ID] = true
	}
	for _, t := range tickets {
		w.heard(at, t, lost[t.ID])
		for _, d := range t.Demands {
			if l := w.books[d.Key].leases[t.ID]; l != nil {
				l.over = lost[t.ID]
				l.ends = at.plus(hold)
			}
		}
	}
	return len(list)
}

// cool is a Cooldown, entered into the books.
func (w *watch) cool(key string, lim limits, d time.Duration) {
	w.Helper()
	t0 := w.now()
	w.must(w.store().Cooldown(w.Context(), key, d), "Cooldown")
	at := span{t0, w.now()}.plus(d)
	b := w.view(span{t0, t0}, []demand{{key: key, limits: lim}})[0]
	b.cooled = span{max(b.cooled.lo, at.lo), max(b.cooled.hi, at.hi)}
	w.books[key] = b
}

// drain takes until it has to wait, but at most n times, and returns for how long it has to.
func (w *watch) drain(n int, hold time.Duration, demands ...demand) (wait time.Duration) {
	w.Helper()
	for i := 0; i < n && wait == 0; i++ {
		wait = w.take(hold, demands...).Wait
	}
	return wait
}

// cause is what a test ends contexts with.
type cause struct{}

func (cause) Error() string { return "the test has ended it" }

// endedContext is over, because of cause.
func (w *watch) endedContext() context.Context {
	ctx, cancel := context.WithCancelCause(w.Context())
	cancel(cause{})
	return ctx
}
