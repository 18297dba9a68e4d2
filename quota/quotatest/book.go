package quotatest

import (
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/throttle"
)

// span is when something was, by the store's clock: not before lo and not after hi.
type span struct{ lo, hi int64 }

func (s span) plus(d time.Duration) span { return span{s.lo + int64(d), s.hi + int64(d)} }

// view is one of the two ways to read what is not known for sure.
type view bool

const (
	lenient view = false // nothing that this forbids is legal
	strict  view = true  // everything that this allows has to be granted
)

func (s span) in(v view) int64 {
	if v == strict {
		return s.hi
	}
	return s.lo
}

// event is what a key remembers: units taken, or new limits.
type event struct {
	at       span
	ticket   string // "" for a debit
	entry    int    // in the log
	left     [throttle.Units]int64
	reserved [throttle.Units]int64
	to       *limits
}

// lease is a slot that is held.
type lease struct {
	ends span
	over bool // ended, or known to have lapsed
}

// book is what the suite knows of one key. It keeps everything that ever
// happened and works every answer out anew.
type book struct {
	epoch  time.Time
	slots  int64 // Subject.Slots
	first  limits
	limits limits
	events []event
	leases map[string]*lease
	cooled span
	token  int64
	log    []oracle.Entry // for the windows
	last   int64          // when the log ends
	// refunds says that a bucket has to give everything back that it may: no
	// other call stood between.
	refunds bool
	// vague windows are not for the oracle: it has to know at which instant they
	// became longer or shorter, and that they were never taken away.
	vague [throttle.Units]bool
}

// ready is from when on cost fits, as of now.
func (b *book) ready(now int64, cost throttle.Cost, v view) int64 {
	at := max(now, b.cooled.in(v))
	for _, w := range b.limits.windows {
		at = max(at, now+b.wait(w, now, cost.Of(w.unit), v))
	}
	return at
}

// full reports whether no slot is free at that time, and until when at most if no lease is ended. To be lenient only the leases
// count that surely hold one.
func (b *book) full(at int64, v view) (lapse int64, full bool) {
	var ends []int64
	for _, l := range b.leases {
		if end := l.ends.in(v); !l.over && end > at {
			ends = append(ends, end)
		}
	}
	spare := len(ends) - b.limits.concurrency
	if b.limits.concurrency == 0 || spare < 0 {
		return 0, false
	}
	slices.Sort(ends)
	return ends[spare], true
}

// under is the book with other limits from then on. The original does not change.
func (b *book) under(l limits, at span) *book {
	if b.limits.equal(l) {
		return b
	}
	c := *b
	c.limits = l
	c.events = append(slices.Clone(b.events), event{at: at, to: &l})
	c.log = slices.Clone(b.log)
	for i, w := range b.first.windows {
		to, ok := l.of(w.unit)
		was, _ := b.limits.of(w.unit)
		if !ok || was.per != to.per && at.lo < at.hi {
			c.vague[w.unit] = true
			continue
		}
		rule := to.rule(b.epoch)
		c.enter(at.lo, oracle.Entry{Kind: oracle.Resize, Of: i, To: &rule})
	}
	return &c
}

// enter adds a line to the log.
func (b *book) enter(at int64, e oracle.Entry) int {
	b.last = max(b.last, at)
	e.At = time.Duration(b.last)
	b.log = append(b.log, e)
	return len(b.log) - 1
}

func weigh(c throttle.Cost) (a [throttle.Units]int64) {
	for u := range throttle.Units {
		a[u] = c.Of(u)
	}
	return a
}

// take notes what a ticket took.
func (b *book) take(at int64, ticket string, cost throttle.Cost) {
	a := weigh(cost)
	i := b.enter(at, oracle.Entry{Weights: a})
	b.events = append(b.events, event{at: span{at, at}, ticket: ticket, entry: i, left: a, reserved: a})
}

// settle notes what a ticket cost in the end.
func (b *book) settle(at span, ticket string, used [throttle.Units]int64) {
	i := slices.IndexFunc(b.events, func(e event) bool { return e.ticket == ticket })
	e := &b.events[i]
	var more, less oracle.Weights
	for u, n := range used {
		more[u] = max(0, n-e.left[u])
		less[u] = max(0, e.left[u]-n)
		e.left[u] -= less[u]
	}
	b.enter(at.lo, oracle.Entry{Kind: oracle.GiveBack, Of: e.entry, Weights: less})
	b.enter(at.lo, oracle.Entry{Kind: oracle.Debit, Weights: more})
	b.events = append(b.events, event{at: at, left: more, reserved: more})
}

// verdict is what the oracle says of the log, window by window.
func (b *book) verdict() error {
	var errs []error
	for i, w := range b.first.windows {
		log, resized := slices.Clone(b.log), false
		for j, e := range log {
			switch {
			case e.Kind != oracle.Resize:
			case e.Of == i:
				log[j].Of, resized = 0, true
			default:
				log[j] = oracle.Entry{At: e.At, Kind: oracle.Debit}
			}
		}
		if b.vague[w.unit] || resized && w.algorithm == bucket {
			continue // the oracle does not know that a full bucket may be forgotten
		}
		errs = append(errs, oracle.Judge(log, w.rule(b.epoch)).Err())
	}
	return errors.Join(errs...)
}
