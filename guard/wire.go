package guard

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// wire counts the connections that net/http uses for one attempt.
type wire struct{ asked, got atomic.Int64 }

// CountWire returns a context for the net/http request of an attempt, so that
// requests net/http resends on its own are charged too. headrace.Transport
// calls it. Outside of a call it returns ctx.
func CountWire(ctx context.Context) context.Context {
	k := attemptOf(ctx)
	if k == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: k.asks, GotConn: k.gets})
}

func (k *attempt) asks(string) { k.wire.asked.Add(1) }

func (k *attempt) gets(httptrace.GotConnInfo) { k.wire.got.Add(1) }

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
	k.hooks = hooks
}

// unconnected reports whether net/http has asked for a connection and got none: the provider cannot be reached.
func (k *attempt) unconnected() bool {
	asked, got := k.Wire()
	return asked > 0 && got == 0
}

// Wire implements inflight.Attempt.
func (k *attempt) Wire() (asked, got int64) { return k.wire.asked.Load(), k.wire.got.Load() }
