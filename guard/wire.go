package guard

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/headrace/headrace/internal/openfiles"
)

// wire counts the connections that net/http uses for one attempt.
type wire struct {
	asked, got atomic.Int64
	dials      atomic.Bool // a lookup or a connection was begun for it
}

// CountWire returns a context for the net/http request of an attempt, so that
// requests net/http resends on its own are charged too. headrace.Transport
// calls it. Outside of a call it returns ctx.
func CountWire(ctx context.Context) context.Context {
	k := attemptOf(ctx)
	if k == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: k.asks, GotConn: k.gets, DNSStart: k.looksUp, ConnectStart: k.dials})
}

func (k *attempt) asks(string) { k.wire.asked.Add(1) }

func (k *attempt) gets(httptrace.GotConnInfo) { k.wire.got.Add(1) }

func (k *attempt) looksUp(httptrace.DNSStartInfo) { k.wire.dials.Store(true) }

func (k *attempt) dials(string, string) { k.wire.dials.Store(true) }

// CountWire implements inflight.Attempt. The attempt is the context of hooks, which
// costs less than WithClientTrace: that composes hooks by reflection.
func (k *attempt) CountWire(hooks *httptrace.ClientTrace) {
	around := httptrace.ContextClientTrace(k.Context)
	if around == nil {
		around = new(httptrace.ClientTrace)
	}
	*hooks = *around
	hooks.GetConn, hooks.GotConn = k.asks, k.gets
	if also := around.GetConn; also != nil {
		hooks.GetConn = func(to string) {
			k.asks(to)
			also(to)
		}
	}
	if also := around.GotConn; also != nil {
		hooks.GotConn = func(got httptrace.GotConnInfo) {
			k.gets(got)
			also(got)
		}
	}
	if k.call.guard.breakers {
		k.watchDials(hooks, around)
	}
	k.hooks = hooks
}

// watchDials has hooks note that the attempt dials.
func (k *attempt) watchDials(hooks, around *httptrace.ClientTrace) {
	hooks.DNSStart = func(info httptrace.DNSStartInfo) {
		k.looksUp(info)
		if around.DNSStart != nil {
			around.DNSStart(info)
		}
	}
	hooks.ConnectStart = func(network, address string) {
		k.dials(network, address)
		if around.ConnectStart != nil {
			around.ConnectStart(network, address)
		}
	}
}

// unconnected reports whether net/http has asked for a connection and got none, because the provider cannot be reached. An
// attempt that has waited for one of its MaxConnsPerHost says nothing about the provider.
func (k *attempt) unconnected(err error) bool {
	asked, got := k.Wire()
	return asked > 0 && got == 0 && !openfiles.Exhausted(err) && (k.wire.dials.Load() || !late(err))
}

// late reports whether err is that of a deadline.
func late(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, context.DeadlineExceeded)
}

// Wire implements inflight.Attempt.
func (k *attempt) Wire() (asked, got int64) { return k.wire.asked.Load(), k.wire.got.Load() }
