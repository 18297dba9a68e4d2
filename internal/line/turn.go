package line

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// turn implements inflight.Turn. It is in line from the moment that it has to wait.
type turn struct {
	ticket *Ticket
	name   string // of the guard
	ahead  bool
	began  time.Duration // its arrival
	since  time.Duration // as long before as the request has waited already
	stop   func() bool   // of what may end it from outside; nil: nothing does

	// Guarded by the lock of the Lines.
	line           *line // nil: it has not begun
	client         *client
	item           item
	earlier, later *turn // in the arrivals
	listed         bool
	fresh          bool
	loose          bool          // it asks without an order
	recalled       bool          // ask was ended because it was outranked
	ask            *asking       // nil: it does not ask the guard
	first          asking        // the first of ask: most turns ask once
	err            error         // why the line has ended it
	woken          chan struct{} // holds one; nil: it does not wait
}

// inLine reports whether it has a place in the order.
func (t *turn) inLine() bool { return t.item.flow != nil }

// tell wakes t if it waits.
func (t *turn) tell() {
	if t.woken == nil {
		return
	}
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// Await implements inflight.Turn.
func (t *turn) Await(ctx context.Context) (context.Context, error) {
	if t.ahead {
		return t.hasten(ctx), nil
	}
	for {
		if ctx.Err() != nil {
			t.lose()
			return nil, context.Cause(ctx)
		}
		ask, err := t.begin(ctx)
		if err != nil {
			t.lose()
			return nil, err
		}
		if ask != nil {
			return ask, nil
		}
		select {
		case <-t.woken:
		case <-ctx.Done():
		}
	}
}

// hasten returns the context for a turn that is ahead, which ends when the request
// has waited for MaxWait.
func (t *turn) hasten(ctx context.Context) context.Context {
	l := t.ticket.lines
	ask := &asking{Context: ctx}
	t.ask = ask
	t.stop = l.clock.AfterFunc(l.left(t, t.began), func() { ask.end(l.late(t)) }).Stop
	return ask
}

// begin returns the context to ask under, or nil if t has to wait.
func (t *turn) begin(ctx context.Context) (ask *asking, err error) {
	l := t.ticket.lines
	l.mu.Lock()
	recall := nothing
	defer func() {
		l.mu.Unlock()
		recall()
		if ask != nil && !t.loose {
			t.follow(ask)
		}
	}()
	n, now := t.line, t.began
	if n != nil {
		now = l.clock.Elapsed()
	} else {
		n = l.of(t.name)
		if n.turns++; n.turns == 1 {
			l.busy++
		}
		n.last = now
		t.line = n
	}
	switch {
	case t.err != nil:
		return nil, t.err
	case t.inLine():
	case n.asking == nil && !n.held && n.order.len() == 0:
		t.loose = true
		n.loose++
	default:
		if err := n.join(t, now); err != nil {
			return nil, err
		}
		recall = n.choose()
	}
	if t.loose || n.asking == t {
		if t.ask = &t.first; t.ask.Context != nil { // the guard may still look at an earlier one
			t.ask = new(asking)
		}
		t.ask.Context = ctx
		return t.ask, nil
	}
	if t.woken == nil {
		t.woken = make(chan struct{}, 1)
	}
	return nil, nil
}

// Queued implements inflight.Turn: a call that asks without an order has to wait,
// and joins the line.
func (t *turn) Queued() {
	if t.ahead {
		return
	}
	l := t.ticket.lines
	l.mu.Lock()
	n, ask := t.line, t.ask
	if !t.loose {
		l.mu.Unlock()
		return
	}
	n.settle(t)
	if n.asking == nil {
		n.asking = t
	}
	recall := nothing
	var end error
	if end = n.join(t, l.clock.Elapsed()); end != nil {
		t.err = end
	} else if n.asking != t {
		end = intake.ErrOutranked
		recall = n.choose()
	}
	l.mu.Unlock()
	recall()
	if end != nil {
		l.end(t, ask, end)
		return
	}
	t.follow(ask)
}

// Asked implements inflight.Turn.
func (t *turn) Asked(err error) (again bool) {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
	if t.ahead {
		t.ask.end(nil)
		t.count(t.ticket.lines.clock.Elapsed())
		return false
	}
	l := t.ticket.lines
	l.mu.Lock()
	now, ask := l.clock.Elapsed(), t.ask
	t.ask, t.recalled = nil, false
	n := t.line
	if n.asking == t {
		n.asking = nil
	}
	early := t.loose
	n.settle(t)
	switch {
	case err == nil:
		n.admitted(t, now)
	case errors.Is(err, intake.ErrOutranked):
		again = true
	case n.loose > 0 || early && n.asking != nil: // the queue of the guard is full of calls that are not in line yet
		if again = errors.Is(err, throttle.ErrLimited); again {
			n.hold()
		}
	}
	recall := t.passOn(!again)
	l.mu.Unlock()
	recall()
	ask.end(nil)
	if !again {
		t.count(now)
	}
	return again
}

// admitted counts t, which was admitted.
func (n *line) admitted(t *turn, now time.Duration) {
	n.recent.add(now)
	if t.inLine() {
		n.leave(t, true)
	} else {
		t.client = n.client(t.ticket.caller.Client, now)
	}
	t.client.admitted++
	t.client.last = now
}

// passOn has the next turn ask, if t does not. over says that t has ended.
func (t *turn) passOn(over bool) (recall func()) {
	n := t.line
	if n == nil {
		return nothing
	}
	if over {
		if t.inLine() {
			n.leave(t, false)
		}
		if n.asking == t {
			n.asking = nil
		}
		if n.turns--; n.turns == 0 {
			n.lines.busy--
		}
		t.line = nil
	}
	return n.choose()
}

// lose ends a turn that has not been asked.
func (t *turn) lose() {
	l := t.ticket.lines
	l.mu.Lock()
	recall := t.passOn(true)
	l.mu.Unlock()
	recall()
	t.count(l.clock.Elapsed())
}

// count adds the wait to that of the ticket.
func (t *turn) count(now time.Duration) {
	t.ticket.waited.Add(int64(max(0, now-t.began)))
}
