package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

const (
	mostWorkers = 2000    // over HTTP/1.1, each has a connection of its own
	mostCapped  = 1 << 20 // with a cap on calls in flight: the most that a batch takes
	mostEarly   = 200     // requests that are started while an earlier one is retried
	unwritten   = 256     // results that may wait for the disk while other requests go on
	mostMemory  = 1 << 30 // of the requests that are worked on, in bytes; the process takes about twice as much
)

// workers is the number of requests that are worked on at the same time. Without a cap on calls in flight, it is the
// number that the controller Measured admits, unless the requests would take too much memory: the guard bounds the calls.
func (j *Job) workers() int {
	if n := min(j.Spec.Limits.Concurrency, mostCapped); n > 0 {
		if j.Ordered { // results that are early wait for requests that are retried, and other requests have to continue meanwhile
			n = max(n, min(4*n, mostEarly))
		}
		return n
	}
	return j.scan.Within(mostMemory, j.usualWorkers())
}

// usualWorkers is the number of workers for requests of a usual length.
func (j *Job) usualWorkers() int {
	var law adaptive.Measured
	if p, err := presets.Lookup(string(j.Spec.Preset)); err == nil {
		law.Prior = p.Prior()
	}
	return min(law.WithDefaults().Max, mostWorkers)
}

// window is how many requests may be read while the result of an earlier one is not written.
func (j *Job) window() int {
	n := j.workers()
	usual := 4*n + unwritten
	if j.Ordered && j.Spec.Limits.Concurrency == 0 { // early results wait, together with their requests
		return max(n, j.scan.Within(mostMemory, usual))
	}
	return usual
}

// sayFewer says that long requests leave memory for fewer calls.
func (j *Job) sayFewer() {
	if n := j.workers(); j.Spec.Limits.Concurrency == 0 && n < j.usualWorkers() {
		j.say(fmt.Sprintf("%s has long lines: at most %d calls are in flight, so that their requests take up to %d MiB of memory (--concurrency sets another number)",
			j.Requests, n, mostMemory>>20))
	}
}

type batch = node.Batch[node.None, requests.Request, results.Answer]

// batchName identifies the batch in the journal.
const batchName = "requests"

func (j *Job) batch(c *caller) *batch {
	b := node.Map(batchName, c.call).
		WithParallel(j.workers()).
		WithWindow(j.window()).
		Within(j.guard).
		WithRetry(retry.Policy{MaxAttempts: j.MaxAttempts, Except: []error{results.ErrUnsent}}).
		WithCost(c.cost).
		WithKey(func(q requests.Request) string { return q.Key() }).
		WithGrace(j.Grace)
	if j.MaxFailures != nil {
		b.WithOnError(node.MaxFailures(*j.MaxFailures).Except(unsent))
	}
	if !j.Ordered {
		b.Unordered()
	}
	if j.journal != nil {
		b.WithJournal(j.journal).WithVersion(j.version()).Dedup() // which takes no memory, because the IDs differ
	}
	if j.files != nil {
		b.WithSink(j.files)
	}
	if j.RetryFailed {
		b.RetryFailed()
	}
	return b
}

// stream makes the calls of all requests, and counts their outcomes. If the results cannot be written any more, it stops the run; calls in
// flight are then still recorded, for the next run to write their results.
func (j *Job) stream(ctx context.Context, b *batch, in io.Reader, answers *room, stop context.CancelCauseFunc) error {
	var lost error
	first := j.firsts()
	if j.scan != nil {
		flow.Expect(ctx, b.Name(), int(j.scan.Lines))
	}
	for r, err := range b.Stream(ctx, j.input(ctx, in, answers)) {
		if err != nil {
			return errors.Join(lost, err)
		}
		if lost == nil && j.lines != nil && !waits(&r) && first(&r.In) {
			lost = j.lines.Write(&r)
			if lost != nil && j.journal == nil { // no result has a use any more
				j.outcome.Waiting++
				return lost
			}
			if lost != nil {
				stop(j.plainer(lost))
			}
		}
		answers.gone(r.In.Key())
		j.outcome.count(&r)
		if j.Strict && r.In.Bad != "" && r.State == node.Failed { // an earlier run has recorded it
			return badLine(r.In.Line, r.In.Bad)
		}
		if r.State == node.Resumed && r.Out.Of != r.In.Hash() {
			j.changed(r.In) // no request is paid for twice, and results are not mixed unnoticed
		}
	}
	return lost
}

// firsts returns a function that reports whether a request is the first one with its key. With a journal, a request of standard input
// that repeats an ID has the result of the first one, with a line that is already written. A file was checked for these.
func (j *Job) firsts() func(*requests.Request) bool {
	if j.journal == nil || j.lines == nil || j.scan != nil {
		return func(*requests.Request) bool { return true }
	}
	met := map[occurrence.Short]bool{}
	return func(q *requests.Request) bool {
		of := occurrence.Of(q.Key())
		again := met[of]
		met[of] = true
		return !again
	}
}

// input yields the requests as they are started, each when there is room for its answer.
func (j *Job) input(ctx context.Context, in io.Reader, answers *room) iter.Seq2[requests.Request, error] {
	all := j.scan.Mark(j.read(in))
	if j.scan == nil {
		all = interruptible(ctx, all)
	}
	return func(yield func(requests.Request, error) bool) {
		for q, err := range all {
			if err != nil {
				j.outcome.input = err
				return
			}
			answers.begin(ctx)
			if !yield(q, nil) || q.Bad != "" && j.Strict { // later lines would race with it to be the one that is named
				return
			}
		}
	}
}
