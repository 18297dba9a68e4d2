package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// WithParallel has n workers work on items at the same time. The default is
// 1: one item after the other.
func (b *Batch[S, In, Out]) WithParallel(n int) *Batch[S, In, Out] {
	b.setup.Change("WithParallel", func() {
		if n < 1 {
			b.setup.Addf("WithParallel", "%d is below 1", n)
			return
		}
		b.parallel = n
	})
	return b
}

// WithLimits gives the batch a limiter of its own with these hard caps, built
// on first use. Within them it adapts: without WithLaw it begins with as many
// calls in flight as WithParallel and the limits allow, and cuts when the
// provider refuses. A window of tokens needs WithCost or WithUsed.
func (b *Batch[S, In, Out]) WithLimits(l throttle.Limits) *Batch[S, In, Out] {
	b.setLimits(l)
	return b
}

// WithPreset gives the batch a limiter of its own that starts from what the
// provider documents, presets.OpenAITier1 for example, and knows the provider's
// dialect. It is for this batch alone: nodes that draw on one quota share one
// limiter, with WithLimiter and a registry.
//
//   - The preset is where the law Measured starts; refusals and headers move it
//     both ways. It begins with as many calls in flight as WithParallel, the
//     preset and WithLimits allow. Without WithCost its tokens do not hold calls
//     back until the provider says so.
//   - A preset marked Hard is a cap, like WithLimits. WithLimits are caps in any
//     case; with both, both hold.
//   - WithLaw goes before the preset's law. A Measured without a Prior starts from
//     the preset all the same. Any other law, such as AIMD, has nowhere to start
//     from, so the preset's limits, long quotas included, are caps around it.
//
// A preset that is unknown, or that allows nothing, is an error of Validate: a
// *presets.UnknownError or a *presets.UnavailableError. One that is older than a
// year is told once in a process, as an event.LimiterStalePreset. It excludes
// WithLimiter.
func (b *Batch[S, In, Out]) WithPreset(id presets.ID) *Batch[S, In, Out] {
	b.setPreset(id)
	return b
}

// WithDialect sets how the provider speaks about its limits, in the place of
// the preset's dialect if there is one. The dialect reads the answer that an
// error carries; see adaptive.AnswerIn. A detector of WithDetector is asked
// before it, and the default detector after it. A dialect.Name that is none is
// an error of Validate. It excludes WithLimiter, whose limiter has its own.
func (b *Batch[S, In, Out]) WithDialect(d dialect.Dialect) *Batch[S, In, Out] {
	b.setDialect(d)
	return b
}

// WithLimiter has the batch share l. It excludes WithLimits, WithLaw, WithPreset,
// WithDialect and WithDetector, which l has for itself.
func (b *Batch[S, In, Out]) WithLimiter(l *adaptive.Limiter) *Batch[S, In, Out] {
	b.setLimiter(l)
	return b
}

// WithBreaker has every attempt ask br, once the limiter has admitted it. What
// an open breaker refuses was never sent: the admission is undone, and the
// item's error is the *breaker.OpenError, with the time that is left. For a
// retry policy that is an attempt, although one that Result.Attempts does not
// count; the next follows after the policy's delay and the time left, also if
// that is more than the policy's Max.
//
// An attempt counts by what the batch's detectors say of its error: an answer
// such as a 400 is a success; a failure that another attempt may cure, such as
// a 500, is a failure; and a refusal for rate, an overloaded service that says
// when to come back, and a used-up quota are undecided. What they do not know
// is for breaker.Config.Classify, which by default takes it for a failure. A
// panic is a failure, and so is an attempt that runs into WithItemTimeout, at
// the latest when it is left behind; what the stop of the run cuts short is
// undecided, and so is a batch inside, whose items have been judged there.
//
// A breaker may be shared by nodes that call the same service, but not by two
// of which one runs inside the other: half-open, it would refuse the inner one
// because of the outer one.
func (b *Batch[S, In, Out]) WithBreaker(br *breaker.Breaker) *Batch[S, In, Out] {
	b.setBreaker(br)
	return b
}

