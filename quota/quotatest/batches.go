package quotatest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testBatches: a batch admits as many calls as so many calls of Take at one instant.
func testBatches(w *watch) {
	w.batcher()
	a := demand{"a", limits{windows: []spec{
		newSpec(sliding, throttle.Requests, 6, long),
		newSpec(bucket, throttle.Tokens, 40, forGood),
	}}, throttle.Cost{Tokens: 9}}
	b := demand{"b", requests(fixed, 9, 2*long), throttle.Cost{Requests: 2}}
	free := demand{key: "free"}
	w.check(len(w.batch(3, 0, free)) == 3, "calls without limits have to wait")
	first := w.batch(2, 0, a, b)
	w.check(len(first) == 2, "of 2 calls that fit %d are admitted", len(first))
	w.check(len(w.batch(5, 0, a, b)) == 2, "4 of 7 calls fit")
	w.check(len(w.batch(5, 0, a)) == 0, "of 5 calls that do not fit some are admitted")
	w.cancel(first[0].Ticket)
	w.end(first[1].Ticket, []throttle.Cost{{Tokens: 4}, {Requests: 1}})
	w.batch(4, 0, a)
	w.s.Pass(long)
	w.batch(8, 0, b, free)
	w.take(0, b)

	slot := demand{key: "slots", limits: slots(4)}
	held := w.take(forGood, slot)
	got := w.batch(5, forGood, slot, free)
	w.check(len(got) == 3, "of 4 slots, one of which is taken, %d are got", len(got))
	for _, g := range got {
		w.check(!w.end(g.Ticket, nil), "a lease of a batch is lost")
	}
	w.end(held.Ticket, nil)
	w.check(len(w.batch(5, forGood, slot)) == 4, "not all slots are free again")

	w.cool("cooled", limits{}, forGood)
	w.check(len(w.batch(2, 0, demand{key: "cooled"})) == 0, "admitted during a cooldown")
}

// testBatchArguments: what Take refuses is refused, and what is only for Take is left to it.
func testBatchArguments(w *watch) {
	store := w.batcher()
	w.batch(1, 0, demand{key: "free"})
	a := demand{key: "a", limits: requests(sliding, 1, forGood)}
	r := quota.Request{Demands: demandsOf([]demand{a})}
	peek, uses, invalid, dear := r, r, r, r
	peek.Peek, uses.Uses = true, true
	for _, r := range []quota.Request{peek, uses} {
		_, err := store.TakeBatch(w.Context(), r, 2)
		w.check(errors.Is(err, errors.ErrUnsupported), "a batch of %+v: %v, not errors.ErrUnsupported", r, err)
	}
	_, err := store.TakeBatch(w.Context(), r, 0)
	w.check(errors.Is(err, errors.ErrUnsupported), "a batch of no calls: %v, not errors.ErrUnsupported", err)
	invalid.Demands = nil
	_, err = store.TakeBatch(w.Context(), invalid, 2)
	w.check(errors.As(err, new(*fault.FieldError)), "a batch without demands: %v", err)
	dear.Demands = demandsOf([]demand{{a.key, a.limits, throttle.Cost{Requests: 2}}})
	_, err = store.TakeBatch(w.Context(), dear, 2)
	w.check(errors.As(err, new(*throttle.CostError)), "a batch of calls that can never be admitted: %v", err)
	_, err = store.TakeBatch(w.endedContext(), r, 2)
	w.caused(err, "TakeBatch")
	w.check(len(w.batch(2, 0, a)) == 1, "batches that were refused have taken something")
}

// testRaceBatches: batches and single calls that are made at once are admitted as often as fits.
func testRaceBatches(w *watch) {
	w.batcher()
	w.batch(1, 0, demand{key: "free"})
	const most, size = 50, 7
	a := demand{key: "a", limits: requests(sliding, most, forGood)}
	r := quota.Request{Demands: demandsOf([]demand{a})}
	var mu sync.Mutex
	var admitted []quota.Grant
	var wg sync.WaitGroup
	for i := range racers {
		s := w.store()
		wg.Go(func() {
			var grants []quota.Grant
			var err error
			if b, ok := s.(quota.Batcher); ok && i%2 == 0 {
				grants, err = b.TakeBatch(w.Context(), r, size)
			} else {
				grants = make([]quota.Grant, 1)
				grants[0], err = s.Take(w.Context(), r)
			}
			if err != nil {
				w.Errorf("a race: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, g := range grants {
				if g.Wait == 0 {
					admitted = append(admitted, g)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(admitted, byTime)
	for _, g := range admitted {
		w.admit(g, 0, []demand{a})
	}
	w.check(len(admitted) == most, "%d of %d are admitted", len(admitted), most)
}

// batcher is the store, if it has batches.
func (w *watch) batcher() quota.Batcher {
	w.Helper()
	store, ok := w.s.Store.(quota.Batcher)
	if !ok {
		w.Skip("the store is not a quota.Batcher")
	}
	return store
}

// batch is a TakeBatch, judged. It returns the grants that admit a call.
func (w *watch) batch(n int, hold time.Duration, demands ...demand) []quota.Grant {
	w.Helper()
	t0 := w.now()
	r := quota.Request{Demands: demandsOf(demands), Lease: hold}
	store, ok := w.store().(quota.Batcher)
	if !ok {
		w.Skip("a handle of the store is not a quota.Batcher")
	}
	grants, err := store.TakeBatch(w.Context(), r, n)
	if errors.Is(err, errors.ErrUnsupported) {
		w.Skip("the store does not take these calls in batches")
	}
	w.must(err, "TakeBatch")
	at := span{t0, w.now()}
	if len(grants) != n {
		w.Fatalf("TakeBatch: %d grants for %d calls", len(grants), n)
	}
	admitted := 0
	for i, g := range grants {
		if g.Wait == 0 {
			w.check(i == admitted, "call %d of a batch is admitted after one that was not", i)
			w.check(g.Ticket.At == grants[0].Ticket.At, "the calls of a batch are taken at %d and %d", grants[0].Ticket.At, g.Ticket.At)
			w.admit(g, hold, demands)
			admitted++
			continue
		}
		books := w.view(at, demands)
		w.refused(at, g, demands, books)
		for i, d := range demands {
			w.books[d.key] = books[i]
		}
	}
	return grants[:admitted]
}
