package guard

import (
	"context"
	"errors"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
)

// allowed asks the breakers of all layers, the nearest first. If one of them is
// open, the admission is undone.
func (c *Call) allowed(k *attempt) error {
	if !c.guard.breakers {
		return nil
	}
	for i := range k.parts {
		p := &k.parts[i]
		if p.guard.breaker == nil || p.outer != nil { // the enclosing call has its ticket
			continue
		}
		ticket, err := p.guard.breaker.Allow(k.Context)
		if err == nil {
			p.ticket = ticket
			continue
		}
		k.cancelBreakers(nil)
		k.close()
		k.finish(&adaptive.Feedback{Verdict: adaptive.Unsent, Err: err}, false)
		if w := inflight.WatcherOf(k.Context); w != nil {
			w.Rejected(err)
		}
		return err
	}
	return nil
}

// settleBreakers tells the breakers how the attempt ended.
func (k *attempt) settleBreakers(v adaptive.Verdict, err error) {
	if !k.call.guard.breakers {
		return
	}
	for i := range k.parts {
		t := k.parts[i].ticket
		switch {
		case err != nil && errors.As(err, new(*fault.PanicError)) && !limited(err):
			t.Failure(err)
		case err != nil && errors.Is(k.Err(), context.Canceled):
			t.Cancel()
		default:
			switch v {
			case adaptive.OK:
				t.Success()
			case adaptive.Transient:
				if limited(err) {
					t.Cancel()
				} else {
					t.Failure(err)
				}
			case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal, adaptive.Unsent:
				t.Cancel()
			case adaptive.Unclassified:
				t.End(k.Context, err)
			}
		}
	}
}

// limited reports whether err says of itself that it is no failure of the other side.
func limited(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	e, ok := errors.AsType[interface {
		error
		RateLimited() bool
	}](err)
	return ok && e.RateLimited()
}

// cancelBreakers ends the tickets of an attempt that does not count, or, with
// hung, of one that did not return.
func (k *attempt) cancelBreakers(hung error) {
	for i := range k.parts {
		if t := k.parts[i].ticket; hung != nil {
			t.Failure(hung)
		} else {
			t.Cancel()
		}
	}
}
