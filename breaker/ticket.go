package breaker

import (
	"context"

	"github.com/headrace/headrace/event"
)

// Ticket is the permission for one call. End it once, with End, Failure or Cancel; each
// reports whether it ended the ticket, and later ones do nothing. Copies are the same
// ticket. Ending the zero Ticket does nothing. Safe for concurrent use.
//
// If the ticket of a probe is never ended, the breaker stays half-open until
// Reset: give every call a deadline, and defer Cancel.
type Ticket struct {
	b    *Breaker
	slot uint32
	gen  uint64
}

// record is a call under way. Its generation makes an ended ticket, and a copy
// of it, harmless when the record is used again.
type record struct {
	gen      uint64
	phase    uint64 // in which it was admitted
	observer event.Observer
	answers  bool // it counts as a successful probe already
}

// Failure ends the ticket of a call that failed because of the server, whatever
// Classify says. cause is for [OpenError]; it may be nil.
func (t Ticket) Failure(cause error) bool { return t.end(Failure, cause) }

// Cancel ends the ticket of a call that was not made or is [Undecided].
func (t Ticket) Cancel() bool { return t.end(Undecided, nil) }

// End ends the ticket of a call that ran under ctx and returned err. It counts as
// in [Breaker.Do]; nil is a Success.
func (t Ticket) End(ctx context.Context, err error) bool {
	if t.b == nil {
		return false
	}
	return t.end(t.b.outcome(ctx, err), err)
}

func (t Ticket) end(o Outcome, cause error) bool {
	b := t.b
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.endLocked(t, o, cause)
}

func (b *Breaker) endLocked(t Ticket, o Outcome, cause error) bool {
	r := &b.records[t.slot]
	if r.gen != t.gen {
		return false
	}
	ended := *r
	r.gen++
	r.observer = nil
	b.free = append(b.free, t.slot)
	b.countLocked(&ended, o, cause)
	b.wakeLocked()
	b.tellLocked()
	return true
}

func (b *Breaker) countLocked(r *record, o Outcome, cause error) {
	now, before := b.nowLocked(), b.machine.state
	if !b.machine.end(now, r.phase, o, r.answers) {
		return
	}
	if o == Failure {
		b.cause = cause
	}
	b.addChangeLocked(now, before, r.observer)
}

// addChangeLocked notes what the outcome of a call has changed about the state before it.
func (b *Breaker) addChangeLocked(now instant, before State, observer event.Observer) {
	if b.machine.state == Closed && b.machine.failures == 0 {
		b.cause = nil
	}
	if b.machine.state == before {
		return
	}
	switch {
	case b.machine.state == Closed:
		b.addNewsLocked(now, observer, "the probes succeeded")
	case before == HalfOpen:
		b.stats.Opened++
		b.addNewsLocked(now, observer, "a probe failed")
	default:
		b.stats.Opened++
		b.addNewsLocked(now, observer, "too many failures in a row")
	}
}

func (b *Breaker) ticketLocked(o event.Observer) Ticket {
	var slot uint32
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
	} else {
		slot = uint32(len(b.records)) //nolint:gosec // one record per call in flight: far below 2^32
		b.records = append(b.records, record{})
	}
	r := &b.records[slot]
	r.phase, r.observer, r.answers = b.machine.phase, o, false
	return Ticket{b, slot, r.gen}
}
