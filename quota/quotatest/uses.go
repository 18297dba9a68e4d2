package quotatest

import (
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testUses: a grant says how much of each window is taken, and when it is free again.
func testUses(w *watch) {
	w.uses = true
	a := demand{"a", limits{windows: []spec{
		newSpec(sliding, throttle.Requests, 4, long),
		newSpec(bucket, throttle.Tokens, 20, short/4),
		newSpec(fixed, throttle.Points, 9, 2*long),
	}}, throttle.Cost{Tokens: 6, Points: 2}}
	b := demand{key: "b", limits: limits{concurrency: 1, windows: []spec{newSpec(sliding, throttle.Requests, 3, short)}}}
	free := demand{key: "free"}
	w.peek(a, b)
	first := w.take(forGood, free, a, b).Ticket
	w.s.Pass(short / 3)
	w.take(forGood, b, a) // no slot
	second := w.take(0, a).Ticket
	w.end(first, []throttle.Cost{{}, {Tokens: 1, Points: 1}, {}})
	w.peek(b, a)
	w.cancel(second)
	w.books["a"].refunds = false
	w.drain(4, 0, a)
	w.s.Pass(short / 2)
	a.limits.windows = []spec{newSpec(fixed, throttle.Points, 20, 2*long), newSpec(sliding, throttle.Requests, 12, long)}
	w.drain(3, 0, a, free)
	w.end(w.take(0, a).Ticket, []throttle.Cost{{Requests: 30, Points: 40}})
	w.peek(a)
	w.s.Pass(long)
	w.peek(a, b)
	w.s.Pass(2 * long)
	w.peek(a, b)
}

// used judges the uses of a grant.
func (w *watch) used(at span, g quota.Grant, demands []demand, books []*book) {
	w.Helper()
	if !w.uses {
		w.check(g.Uses == nil, "uses that were not asked for: %+v", g.Uses)
		return
	}
	if len(g.Uses) != len(demands) {
		w.Errorf("uses of %d demands, not of %d", len(g.Uses), len(demands))
		return
	}
	for i, d := range demands {
		w.usesOf(at, d.key, g.Uses[i], d.limits, books[i])
	}
}

// usesOf judges the uses of one key.
func (w *watch) usesOf(at span, key string, uses []throttle.WindowUse, l limits, b *book) {
	w.Helper()
	if len(uses) != len(l.windows) {
		w.Errorf("%s: uses of %d windows, not of %d", key, len(uses), len(l.windows))
		return
	}
	for i, s := range l.windows {
		u := uses[i]
		w.check(u.Window == s.window(), "%s: the use of %s, not of %s", key, u.Window, s.window())
		lo, hi := b.spent(s, at.hi, lenient), b.spent(s, at.lo, strict)
		w.check(lo <= u.Spent && u.Spent <= hi, "%s: %d of %s are spent, not %d to %d", key, u.Spent, u.Window, lo, hi)
		w.check(u.Left == s.max-u.Spent, "%s: %d of %s are left, and %d spent", key, u.Left, u.Window, u.Spent)
		w.free(at, key, "a unit is", u.FreesIn, s, min(u.Left+1, s.max), b)
		w.free(at, key, "all are", u.ResetsIn, s, s.max, b)
	}
}

// free judges when n units of the window s fit.
func (w *watch) free(at span, key, what string, in time.Duration, s spec, n int64, b *book) {
	w.Helper()
	if n < 1 {
		return // below zero: what is given back first is not what fits first
	}
	lo, hi := at.lo+b.wait(s, at.lo, n, lenient)-at.hi, b.wait(s, at.lo, n, strict)+int64(w.s.Late)
	w.check(int64(in) >= lo && int64(in) <= hi, "%s: %s free in %s, not in %s to %s", key, what, in, time.Duration(lo), time.Duration(hi))
}
