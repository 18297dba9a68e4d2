package guard

import (
	"context"
	"errors"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/inside"
)

// allowed asks the breakers of all layers, the nearest first. If one of them is
// open, the admission is undone.
func (c *Call) allowed(k *attempt) error {
	if !c.guard.breakers {
		return nil
	}
	for i := range k.parts {
		p := &k.parts[i]
		if p.guard.breaker == nil || ticketed(k.Context, p.guard) {
			continue
		}
		ticket, err := p.guard.breaker.Allow(k.Context)
		if err == nil {
			p.ticket = ticket
			continue
		}
		if open := openIn(err); open != nil && open.State == breaker.HalfOpen {
			c.probe = hook.Open[interface{ Probed() <-chan struct{} }](p.guard.breaker).Probed()
		}
		k.cancel(err)
		if w := inflight.WatcherOf(k.Context); w != nil {
			w.Rejected(err)
		}
		return err
	}
	return nil
}

// ticketed reports whether an enclosing call holds a ticket of the breaker of l:
// what it sends through calls inside is one probe.
func ticketed(ctx context.Context, l *Guard) bool {
	for o := attemptOf(ctx); o != nil; o = attemptOf(o.Context) { //nolint:contextcheck // outwards
		if o.ticketed(l) {
			return true
		}
	}
	return false
}

func (k *attempt) ticketed(l *Guard) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.of(l)
	return !k.over && p != nil && p.ticket != (breaker.Ticket{})
}

// settleBreakers reports to the breakers how the attempt ended.
func (k *attempt) settleBreakers(v adaptive.Verdict, err error) {
	if !k.call.guard.breakers {
		return
	}
	for i := range k.parts {
		t := k.parts[i].ticket
		switch {
		case panicked(err) && !limited(err):
			t.Failure(err)
		case err != nil && errors.Is(k.Err(), context.Canceled):
			t.Cancel()
		default:
			switch v {
			case adaptive.OK:
				t.End(k.Context, nil)
			case adaptive.Transient:
				if limited(err) {
					t.Cancel()
				} else {
					t.Failure(err)
				}
			case adaptive.Unsent:
				if k.unconnected(err) {
					t.End(k.Context, err)
				} else {
					t.Cancel()
				}
			case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
				t.Cancel()
			case adaptive.Unclassified:
				t.End(k.Context, err)
			}
		}
	}
}

// panicked reports whether err is a panic of the function itself. One that a
// call inside has turned into an error counts as well.
func panicked(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.As(err, new(*fault.PanicError))
}

// limited reports whether err declares that it is not a failure of the provider, or that its parts have been judged already.
func limited(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	if e, ok := errors.AsType[interface {
		error
		RateLimited() bool
	}](err); ok && e.RateLimited() {
		return true
	}
	_, judged := errors.AsType[interface {
		error
		Inside(k inside.Key)
	}](err)
	return judged
}

// cancelBreakers ends the tickets of an attempt that does not count, or, with
// hung, of one that did not return.
func (k *attempt) cancelBreakers(hung error) { endTickets(k.parts, hung) }

func endTickets(parts []part, hung error) {
	if len(parts) == 0 {
		return
	}
	defer endTickets(parts[1:], hung) // also after an observer that ends the goroutine
	if t := parts[0].ticket; hung != nil {
		t.Failure(hung)
	} else {
		t.Cancel()
	}
}
