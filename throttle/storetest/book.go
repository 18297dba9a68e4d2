package storetest

import (
	"errors"
	"math"
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

// lease is a slot that somebody has.
type lease struct {
	ends span
	over bool // ended, or known to have lapsed
}

// book is what the suite knows of one key. It keeps everything that ever
// happened and works every answer out anew.
type book struct {
	epoch  time.Time
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

// wait is how long until n units fit into the window w, if nothing else happens.
func (b *book) wait(w spec, now, n int64, v view) int64 {
	switch {
	case n == 0:
		return 0
	case w.algorithm == bucket:
		over := b.missing(w.unit, now, v) - (w.max-n)*int64(w.per)
		return max(0, ceil(over, w.rate)+w.grain(v))
	case w.algorithm == fixed:
		sum, until := b.period(w.unit, now, v)
		if sum+n <= w.max {
			return 0
		}
		return until - now
	}
	return b.slides(w, now, n, v)
}

// ceil is a/b, rounded up.
func ceil(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}

// slides is wait for a sliding window.
func (b *book) slides(w spec, now, n int64, v view) int64 {
	events, since := b.remembered(w.unit, v)
	per := int64(w.per) + w.grain(v)
	sum := func(t int64) (sum int64) {
		for _, e := range events {
			if at := e.at.in(v); at > since && t-at < per {
				sum += e.left[w.unit]
			}
		}
		return sum
	}
	ends := []int64{now}
	for _, e := range events {
		if end := e.at.in(v) + per; end > now {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	for _, t := range ends {
		if sum(t)+n <= w.max {
			return t - now
		}
	}
	return int64(throttle.Forever)
}

// remembered is what may count in the sliding window of u: events since the key
// has one, and not what was forgotten before the window became longer.
func (b *book) remembered(u throttle.Unit, v view) (events []event, since int64) {
	w, ok := b.first.of(u)
	from, since := 0, int64(math.MinInt64)
	for i, e := range b.events {
		if e.to == nil {
			continue
		}
		if ok {
			since = max(since, e.at.in(!v)-int64(w.per)-w.grain(v))
		} else {
			from = i
		}
		w, ok = e.to.of(u)
	}
	return b.events[from:], since
}

// period is what the fixed window of u holds at now, and until when. Of a
// period that was made shorter or longer, what it held counts until the new one ends.
func (b *book) period(u throttle.Unit, now int64, v view) (sum, until int64) {
	w, ok := b.first.of(u)
	until = math.MinInt64
	roll := func(t int64) {
		if ok && t >= until {
			sum, until = 0, w.ends(b.epoch, t)
		}
	}
	for _, e := range b.events {
		if e.to == nil {
			roll(e.at.in(v))
			sum += e.left[u]
			continue
		}
		to, has := e.to.of(u)
		if !ok {
			sum = 0
		}
		if has && to.per != w.per {
			roll(e.at.in(!v)) // the other way: it may have ended before, or not
			until = to.ends(b.epoch, e.at.in(v))
		}
		w, ok = to, has
	}
	roll(now)
	return sum, until
}

// missing is what the bucket of u lacks to be full, a unit counted as its per.
func (b *book) missing(u throttle.Unit, now int64, v view) (missing int64) {
	w, ok := b.first.of(u)
	last := int64(0)
	for _, e := range b.events {
		at := min(e.at.in(v), now) // what happens right now is not over yet
		missing, last = max(0, missing-max(0, at-last)*w.rate), max(at, last)
		n := e.left[u]
		if v == strict && !b.refunds {
			n = e.reserved[u]
		}
		missing += n * int64(w.per)
		if e.to == nil {
			continue
		}
		to, has := e.to.of(u)
		switch {
		case !ok:
			missing = 0
		case missing > 0 || v == strict: // else it may have been forgotten, and begin full
			missing = max(0, missing+(to.max-w.max)*int64(w.per))
		}
		w, ok = to, has
	}
	return max(0, missing-max(0, now-last)*w.rate)
}

// ready is from when on cost fits, as of now.
func (b *book) ready(now int64, cost throttle.Cost, v view) int64 {
	at := max(now, b.cooled.in(v))
	for _, w := range b.limits.windows {
		at = max(at, now+b.wait(w, now, cost.Of(w.unit), v))
	}
	return at
}

// full says whether no slot is free at that time, and until when at most if
// nobody ends a lease. To be lenient only the leases count that surely hold one.
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
