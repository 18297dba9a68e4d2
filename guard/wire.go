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
	return k.CountWire(ctx, new(httptrace.ClientTrace))
}

// CountWire implements inflight.Attempt.
func (k *attempt) CountWire(ctx context.Context, hooks *httptrace.ClientTrace) context.Context {
	hooks.GetConn = func(string) { k.wire.asked.Add(1) }
	hooks.GotConn = func(httptrace.GotConnInfo) { k.wire.got.Add(1) }
	return httptrace.WithClientTrace(ctx, hooks)
}

// Wire implements inflight.Attempt.
func (k *attempt) Wire() (asked, got int64) { return k.wire.asked.Load(), k.wire.got.Load() }
