package run

import (
	"context"
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
	mostWorkers = 2000 // each has a connection, if the service speaks HTTP/1.1
	mostEarly   = 200  // requests that are begun while an earlier one is tried again
)

// workers is how many requests are begun at the same time. Where nobody caps the calls in flight they are as many as
// the law Measured lets go: the guard is what bounds calls.
func (j *Job) workers() int {
	if n := j.Spec.Limits.Concurrency; n > 0 {
		if j.Ordered { // what is early waits for what is tried again, and others have to go on meanwhile
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

// batchName is what the journal knows the batch by.
const batchName = "requests"

func (j *Job) batch(c *caller) *batch {
	b := node.Map(batchName, c.call).
		WithParallel(j.workers()).
		Within(j.guard).
		WithRetry(retry.Policy{MaxAttempts: j.MaxAttempts, Except: []error{results.ErrUnsent}}).
		WithCost(c.cost).
		WithKey(func(q requests.Request) string { return q.Key() }).
		WithGrace(j.Grace)
	if j.MaxFailures != nil {
		b.WithOnError(node.MaxFailures(*j.MaxFailures))
	}
	if !j.Ordered {
		b.Unordered()
	}
	if j.journal != nil {
		b.WithJournal(j.journal).WithVersion(j.version()).Dedup() // which takes no memory, as ids differ
	}
	if j.files != nil {
		b.WithSink(j.files)
	}
	if j.RetryFailed {
		b.RetryFailed()
	}
	return b
}

// stream makes the calls of all requests, and counts what becomes of them.
func (j *Job) stream(ctx context.Context, b *batch, in io.Reader) error {
	if j.scan != nil {
		flow.Expect(ctx, b.Name(), int(j.scan.Lines))
	}
	for r, err := range b.Stream(ctx, j.input(ctx, in)) {
		if err != nil {
			return err
		}
		j.outcome.count(&r)
		if (r.State == node.Done || r.State == node.Resumed) && r.Out.Of != r.In.Hash() {
			j.changed(r.In) // neither is paid for twice, nor do results mix unseen
		}
		if j.lines == nil || r.State == node.Pending || j.journal != nil && waits(&r) {
			continue
		}
		if err := j.lines.Write(&r); err != nil {
			return err
		}
	}
	return nil
}

// input is the requests, as they are begun.
func (j *Job) input(ctx context.Context, in io.Reader) iter.Seq2[requests.Request, error] {
	all := j.scan.Mark(requests.Read(in, j.Lines))
	if j.scan == nil {
		all = interruptible(ctx, all)
	}
	return func(yield func(requests.Request, error) bool) {
		for q, err := range all {
			if err != nil {
				j.outcome.input = err
				return
			}
			if !yield(q, nil) {
				return
			}
		}
	}
}
