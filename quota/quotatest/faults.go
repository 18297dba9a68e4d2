package quotatest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testArguments: an invalid argument is reported by its field, a demand that can never be met by its unit, and neither changes
// anything.
func testArguments(w *watch) {
	ctx := w.Context()
	good := level("a")
	w.take(0, good)
	ok := good.demand()
	bad := func(d quota.Demand) quota.Demand {
		d.Limits = good.limits.withMax(1).limits() // valid, but must not apply: three units would overflow
		return d
	}
	_, err := w.s.Store.Take(ctx, quota.Request{Lease: forGood})
	w.field(err, "Demands")
	_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), {}}, Lease: forGood})
	w.field(err, "Demands[1].Key")
	_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), bad(ok)}, Lease: forGood})
	w.field(err, "Demands[1].Key")
	empty := quota.Demand{Key: "b", Limits: throttle.Limits{Concurrency: -1, Windows: make([]throttle.Window, 1)}}
	_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), empty}, Lease: forGood})
	w.field(err, "Demands[1].Limits.Concurrency")
	w.field(err, "Demands[1].Limits.Windows[0]")
	_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), empty}, Peek: true})
	w.field(err, "Demands[1].Limits.Concurrency")
	_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), {Key: "b", Limits: slots(1).limits()}}})
	w.field(err, "Lease")
	w.field(w.s.Store.Cooldown(ctx, "", long), "Key")

	for _, cost := range []throttle.Cost{{Requests: 5}, {Tokens: -1}, {Points: throttle.MaxAmount + 1}} {
		large := good.demand()
		large.Key, large.Cost = "c", cost
		_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), large}, Lease: forGood})
		w.impossible(err, cost)
		_, err = w.s.Store.Take(ctx, quota.Request{Demands: []quota.Demand{bad(ok), large}, Peek: true})
		w.impossible(err, cost)
	}

	slot := demand{key: "slot", limits: slots(1)}
	t := w.take(forGood, slot).Ticket
	_, err = w.s.Store.Renew(ctx, []quota.Ticket{t}, 0)
	w.field(err, "Lease")
	w.field(w.s.Store.End(ctx, t, make([]throttle.Cost, 2)), "Actual")
	w.take(forGood, slot)
	good.cost = throttle.Cost{Requests: 3}
	w.take(0, good)
}

// field complains unless err is a *fault.FieldError of that field.
func (w *watch) field(err error, field string) {
	w.Helper()
	w.check(hasField(err, field), "no *fault.FieldError of %s: %v", field, err)
}

func hasField(err error, field string) bool {
	switch e := err.(type) { //nolint:errorlint // it takes the tree apart
	case *fault.FieldError:
		return e.Field == field
	case interface{ Unwrap() error }:
		return hasField(e.Unwrap(), field)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if hasField(part, field) {
				return true
			}
		}
	}
	return false
}

func (w *watch) impossible(err error, c throttle.Cost) {
	w.Helper()
	e, ok := errors.AsType[*throttle.CostError](err)
	w.check(ok && e.Amount == c.Of(e.Unit), "no *throttle.CostError for %+v: %v", c, err)
}

// testEndedContext: a context that has ended gives an error with its cause, and nothing changes.
func testEndedContext(w *watch) {
	a := demand{key: "a", limits: requests(sliding, 2, long)}
	b := demand{key: "b", limits: slots(2)}
	t := w.take(forGood, a, b).Ticket
	for _, s := range w.handles {
		ctx := w.endedContext()
		_, err := s.Take(ctx, quota.Request{Demands: demandsOf([]demand{a, b}), Lease: forGood})
		w.caused(err, "Take")
		_, err = s.Take(ctx, quota.Request{Demands: demandsOf([]demand{a, b}), Peek: true})
		w.caused(err, "Peek")
		_, err = s.Renew(ctx, []quota.Ticket{t}, time.Nanosecond)
		w.caused(err, "Renew")
		w.caused(s.End(ctx, t, nil), "End")
		w.caused(s.Cancel(ctx, t), "Cancel")
		w.caused(s.Cooldown(ctx, "a", forGood), "Cooldown")
	}
	w.take(forGood, a, b)
	w.take(forGood, b)
	w.end(t, nil)
	w.take(forGood, b)
}

func (w *watch) caused(err error, method string) {
	w.Helper()
	w.check(errors.Is(err, cause{}), "%s: %v, which is not the cause of the context's end", method, err)
}

// allFree reports whether n calls are admitted at once, and takes them back.
func (w *watch) allFree(list []quota.Demand, n int) bool {
	var taken []quota.Ticket
	defer func() {
		for _, t := range taken {
			if err := w.store().Cancel(w.Context(), t); err != nil {
				w.Errorf("Cancel: %v", err)
			}
		}
	}()
	for range n {
		g, err := w.store().Take(w.Context(), quota.Request{Demands: list, Lease: forGood})
		if err != nil {
			w.Fatalf("after a storm of cancelled callers: %v", err)
		}
		if g.Wait > 0 {
			return false
		}
		taken = append(taken, g.Ticket)
	}
	return true
}

// testCancelStorm: callers that give up at any moment leave no lease behind
// for longer than it lasts.
func testCancelStorm(w *watch) {
	d := demand{key: "a", limits: slots(4)}
	list := demandsOf([]demand{d})
	var wg sync.WaitGroup
	for range 32 {
		s := w.store()
		wg.Go(func() {
			for range 10 {
				ctx, cancel := context.WithCancelCause(w.Context())
				wg.Go(func() { cancel(cause{}) })
				g, err := s.Take(ctx, quota.Request{Demands: list, Lease: short})
				switch {
				case err == nil && g.Wait == 0:
					if err = s.End(w.Context(), g.Ticket, nil); errors.Is(err, quota.ErrLeaseLost) {
						err = nil // it was slow
					}
				case errors.Is(err, cause{}):
					err = nil
				}
				if err != nil {
					w.Errorf("in a storm of cancelled callers: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for tries := 0; tries < 100 && !w.allFree(list, 4); tries++ { // a request of a caller that has left may be on its way
		w.passUntil(w.now() + int64(short))
	}
	for range 4 {
		w.check(w.take(forGood, d).Wait == 0, "a slot is still taken, without a lease")
	}
	w.take(forGood, d)
}

// testClockSteps: when its clock is set, a store neither forgets what was
// taken nor gives an instant twice; when it is right again, all goes on.
func testClockSteps(w *watch) {
	if w.s.StepClock == nil {
		w.Skip("the clock of this store cannot be stepped: Subject.StepClock is nil")
	}
	const back = 10 * long
	a := demand{key: "a", limits: limits{concurrency: 1, windows: []spec{newSpec(sliding, throttle.Requests, 3, long)}}}
	b := demand{key: "b", limits: requests(bucket, 2, short)}
	w.s.Pass(back)
	t := w.take(2*long, a, b).Ticket
	w.s.StepClock(-back)
	w.take(long, a)
	w.drain(3, 0, b)
	w.renew(long, t)
	w.end(t, nil)
	w.drain(4, long, a)
	w.s.StepClock(back)
	w.drain(4, long, a)
	w.drain(3, 0, b)
	w.passUntil(w.now() + int64(2*long))
	w.drain(4, long, a)
	w.drain(3, 0, b)
	w.s.StepClock(back) // as after a sleep
	w.drain(4, long, a)
	w.drain(3, 0, b)
}
