// Package breaker is a circuit breaker: it stops calls to a server that fails.
//
// A [Breaker] is closed while calls succeed. After five failures in a row it opens
// and rejects every call with an [*OpenError], first for ten seconds, then twice as
// long each time that a probe fails, up to a minute. When that time is over it is
// half-open: it admits one call at a time as a probe, and closes after two successes.
// These numbers are fields of [Config].
//
//	err := b.Do(ctx, func(ctx context.Context) error { return call(ctx) })
//	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
//		// nothing was sent; try again after open.RetryAfter
//	}
//
// [Breaker.Allow] is for calls that end elsewhere: it returns a [Ticket] to end once.
//
// # What counts
//
// Config.Classify, or [DefaultClassify], decides whether the error of a call is a
// [Success], a [Failure] or [Undecided]. An undecided call changes no count; if it was a
// probe, the next call takes its place. A call is always undecided if its context was
// cancelled or if it ended its goroutine with runtime.Goexit. A context past its deadline
// does not count as cancelled, because that is how a server that hangs is noticed.
//
// A call that was admitted before the breaker changed its state no longer counts
// when it ends.
package breaker
