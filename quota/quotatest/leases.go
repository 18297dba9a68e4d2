package quotatest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testSlots: a slot is free again when its call has ended, in whatever way.
func testSlots(w *watch) {
	d := demand{key: "a", limits: slots(3)}
	twice := demand{key: "b", limits: slots(2)}
	var open []quota.Ticket
	for range 3 {
		open = append(open, w.take(forGood, d).Ticket)
	}
	w.take(forGood, d)
	w.end(open[0], nil)
	w.cancel(open[1])
	w.end(open[2], []throttle.Cost{{Requests: 7}})
	w.drain(4, forGood, d, twice)
	w.drain(2, forGood, d)
	w.drain(1, forGood, twice)
}

// testLapse: a lease that is not renewed frees its slot, and its holder can no longer change anything.
func testLapse(w *watch) {
	d := demand{key: "a", limits: limits{concurrency: 1, windows: []spec{newSpec(sliding, throttle.Tokens, 10, 20*long)}}}
	d.cost.Tokens = 3
	other := demand{key: "b", limits: slots(1)}
	late := w.take(short, d, other).Ticket
	w.peek(d)
	w.passUntil(late.At + int64(short) - 1)
	w.peek(d)
	w.passUntil(late.At + int64(short))
	next := w.take(forGood, d, other).Ticket
	w.check(next.ID != "", "the slot of a lease that lapsed is not free")
	w.check(w.end(late, []throttle.Cost{{}, {}}), "a lease that lapsed is not lost")
	w.check(w.cancel(late), "a lease that lapsed is not lost")
	w.check(w.renew(forGood, late) == 1, "Renew does not report a lease that lapsed")
	w.take(forGood, d) // the slot is the next one's, and the tokens are spent
	w.take(forGood, other)
	w.end(next, nil)
	d.cost.Tokens = 5
	w.take(forGood, d)
	d.cost.Tokens = 4
	w.take(forGood, d)
	third := w.take(short, demand{key: "c", limits: slots(1)}).Ticket
	w.passUntil(w.now() + int64(short))
	w.check(w.end(third, nil), "a lease that lapsed is not lost while its slot is free")
}

// testRenew: a lease lasts for as long as it is renewed.
func testRenew(w *watch) {
	d := demand{key: "a", limits: slots(2)}
	free := w.take(0, demand{key: "free", limits: requests(sliding, 1, short)}).Ticket
	lapsed := w.take(short/2, d).Ticket
	kept := w.take(short, d).Ticket
	for range 4 {
		w.s.Pass(3 * short / 4)
		w.renew(short, lapsed, free, kept)
		w.take(short, d)
	}
	ended := w.take(forGood, demand{key: "b", limits: slots(1)}).Ticket
	w.end(ended, nil)
	w.check(w.renew(forGood, ended) == 1, "Renew does not report a lease that was ended")
	w.check(w.renew(forGood) == 0, "Renew of no ticket reports a lost one")
	last := w.take(short, demand{key: "c", limits: slots(1)}).Ticket
	w.renew(forGood, last)
	w.s.Pass(2 * short)
	w.take(short, demand{key: "c", limits: slots(1)})
	w.end(last, nil)
	w.take(short, demand{key: "c", limits: slots(1)})
}

// testFencing: each holder of a slot has a larger token than all earlier holders, however their leases ended.
func testFencing(w *watch) {
	a := demand{key: "a", limits: slots(1)}
	b := demand{key: "b", limits: slots(1)}
	for range 3 {
		w.end(w.take(forGood, a).Ticket, nil)
		w.cancel(w.take(forGood, b).Ticket)
		t := w.take(short, a, b).Ticket
		w.passUntil(t.At + int64(short))
		w.end(w.take(forGood, b).Ticket, nil)
		w.cancel(w.take(forGood, b, a).Ticket)
		w.s.Pass(long) // long enough for a store to forget both
	}
}

// testHandOver: a ticket is as good in other hands.
func testHandOver(w *watch) {
	d := demand{"a", limits{concurrency: 1, windows: []spec{newSpec(sliding, throttle.Tokens, 10, long)}}, throttle.Cost{Tokens: 8}}
	for range 2 {
		t := w.take(long, d).Ticket
		w.now() // the next handle
		if t.ID == "" {
			w.Fatalf("a free slot was not given")
		}
		t.Demands = append([]quota.Demand(nil), t.Demands...) // as if it had been sent
		w.renew(forGood, t)
		w.end(t, []throttle.Cost{{Tokens: 1}})
		w.passUntil(w.now() + int64(2*long))
	}
}

// testEndOnce: of several concurrent ends of a lease one succeeds, and frees one slot.
func testEndOnce(w *watch) {
	d := demand{"a", limits{concurrency: 2, windows: []spec{newSpec(sliding, throttle.Tokens, 10, 2*long)}}, throttle.Cost{Tokens: 2}}
	first, second := w.take(forGood, d).Ticket, w.take(forGood, d).Ticket
	t0 := w.now()
	var ended atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		s := w.store()
		wg.Go(func() {
			var err error
			if i%2 == 0 {
				err = s.End(w.Context(), first, []throttle.Cost{{}})
			} else {
				err = s.Cancel(w.Context(), first)
			}
			switch {
			case err == nil:
				ended.Add(1)
			case !errors.Is(err, quota.ErrLeaseLost):
				w.Errorf("the end of a lease: %v", err)
			}
		})
	}
	wg.Wait()
	w.check(ended.Load() == 1, "a lease was ended %d times", ended.Load())
	w.ended(span{t0, w.now()}, first, nil, func(int) (none [throttle.Units]int64) { return none })
	w.take(forGood, d)
	w.take(forGood, d) // both slots are taken
	w.end(second, nil)
	d.cost.Tokens = 6 // together with those in use, the whole limit
	w.take(forGood, d)
	d.cost.Tokens = 5
	w.take(forGood, d)
}
