// Package event is how headrace tells what it is doing: one [Event], one
// [Observer], and the few pieces that bring the one to the other.
//
// Limiters, nodes and flows emit; nothing prints and nothing is logged unless
// an observer is given. One is given to a limiter when it is made, or to
// everything that runs under a context:
//
//	ctx = event.With(ctx, event.Slog(logger))
//
// [Tee] hands an event to several observers. [Slog] writes events to a
// structured log. [NewBuffer] stands in front of an observer that may be slow,
// so that the work never waits for it: events that do not fit are dropped and
// counted.
//
// An observer that is more than that says so by its type: a [Tracer] follows flows,
// nodes, items and attempts from their begin to their end, an [ItemCounter] counts what has
// begun, a [CallObserver] is told of each call through a limiter. What nobody asks for costs nothing.
// [NewBuffer] hides these: give a tracer without one.
//
// # Rules for observers
//
// Observe is called on the goroutine that does the work, outside of every
// lock, and from many goroutines at once. It must be safe for that and return
// at once. An observer that panics is not allowed to take the work down: the
// panic is recovered and forgotten, so an observer that wants to hear of its
// own panics recovers them itself.
//
// # Events of your own
//
// Make an event with [New], which sets Index to [NoIndex], and give it to Observe
// of [From], unless that is nil. Hold no lock that an observer could need.
package event
