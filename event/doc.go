// Package event reports what headrace does: one [Event] type, one [Observer].
//
// Nothing is printed or logged unless there is an observer. Give it to a limiter
// when it is made, or to everything that runs under a context:
//
//	ctx = event.With(ctx, event.Slog(logger))
//
// An observer can implement more interfaces: a [Tracer] follows flows, nodes, items
// and attempts from begin to end, a [CallObserver] receives each call through a
// limiter. [NewBuffer] passes on neither.
//
// # Rules for observers
//
// Observe is called from many goroutines at once, on the goroutine that does the
// work, outside of every lock. It must be safe for concurrent use and return at
// once; [NewBuffer] makes any observer so. Panics are recovered and dropped.
//
// # Your own events
//
// Make an event with [New] and pass it to Observe of [From], unless that is nil.
// Do not hold a lock that an observer could need.
package event
