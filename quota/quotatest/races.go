package quotatest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

const racers = 32

// race has many callers Take the same at the same time, each so often, on all
// handles, and enters what they got into the books.
func (w *watch) race(times int, demands ...demand) (admitted int) {
	w.Helper()
	r := quota.Request{Demands: demandsOf(demands), Lease: forGood}
	var mu sync.Mutex
	var grants []quota.Grant
	var wg sync.WaitGroup
	t0 := w.now()
	for range racers {
		s := w.store()
		wg.Go(func() {
			for range times {
				g, err := s.Take(w.Context(), r)
				switch {
				case err != nil:
					w.Errorf("Take: %v", err)
				case g.Wait == 0:
					mu.Lock()
					grants = append(grants, g)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	w.check(len(grants) == 0 || t0 <= grants[0].Ticket.At, "a ticket is older than the call")
	slices.SortFunc(grants, byTime)
	for _, g := range grants {
		w.admit(g, forGood, demands)
	}
	return len(grants)
}

func byTime(a, b quota.Grant) int {
	return cmp.Or(cmp.Compare(a.Ticket.At, b.Ticket.At), cmp.Compare(a.Ticket.Token, b.Ticket.Token))
}

// testRaceWindows: however many ask at once, exactly as many go as may.
func testRaceWindows(w *watch) {
	a := demand{key: "a", limits: requests(sliding, 60, 2*long)}
	b := demand{"b", requests(bucket, 81, long), throttle.Cost{Requests: 3}}
	c := demand{key: "c", limits: requests(fixed, 40, 2*long)}
	for _, demands := range [][]demand{{a, b}, {b, a}, {c, a}, {c}, {a}} {
		w.race(4, demands...)
		w.take(0, demands...) // nothing that fits was left over
		for _, d := range demands {
			w.peek(d)
		}
	}
}

// testRaceEnds: of many that settle at once, each counts. What a bucket gets
// back depends on what else was taken; what it is owed does not.
func testRaceEnds(w *watch) {
	const tickets = 3 * racers
	for name, a := range map[string]algorithm{"sliding": sliding, "bucket": bucket, "fixed": fixed} {
		of := func(n int64) demand {
			return demand{name, limits{windows: []spec{newSpec(a, throttle.Tokens, 10*tickets, forGood)}}, throttle.Cost{Tokens: n}}
		}
		var open []quota.Ticket
		for range tickets {
			open = append(open, w.take(0, of(5)).Ticket)
		}
		used := func(i int) int64 { return []int64{2, 9, 0}[i%3] }
		if a == bucket {
			used = func(i int) int64 { return []int64{6, 9, 8}[i%3] }
		}
		w.raceEnds(open, used)
		left := int64(10 * tickets)
		for i := range open {
			left -= used(i)
		}
		w.take(0, of(left+1))
		w.take(0, of(left))
		w.take(0, of(1))
	}
}

// raceEnds has many callers end the tickets at the same time, by Cancel if
// nothing was used, and enters that into the books.
func (w *watch) raceEnds(open []quota.Ticket, used func(i int) int64) {
	w.Helper()
	t0 := w.now()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, t := range open {
		s := w.store()
		wg.Go(func() {
			<-begin
			var err error
			if n := used(i); n > 0 {
				err = s.End(w.Context(), t, []throttle.Cost{{Tokens: n}})
			} else {
				err = s.Cancel(w.Context(), t)
			}
			if err != nil {
				w.Errorf("the end of a ticket: %v", err)
			}
		})
	}
	close(begin)
	wg.Wait()
	at := span{t0, w.now()}
	for i, t := range open {
		w.ended(at, t, nil, func(int) (a [throttle.Units]int64) {
			a[throttle.Tokens] = used(i)
			return a
		})
	}
}

// testRaceSlots: there are never more holders than slots.
func testRaceSlots(w *watch) {
	const most = 5
	a := demand{key: "a", limits: slots(most)}
	b := demand{key: "b", limits: slots(most + 2)}
	var inside, got atomic.Int64
	var wg sync.WaitGroup
	for i := range racers {
		s := w.store()
		list := demandsOf([]demand{a, b})
		if i%2 == 0 {
			slices.Reverse(list)
		}
		wg.Go(func() {
			for range 20 {
				g, err := s.Take(w.Context(), quota.Request{Demands: list, Lease: forGood})
				if err == nil && g.Wait == 0 {
					if n := inside.Add(1); n > most {
						w.Errorf("%d have one of %d slots", n, most)
					}
					got.Add(1)
					inside.Add(-1)
					err = s.End(w.Context(), g.Ticket, nil)
				}
				if err != nil {
					w.Errorf("a slot, taken or ended: %v", err)
				}
			}
		})
	}
	wg.Wait()
	w.check(got.Load() >= most, "of %d tries %d had a slot", racers*20, got.Load())
	w.check(w.race(1, a, b) == most, "not all slots are free after a race")
}

// testManyKeys: keys do not get in each other's way.
func testManyKeys(w *watch) {
	const keys = 150
	var demands []demand
	for i := range keys {
		demands = append(demands, demand{key: fmt.Sprintf("user %d: {äöü}\n", i), limits: requests(sliding, 1+int64(i%2), long)})
	}
	for range 2 {
		for _, d := range demands {
			w.take(0, d)
		}
		for i := 0; i < keys; i += 10 {
			w.take(0, demands[i:i+10]...)
		}
		for i := 0; i < keys; i += 10 {
			w.take(0, demands[i])
		}
		w.s.Pass(long)
	}
}
