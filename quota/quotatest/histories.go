package quotatest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// history is a random use of a few keys.
type history struct {
	*watch
	rand  *rand.Rand
	keys  []demand
	open  []quota.Ticket
	ended []quota.Ticket // with a lease
	again []demand       // what had to wait last
	wait  time.Duration
}

// testHistories: whatever is done, each answer is one that the books allow.
func testHistories(w *watch) {
	n := w.s.Histories
	if n == 0 {
		n = 4
	}
	for i := range n {
		h := history{watch: w, rand: rand.New(rand.NewPCG(uint64(i), 3))} //nolint:gosec // the same every time, and small
		h.keys = []demand{
			{key: "a", limits: limits{2, []spec{newSpec(sliding, throttle.Requests, 3, short), newSpec(sliding, throttle.Tokens, 20, 3*short)}}},
			{key: "b", limits: limits{0, []spec{newSpec(bucket, throttle.Points, 6, 20*time.Millisecond)}}},
			{key: "c", limits: limits{3, []spec{newSpec(fixed, throttle.Requests, 5, 150*time.Millisecond), newSpec(bucket, throttle.Tokens, 30, time.Millisecond)}}},
		}
		for range 80 {
			h.step()
			if w.Failed() {
				w.Fatalf("in the history %d", i)
			}
		}
		for _, t := range h.open {
			w.end(t, nil)
		}
		w.s.Pass(long)
	}
}

func (h *history) step() {
	switch h.rand.IntN(20) {
	case 0, 1, 2, 3, 4, 5, 6:
		h.try(h.draw())
	case 7:
		h.peek(h.draw()...)
	case 8, 9, 10:
		h.endOne()
	case 11:
		if n := len(h.ended); n > 0 {
			h.end(h.ended[h.rand.IntN(n)], nil)
		}
	case 12:
		h.renew(h.lease(), slices.Concat(h.open, h.ended)...)
	case 13:
		i := h.rand.IntN(len(h.keys))
		h.keys[i].limits = h.changed(h.keys[i].limits)
	case 14:
		if d := h.keys[h.rand.IntN(len(h.keys))]; h.rand.IntN(3) == 0 && h.books[d.key] != nil {
			h.cool(d.key, h.books[d.key].limits, h.upTo(long/8))
		}
	case 15, 16, 17:
		h.s.Pass(h.upTo(long / 8))
	default:
		if h.again != nil {
			h.s.Pass(h.wait)
			h.try(h.again)
		}
	}
}

func (h *history) upTo(d time.Duration) time.Duration { return time.Duration(h.rand.Int64N(int64(d))) }

func (h *history) lease() time.Duration {
	return []time.Duration{short / 2, long, forGood}[h.rand.IntN(3)]
}

// draw is demands on some of the keys, in any order.
func (h *history) draw() []demand {
	var demands []demand
	for _, i := range h.rand.Perm(len(h.keys))[:1+h.rand.IntN(len(h.keys))] {
		d := h.keys[i]
		d.cost = h.cost()
		demands = append(demands, d)
	}
	return demands
}

func (h *history) cost() throttle.Cost {
	return throttle.Cost{Requests: h.rand.Int64N(3), Tokens: h.rand.Int64N(9), Points: h.rand.Int64N(4)}
}

// changed has another concurrency and other maxima, though none so low that a
// cost never fits. Buckets stay: a full one may be forgotten, and what a late
// End debits then depends on the limits of its ticket.
func (h *history) changed(l limits) limits {
	l.windows = slices.Clone(l.windows)
	if l.concurrency > 0 {
		l.concurrency = 1 + h.rand.IntN(3)
	}
	for i := range l.windows {
		w := &l.windows[i]
		switch {
		case w.algorithm == bucket:
		case w.unit == throttle.Tokens:
			w.max = 15 + h.rand.Int64N(15)
		default:
			w.max = 2 + h.rand.Int64N(4)
		}
	}
	return l
}

func (h *history) try(demands []demand) {
	g := h.take(h.lease(), demands...)
	if g.Wait > 0 {
		h.again, h.wait = demands, g.Wait
	} else {
		h.open = append(h.open, g.Ticket)
		h.again = nil
	}
}

func (h *history) endOne() {
	if len(h.open) == 0 {
		return
	}
	i := h.rand.IntN(len(h.open))
	t := h.open[i]
	h.open = append(h.open[:i:i], h.open[i+1:]...)
	switch h.rand.IntN(4) {
	case 0:
		h.end(t, nil)
	case 1:
		h.cancel(t)
	default:
		actual := make([]throttle.Cost, len(t.Demands))
		for i := range actual {
			actual[i] = h.cost()
		}
		h.end(t, actual)
	}
	if t.Leased() {
		h.ended = append(h.ended, t)
	}
}
