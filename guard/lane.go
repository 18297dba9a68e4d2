package guard

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// lane implements inflight.Lane.
type lane struct {
	guard   *Guard
	ctx     context.Context //nolint:containedctx // of all calls
	watcher inflight.Watcher

	cost   throttle.Cost
	call   *Call // the call in progress, if it is like any other
	seat   *seat // of the call in progress; nil: it has none
	loose  bool  // it was not admitted
	began  time.Duration
	others int // calls in flight when it began

	free   *view     // of a call without admission; nil: of none yet, or it was kept
	record *recorded // of an admitted one; nil: of none yet, or it was kept
	first  view      // free, at first
	over   view
	seats  []seat
	most   int // seats taken at a time
}

// recorded is a call and what its seat shows.
type recorded struct {
	call Call
	view view
}

func newLane(ctx context.Context, g *Guard) *lane {
	n := &lane{
		guard: g, ctx: ctx, watcher: inflight.WatcherOf(ctx),
		first: view{Context: ctx, guard: g}, over: view{Context: ctx, guard: g, over: true}, most: firstSeats,
	}
	n.free = &n.first
	return n
}

// Begin implements inflight.Lane.
func (n *lane) Begin(c throttle.Cost) {
	if n.seat != nil { // the last call was left in the middle: its record may be in use
		n.seat, n.free, n.record = nil, nil, nil
	}
	n.call, n.cost, n.loose = nil, c, false
}

// Admit implements inflight.Lane.
func (n *lane) Admit(ctx context.Context) (context.Context, error) {
	if n.call != nil {
		return n.call.Admit(ctx)
	}
	if others, ok := n.guard.lets(&n.cost); ok {
		return n.pass(others), nil
	}
	if n.record == nil {
		n.record = new(recorded)
		n.record.view = view{Context: n.ctx, guard: n.guard, attempt: &n.record.call.first}
	}
	c := &n.record.call
	*c = Call{guard: n.guard, cost: n.cost}
	k, err := c.admit(n.ctx)
	if err != nil {
		return nil, err
	}
	if k != &c.first {
		c.live.Store(k)
		n.call, n.record = c, nil
		return k, nil
	}
	return n.sit(&n.record.view), nil
}

// pass begins a call without admission.
func (n *lane) pass(others int) context.Context {
	if n.watcher != nil {
		n.watcher.Admitted(throttle.Bound{})
	}
	if n.free == nil || !n.free.reserves(&n.cost) {
		n.free = &view{Context: n.ctx, guard: n.guard, cost: reserving(n.cost)}
	}
	n.loose, n.others, n.began = true, others, n.guard.clock.Elapsed()
	n.guard.noteLoose(n.began)
	return n.sit(n.free)
}

func (n *lane) sit(v *view) *seat {
	if len(n.seats) == 0 {
		n.seats = n.guard.seats.take(n.most)
		n.most = min(2*n.most, mostSeats)
	}
	n.seat, n.seats = &n.seats[0], n.seats[1:]
	n.seat.shows.Store(v)
	return n.seat
}

// Done implements inflight.Lane.
func (n *lane) Done() bool {
	if !n.loose || n.seat == nil || !n.seat.shows.CompareAndSwap(n.free, &n.over) {
		return false
	}
	n.seat, n.loose = nil, false
	n.guard.landed()
	if n.watcher != nil {
		n.watcher.Judged(adaptive.Feedback{Verdict: adaptive.OK, Used: n.cost}, nil)
	}
	return true
}

// End implements inflight.Lane.
func (n *lane) End(f adaptive.Feedback) (again bool, err error) {
	s := n.seat
	switch {
	case n.call != nil:
		return n.call.End(f)
	case s == nil:
		return false, nil
	}
	if n.loose {
		return n.land(s, &f)
	}
	record := n.record
	again, err = record.call.conclude(&record.call.first, &f) // if a law panics, the seat still shows what holds the slots
	n.seat = nil
	switch {
	case again:
		n.call, n.record = &record.call, nil
	case !s.shows.CompareAndSwap(&record.view, &n.over):
		n.record = nil
	}
	return again, err
}

// land ends a call without admission.
func (n *lane) land(s *seat, f *adaptive.Feedback) (again bool, err error) {
	c := s.attempt().call
	n.free = nil
	n.seat, n.loose = nil, false
	again, err = c.landed(n.guard.clock.At(n.began), n.others, f)
	if again {
		n.call = c
	}
	return again, err
}

func init() { //nolint:gochecknoinits // it is below package inflight's users
	inflight.OnLane(func(ctx context.Context, g any) inflight.Lane { return newLane(ctx, g.(*Guard)) }) //nolint:forcetypeassert // see there
}