// WithLaw gives the batch a limiter of its own that adapts by l.
func (b *Batch[S, In, Out]) WithLaw(l adaptive.Law) *Batch[S, In, Out] {
	b.setLaw(l)
	return b
}

// WithDetector sets what tells a refusal for rate from other errors. It is
// asked first, then the dialect of WithDialect or WithPreset, at last the default detector.
func (b *Batch[S, In, Out]) WithDetector(d adaptive.Detector) *Batch[S, In, Out] {
	b.setDetector(d)
	return b
}

// WithRetry repeats a failed attempt by p; every item counts for itself.
// Without it there is one attempt. Waiting out a refusal for rate is not an
// attempt. An answer such as a 400, a panic, a used-up quota and a cost that
// never fits are not tried again, whatever p says; the first of them unless p
// has a Retryable.
func (b *Batch[S, In, Out]) WithRetry(p retry.Policy) *Batch[S, In, Out] {
	b.setRetry(p)
	return b
}

// WithFallback replaces the result of an item whose attempts have all failed
// with err. It is not asked about an item that the input failed to produce,
// and not once the run is being stopped.
func (b *Batch[S, In, Out]) WithFallback(f func(ctx context.Context, in In, err error) (Out, error)) *Batch[S, In, Out] {
	b.setFunc("WithFallback", f == nil, func() { b.fallback = f })
	return b
}

// WithOnError sets when failed items stop the run. The default is Collect. A
// run that is stopped lets running items finish: see WithGrace.
func (b *Batch[S, In, Out]) WithOnError(p Policy) *Batch[S, In, Out] {
	b.setup.Change("WithOnError", func() { b.onError = p })
	return b
}

// WithItemTimeout bounds each attempt at an item, counted from its admission.
// An Exec that does not return within a second of it is left behind: its slot
// is given back, its worker replaced, and its item fails with a *fault.HungError,
// which is not retried.
func (b *Batch[S, In, Out]) WithItemTimeout(d time.Duration) *Batch[S, In, Out] {
	b.setTimeout("WithItemTimeout", d)
	return b
}

// WithGrace sets how long running items may go on when the run is stopped,
// before their context ends. The default is 10 seconds; 0 ends it at once.
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

// WithWindow sets how many items Stream may be ahead of the one that is
// yielded. The default is four times WithParallel.
func (b *Batch[S, In, Out]) WithWindow(n int) *Batch[S, In, Out] {
	b.setup.Change("WithWindow", func() {
		if n < 1 {
			b.setup.Addf("WithWindow", "%d is below 1", n)
			return
		}
		b.window = n
	})
	return b
}

// Unordered has Stream yield results as they finish.
func (b *Batch[S, In, Out]) Unordered() *Batch[S, In, Out] {
	b.setup.Change("Unordered", func() { b.unordered = true })
	return b
}

// Propagate signals the batch's rate limit hits to the batch that encloses it.
func (b *Batch[S, In, Out]) Propagate() *Batch[S, In, Out] {
	b.setPropagate()
	return b
}

// WithKey names items by their content, in results and events.
func (b *Batch[S, In, Out]) WithKey(f func(in In) string) *Batch[S, In, Out] {
	b.setFunc("WithKey", f == nil, func() { b.key = f })
	return b
}

// WithCost says what an item costs, to reserve it. Without it an item costs one request.
func (b *Batch[S, In, Out]) WithCost(f func(in In) throttle.Cost) *Batch[S, In, Out] {
	b.setFunc("WithCost", f == nil, func() { b.cost = f })
	return b
}

// WithUsed says what an item that is done really cost, to correct the reservation.
func (b *Batch[S, In, Out]) WithUsed(f func(in In, out Out) throttle.Cost) *Batch[S, In, Out] {
	b.setFunc("WithUsed", f == nil, func() { b.used = f })
	return b
}
