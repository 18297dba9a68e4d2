package headrace

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// wire counts what net/http does for one attempt: a request whose reused
// connection dies is sent again without a word, and the provider counts both.
type wire struct {
	asked, got atomic.Int64
	hooks      httptrace.ClientTrace // of the first attempt
	begun      bool
}

// trace begins an attempt.
func (w *wire) trace(ctx context.Context) context.Context {
	w.asked.Store(0)
	w.got.Store(0)
	hooks := &w.hooks
	if w.begun { // what has dialled for the last attempt may still look at them
		hooks = new(httptrace.ClientTrace)
	}
	w.begun = true
	hooks.GetConn = func(string) { w.asked.Add(1) }
	hooks.GotConn = func(httptrace.GotConnInfo) { w.got.Add(1) }
	return httptrace.WithClientTrace(ctx, hooks)
}

// unsent reports whether there was no connection to send anything on. A round
// tripper that tells nothing may have sent it.
func (w *wire) unsent() bool { return w.asked.Load() > 0 && w.got.Load() == 0 }

// learn notes that the base lets us see its connections, as net/http does.
func (t *transport) learn(w *wire) {
	if !t.tells.Load() && w.asked.Load() > 0 {
		t.tells.Store(true)
	}
}

func (w *wire) attempts() int64 { return w.got.Load() }
