package quotatest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testRefunds: a bucket is as if what is given back had never been taken, also
// if other calls took from it before and since.
func testRefunds(w *watch) {
	w.uses = true
	between(w)
	// So few calls for each key that a store need not merge what it remembers of them.
	const keys, calls, refill, pause = 4, 14, long / 4, int64(long / 16)
	random := rand.New(rand.NewPCG(5, 8)) //nolint:gosec // the same every time
	for i := range keys {
		of := func(n int64) demand {
			return demand{fmt.Sprint("bucket ", i), requests(bucket, 40, refill), throttle.Cost{Requests: n}}
		}
		var open []quota.Ticket
		endOne := func() {
			j := random.IntN(len(open))
			cost := open[j].Demands[0].Cost.Requests
			w.end(open[j], []throttle.Cost{{Requests: random.Int64N(cost)}})
			open = slices.Delete(open, j, j+1)
			w.peek(of(40))
		}
		for range calls {
			g := w.take(0, of(2+random.Int64N(5))) // a cost of 0 requests is one of 1
			w.books[of(1).key].refunds = true
			if g.Wait == 0 && len(g.Ticket.Demands) > 0 { // take has reported a ticket without any
				open = append(open, g.Ticket)
			}
			w.s.Pass(time.Duration(random.Int64N(pause)))
			if len(open) > 3 && random.IntN(3) == 0 {
				endOne()
			}
		}
		for len(open) > 0 {
			endOne()
		}
		w.drain(40, 0, of(8))
	}
}

// between cancels a call that was taken between two others.
func between(w *watch) {
	of := func(n int64) demand {
		return demand{"between", requests(bucket, 20, 10*long), throttle.Cost{Requests: n}}
	}
	w.take(0, of(1))
	w.books["between"].refunds = true
	w.s.Pass(short / 10)
	t := w.take(0, of(5)).Ticket
	w.s.Pass(short / 10)
	w.take(0, of(1))
	w.cancel(t)
	w.drain(5, 0, of(6))
}
