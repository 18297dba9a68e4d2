// Package inflight is what packages above guard may do with a call in progress:
// give up on one that does not return, and watch how it goes.
package inflight

import (
	"context"
	"net/http/httptrace"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Key is the key of the innermost attempt in a context.
type Key struct{}

// Attempt is an attempt of a guarded call.
type Attempt interface {
	// Number is the number of the attempt, from 1. A resend after a 429 keeps it.
	Number() int
	// Abandon returns everything that the attempt holds before its function has
	// returned, and reports whether there was anything: hung counts as a failure
	// for the breaker, unless it is nil. When the function returns after all, it
	// is not repeated, and the controller learns nothing from it.
	Abandon(hung error) bool
	// Judge returns what the guard would make of err.
	Judge(err error) adaptive.Feedback
	// Detect returns what was reported inside the attempt or, if that has no verdict,
	// the verdict of the detectors that take precedence over the dialect.
	Detect(err error) adaptive.Feedback
	// Hold admits no other call until the attempt ends: the provider is about to
	// say for how long, in the body of a response that is being read.
	Hold()
	// Answers says that a response has begun that is no failure so far and goes on, as
	// a stream does: other calls do not wait for its end to know that the provider answers.
	Answers()
	// Timeout is that of the policy; 0 means none.
	Timeout() time.Duration
	// CountWire has requests under the context of the attempt counted by Wire. It is
	// called once, before the context is passed on. hooks must not be used again.
	CountWire(hooks *httptrace.ClientTrace)
	// Wire returns how often net/http has asked for a connection, and how often
	// it has got one, since CountWire.
	Wire() (asked, got int64)
}

// Of returns the innermost attempt in ctx, or nil.
func Of(ctx context.Context) Attempt {
	a, _ := ctx.Value(Key{}).(Attempt)
	return a
}

// Watcher follows the calls under a context from their wait to their verdict.
// Its methods are called on the goroutine of the call, with no lock held.
type Watcher interface {
	// Waits says that the call asks for admission. A call that needs none goes
	// straight to Admitted.
	Waits()
	// Queued says that the call has its place in the queue of each limit. One that
	// is admitted at once goes straight to Admitted.
	Queued()
	// Admitted says that it was, and what it had to wait for.
	Admitted(bound throttle.Bound)
	// Judged passes on the verdict on the attempt that ended with err.
	Judged(f adaptive.Feedback, err error)
	// Rejected says that a breaker let no attempt through.
	Rejected(err error)
	// Retries says that the call waits before another attempt, which begins when
	// Rested has returned. Rested reports false if the call has to end.
	Retries(attempts int, delay time.Duration, err error)
	Rested(ctx context.Context) bool
}

type watcherKey struct{}

type watched struct {
	context.Context //nolint:containedctx // it is a context

	watcher Watcher
}

func (w *watched) Value(key any) any {
	if key == (watcherKey{}) {
		return w.watcher
	}
	return w.Context.Value(key)
}

// Watch has w watch the calls that are made under the context, but not those
// that are made inside of these.
func Watch(ctx context.Context, w Watcher) context.Context { return &watched{ctx, w} }

// WatcherOf returns the watcher of a call that is made under ctx, or nil.
func WatcherOf(ctx context.Context) Watcher {
	w, _ := ctx.Value(watcherKey{}).(Watcher)
	return w
}

// Private reports whether key is that of a watcher. The context of an attempt has
// no value for it, so that calls inside of it are not watched.
func Private(key any) bool { return key == (watcherKey{}) }
