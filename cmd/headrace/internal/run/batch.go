package run

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

const (
	mostWorkers = 2000 // over HTTP/1.1, each has a connection of its own
	mostEarly   = 200  // requests that are started while an earlier one is retried
	unwritten   = 256  // results that may wait for the disk while other requests go on
)

// workers is the number of requests that are worked on at the same time. Without a cap on calls in flight, it is the
// number that the controller Measured admits: the guard bounds the calls.
func (j *Job) workers() int {
	if n := j.Spec.Limits.Concurrency; n > 0 {
		if j.Ordered { // results that are early wait for requests that are retried, and other requests have to continue meanwhile
			n = max(n, min(4*n, mostEarly))
		}
		return n
	}
	var law adaptive.Measured
	if p, err := presets.Lookup(string(j.Spec.Preset)); err == nil {
		law.Prior = p.Prior()
	}
	return min(law.WithDefaults().Max, mostWorkers)
}

type batch = node.Batch[node.None, requests.Request, results.Answer]

// batchName identifies the batch in the journal.
const batchName = "requests"

func (j *Job) batch(c *caller) *batch {
	b := node.Map(batchName, c.call).
		WithParallel(j.workers()).
		WithWindow(4*j.workers() + unwritten).
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
func (j *Job) stream(ctx context.Context, b *batch, in io.Reader, stop context.CancelCauseFunc) error {
	var lost error
	if j.scan != nil {
		flow.Expect(ctx, b.Name(), int(j.scan.Lines))
	}
	for r, err := range b.Stream(ctx, j.input(ctx, in)) {
		if err != nil {
			return errors.Join(lost, err)
		}
		if lost == nil && j.lines != nil && !waits(&r) {
			lost = j.lines.Write(&r)
			if lost != nil && j.journal == nil { // no result has a use any more
				j.outcome.Waiting++
				return lost
			}
			if lost != nil {
				stop(j.plainer(lost))
			}
		}
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

// input yields the requests as they are started.
func (j *Job) input(ctx context.Context, in io.Reader) iter.Seq2[requests.Request, error] {
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
			if !yield(q, nil) || q.Bad != "" && j.Strict { // later lines would race with it to be the one that is named
				return
			}
		}
	}
}
