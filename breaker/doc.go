// Package breaker stops calling what does not answer: a circuit breaker
// around any call.
//
// A [Breaker] is closed as long as calls succeed. After five failures in a row
// it opens, and every call is refused at once with an [*OpenError] that says
// how long that will last: ten seconds, and twice as long each time that the
// trial afterwards fails, up to a minute. Then it is half-open: it lets one
// call at a time through as a probe, and closes after two successes. All of
// these numbers are fields of [Config].
//
//	err := b.Do(ctx, func(ctx context.Context) error { return call(ctx) })
//	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
//		// nothing was sent; try again in open.RetryAfter
//	}
//
// [Breaker.Allow] is for calls that end elsewhere, such as a response whose
// body is read later: it returns a [Ticket], which is ended once.
//
// # What counts
//
// A call ends as a [Success], a [Failure] or [Undecided]; [DefaultClassify]
// decides which, or Config.Classify. Undecided is a call that says nothing
// about whether the other side works: it changes no count, and if it was a
// probe the next call is one in its place. These are undecided, whatever
// Classify would say of the error: calls whose context was cancelled, and
// calls that ended their goroutine with runtime.Goexit. A context whose
// deadline passed is not cancelled: that is how a server that hangs shows. A
// refusal for rate is undecided too: the server is there, but whether it works
// it did not say, and waiting is the limiter's business.
//
// A call that was admitted before the breaker changed its state decides
// nothing any more when it ends. A slow failure of the time before does not
// open what a probe has just closed, and a slow success does not close it.
package breaker
