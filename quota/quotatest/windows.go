package quotatest

import (
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

const (
	short = 100 * time.Millisecond
	long  = 500 * time.Millisecond
	// forGood is a lease that no test outlives.
	forGood = time.Hour
)

// testUnlimited: a key without limits never blocks, and ending a ticket that was not granted does nothing.
func testUnlimited(w *watch) {
	for range 20 {
		w.check(w.take(0, demand{key: "free"}).Wait == 0, "an unlimited key makes wait")
	}
	w.must(w.store().End(w.Context(), quota.Ticket{}, nil), "End of no ticket")
	w.must(w.store().Cancel(w.Context(), quota.Ticket{}), "Cancel of no ticket")
	// Nor does one that has demands, as that of a grant that says to wait may have.
	for name, lim := range map[string]limits{
		"window": requests(sliding, 6, long),
		"slot":   {concurrency: 1, windows: []spec{newSpec(bucket, throttle.Requests, 6, long)}},
	} {
		d := demand{key: name, limits: lim, cost: throttle.Cost{Requests: 2}}
		for range 2 {
			none := quota.Ticket{Demands: demandsOf([]demand{d})}
			w.must(w.store().End(w.Context(), none, nil), "End of a ticket without an ID")
			w.must(w.store().End(w.Context(), none, []throttle.Cost{{Requests: 5}}), "End of a ticket without an ID")
			w.must(w.store().Cancel(w.Context(), none), "Cancel of a ticket without an ID")
			w.end(w.take(forGood, d).Ticket, nil)
		}
		w.drain(2, forGood, d)
	}
}

// testWindows: each sort of window admits exactly its max, and admits again as soon as the wait is over.
func testWindows(w *watch) {
	for _, d := range []demand{
		{"sliding", requests(sliding, 3, short), throttle.Cost{}},
		{"bucket", requests(bucket, 3, 40*time.Millisecond), throttle.Cost{}},
		{"fixed", requests(fixed, 3, short), throttle.Cost{}},
		{"tokens", limits{windows: []spec{newSpec(sliding, throttle.Tokens, 70, short)}}, throttle.Cost{Input: 20, Output: 11}},
		{"several", limits{windows: []spec{
			newSpec(sliding, throttle.Requests, 3, short),
			newSpec(bucket, throttle.Points, 10, 10*time.Millisecond),
			newSpec(fixed, throttle.InputTokens, 20, 2*short),
		}}, throttle.Cost{Points: 4, Input: 5}},
	} {
		for range 4 {
			w.cycle(5, d)
		}
	}
}

// cycle takes until it has to wait, but at most n times, and then asks halfway,
// just before the end and at the end.
func (w *watch) cycle(n int, d demand) {
	w.Helper()
	wait := w.drain(n, 0, d)
	w.peek(d)
	w.s.Pass(wait / 2)
	w.s.Pass(max(0, w.take(0, d).Wait-1))
	w.s.Pass(w.take(0, d).Wait)
}

// testAtomicity: whichever demand cannot be met, the others lose nothing.
func testAtomicity(w *watch) {
	full := demand{key: "full", limits: requests(sliding, 1, long)}
	busy := demand{key: "busy", limits: slots(1)}
	cold := demand{key: "cold", limits: requests(sliding, 9, long)}
	w.take(0, full)
	w.take(forGood, busy)
	w.cool(cold.key, cold.limits, long)
	window := demand{key: "window", limits: requests(sliding, 2, 2*long)}
	level := demand{"level", requests(bucket, 2, long), throttle.Cost{}}
	slot := demand{key: "slot", limits: slots(2)}
	for _, blocked := range []demand{full, busy, cold} {
		w.take(forGood, blocked, window, level, slot)
		w.take(forGood, window, blocked, slot, level)
		w.take(forGood, slot, level, window, blocked)
		w.peek(window, blocked)
	}
	for range 3 { // all are as they were, and go together
		w.take(forGood, slot, window, level)
	}
	for _, d := range []demand{window, level, slot} {
		w.drain(3, forGood, d)
	}
}

// testPeek: Peek never takes anything.
func testPeek(w *watch) {
	a := demand{key: "a", limits: limits{concurrency: 2, windows: []spec{newSpec(sliding, throttle.Requests, 2, long)}}}
	b := demand{"b", requests(bucket, 3, short), throttle.Cost{Requests: 2}}
	for range 5 {
		w.peek(a, b)
		w.peek(b)
	}
	w.take(forGood, a, b)
	for range 5 {
		w.peek(a, b)
		w.peek(a)
	}
	w.drain(3, forGood, a)
	w.drain(3, 0, b)
	w.peek(a, b)
	// Nor does it change limits.
	wide := a
	wide.limits = limits{concurrency: 5, windows: []spec{newSpec(sliding, throttle.Requests, 5, long)}}
	w.peek(wide)
	w.take(forGood, a)
	c := level("c")
	w.take(0, c)
	narrow := c
	narrow.limits = c.limits.withMax(1)
	w.peek(narrow)
	c.cost = throttle.Cost{Requests: 3}
	w.take(0, c)
}

// level is a key with a bucket of 4 that, made narrow for a moment, would have
// less. The other window has the store remember the key while the bucket is full.
func level(key string) demand {
	return demand{key, limits{windows: []spec{
		newSpec(bucket, throttle.Requests, 4, long), newSpec(sliding, throttle.Points, 4, 4*long),
	}}, throttle.Cost{Points: 1}}
}

// testSettle: what was not used is given back to where it was taken, what was
// used besides is charged, and a call that was never sent costs nothing.
func testSettle(w *watch) {
	// All kinds go through the steps together, so that they share the time that passes.
	kinds := map[string]spec{
		"sliding": newSpec(sliding, throttle.Tokens, 10, long/2),
		"bucket":  newSpec(bucket, throttle.Tokens, 10, short/2),
		"fixed":   newSpec(fixed, throttle.Tokens, 10, long/2),
	}
	step := func(f func(of func(n int64) demand)) {
		for name, s := range kinds {
			f(func(n int64) demand { return demand{name, limits{windows: []spec{s}}, throttle.Cost{Tokens: n}} })
		}
		w.passUntil(w.now() + int64(10*long/8))
	}
	step(func(of func(n int64) demand) {
		w.take(0, of(1))
		w.books[of(1).key].refunds = true
	})
	for range 2 {
		step(func(of func(n int64) demand) {
			w.end(w.take(0, of(9)).Ticket, []throttle.Cost{{Tokens: 3}})
			w.drain(7, 0, of(1))
		})
		step(func(of func(n int64) demand) {
			w.cancel(w.take(0, of(10)).Ticket)
			w.take(0, of(10))
		})
		step(func(of func(n int64) demand) {
			w.end(w.take(0, of(2)).Ticket, []throttle.Cost{{Tokens: 25}})
			w.take(0, of(1))
		})
		step(func(of func(n int64) demand) {
			w.end(w.take(0, of(2)).Ticket, nil)
			w.take(0, of(9))
			w.take(0, of(8))
		})
	}
	testSettleSeveral(w)
}

// testSettleSeveral: each demand has its own cost in the end.
func testSettleSeveral(w *watch) {
	a := demand{"a", requests(sliding, 10, long), throttle.Cost{Requests: 8}}
	b := demand{"b", requests(sliding, 10, long), throttle.Cost{Requests: 2}}
	w.end(w.take(0, a, b).Ticket, []throttle.Cost{{Requests: 3}, {Requests: 9}})
	a.cost.Requests, b.cost.Requests = 1, 1
	w.drain(8, 0, a)
	w.drain(2, 0, b)
}

// testCooldown: no call is granted before the longest of all cooldowns has ended.
func testCooldown(w *watch) {
	d := demand{key: "a", limits: requests(sliding, 5, long)}
	other := demand{key: "b", limits: requests(sliding, 5, long)}
	w.take(0, d)
	w.cool(d.key, d.limits, 3*short)
	w.cool(d.key, d.limits, short)
	w.cool(d.key, d.limits, 0)
	w.cool(d.key, d.limits, -short)
	w.take(0, d)
	w.peek(d)
	w.take(0, other)
	w.take(0, other, d)
	w.s.Pass(2 * short)
	w.take(0, d)
	w.cool(d.key, d.limits, 2*short)
	w.s.Pass(short + 1)
	g := w.take(0, d)
	w.s.Pass(g.Wait)
	w.check(w.take(0, other, d).Wait == 0 || g.Wait == 0, "a cooldown does not end")
	w.cool("new", limits{}, short) // a key that was never used
	w.take(0, demand{key: "new"})
	w.s.Pass(short)
	w.take(0, demand{key: "new"})
}
