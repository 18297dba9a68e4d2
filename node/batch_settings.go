package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Bounds on settings, since each worker takes a goroutine, and each place of a window the memory of a result.
const (
	mostWorkers = 1 << 20
	mostWindow  = 1 << 24
)

// between reports whether n is a number from 1 to most, and else adds a problem.
func (b *Batch[S, In, Out]) between(setting string, n, most int) bool {
	switch {
	case n < 1:
		b.setup.Addf(setting, "%d is below 1", n)
	case n > most:
		b.setup.Addf(setting, "%d is above %d", n, most)
	default:
		return true
	}
	return false
}

// WithParallel works on up to n items at the same time, at most 1,048,576. The default is 1.
func (b *Batch[S, In, Out]) WithParallel(n int) *Batch[S, In, Out] {
	b.setup.Change("WithParallel", func() {
		if b.between("WithParallel", n, mostWorkers) {
			b.parallel = n
		}
	})
	return b
}

// WithLookahead reads up to n items ahead, so that items which wait for a busy guard do not delay
// others: WithParallel then bounds only admitted calls. The default is 0; with WithinOf it is
// 16 times WithParallel, at least 256. The most is 1,048,576.
func (b *Batch[S, In, Out]) WithLookahead(n int) *Batch[S, In, Out] {
	b.setup.Change("WithLookahead", func() {
		if b.between("WithLookahead", n, mostWorkers) {
			b.lookahead = n
		}
	})
	return b
}

// With sets the whole policy of the batch's calls. Its Name defaults to that of the batch. Within, WithLimits,
// WithPreset, WithRetry and WithTimeout set single fields of it, and must come after it.
func (b *Batch[S, In, Out]) With(p guard.Policy) *Batch[S, In, Out] { b.with(p); return b }

// Within makes every call pass the guards as well, which other nodes may share. See
// guard.Policy.Within.
func (b *Batch[S, In, Out]) Within(guards ...*guard.Guard) *Batch[S, In, Out] {
	b.within(guards)
	return b
}

// WithinOf makes the calls of an item pass the guard that f returns for it as well, such as that of
// its host. Nil adds none. f is called once for each item, concurrently; a panic in it is the error of
// the item.
func (b *Batch[S, In, Out]) WithinOf(f func(in In) *guard.Guard) *Batch[S, In, Out] {
	b.setFunc("WithinOf", f == nil, func() { b.withinOf = f })
	return b
}

// WithLimits sets hard limits of the batch's calls. A window of tokens needs WithCost or WithUsed.
func (b *Batch[S, In, Out]) WithLimits(l throttle.Limits) *Batch[S, In, Out] {
	b.withLimits(l)
	return b
}

// WithPreset starts from the limits that a provider documents, such as presets.OpenAITier1, and reads
// its answers by its dialect. Limits on tokens need WithCost to apply from the start.
func (b *Batch[S, In, Out]) WithPreset(id presets.ID) *Batch[S, In, Out] {
	b.withPreset(id)
	return b
}

// WithRetry retries failed attempts of an item by p. The default is one attempt. Waiting out a 429 is
// not an attempt. Panics, hung calls, used-up quotas and costs above a limit are not retried, answers
// such as a 400 only if p has a Retryable.
func (b *Batch[S, In, Out]) WithRetry(p retry.Policy) *Batch[S, In, Out] { b.withRetry(p); return b }

// WithTimeout bounds each attempt, counted from its admission. An Exec that does not return within
// another second is abandoned, and its item fails with a *fault.HungError.
func (b *Batch[S, In, Out]) WithTimeout(d time.Duration) *Batch[S, In, Out] {
	b.withTimeout(d)
	return b
}

// WithFallback replaces the result of an item after all its attempts have failed, the last with err. It is not
// called for an invalid line of input, if the store of the limits fails, or while the run is being stopped.
func (b *Batch[S, In, Out]) WithFallback(f func(ctx context.Context, in In, err error) (Out, error)) *Batch[S, In, Out] {
	b.setFunc("WithFallback", f == nil, func() { b.fallback = f })
	return b
}

// WithOnError sets when failed items stop the run. By default they do not. A run that they may stop
// also stops when the provider refuses an item for good.
func (b *Batch[S, In, Out]) WithOnError(t Tolerance) *Batch[S, In, Out] {
	b.setup.Change("WithOnError", func() { b.onError = t })
	return b
}

// WithGrace sets how long running items may continue when the run is stopped. The default is 10
// seconds; 0 cancels them at once.
func (b *Batch[S, In, Out]) WithGrace(d time.Duration) *Batch[S, In, Out] {
	b.setup.Change("WithGrace", func() {
		if d < 0 {
			b.setup.Addf("WithGrace", "%s is negative", d)
			return
		}
		b.grace = d
	})
	return b
}

// WithWindow sets how many items Stream may be ahead of the one that it yields. The default is four
// times WithParallel, or WithLookahead if larger; the most is 16,777,216.
func (b *Batch[S, In, Out]) WithWindow(n int) *Batch[S, In, Out] {
	b.setup.Change("WithWindow", func() {
		if b.between("WithWindow", n, mostWindow) {
			b.window = n
		}
	})
	return b
}

// Unordered makes Stream yield results as they finish.
func (b *Batch[S, In, Out]) Unordered() *Batch[S, In, Out] {
	b.setup.Change("Unordered", func() { b.unordered = true })
	return b
}

// WithKey names items by their content, in results, events and the journal.
func (b *Batch[S, In, Out]) WithKey(f func(in In) string) *Batch[S, In, Out] {
	b.setFunc("WithKey", f == nil, func() { b.key = f })
	return b
}

// WithCost sets what is reserved for an item. The default is one request.
func (b *Batch[S, In, Out]) WithCost(f func(in In) throttle.Cost) *Batch[S, In, Out] {
	b.setFunc("WithCost", f == nil, func() { b.cost = f })
	return b
}

// WithUsed sets what a done item really cost, to correct the reservation.
func (b *Batch[S, In, Out]) WithUsed(f func(in In, out Out) throttle.Cost) *Batch[S, In, Out] {
	b.setFunc("WithUsed", f == nil, func() { b.used = f })
	return b
}
