package main

import (
	"context"
	"errors"
	"iter"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlitestore"
)

// work is one process's share of a run, and the state of its node.
type work struct {
	settings

	ask      func(context.Context, Text) (string, error)
	counts   node.Counts
	leftover int64
}

func newWork(s settings, c *client) *work { return &work{settings: s, ask: c.summarise} }

// do goes on where the journal says that an earlier process has come to.
func (w *work) do(ctx context.Context) (err error) {
	j, err := sqlitestore.OpenJournal(w.journal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return w.with(ctx, j)
}

// with has one call made for each text that is not in j.
func (w *work) with(ctx context.Context, j journal.Journal) (err error) {
	results := node.NewJSONLFile[Text, string](w.out)
	defer func() { err = errors.Join(err, results.Close()) }()

	summarise := node.BatchFunc("summarise", texts, w.ask, took).
		WithParallel(w.parallel).
		WithRetry(retry.Policy{}).
		WithJournal(j).                               // items that it has are not called again
		WithKey(func(t Text) string { return t.ID }). // identifies the item in the journal
		WithVersion(w.model + ": " + prompt).         // what else the results depend on
		WithSink(results)                             // memory stays flat, however long the input
	if w.retryFailed {
		summarise.RetryFailed()
	}
	_, err = flow.Run(ctx, summarise, w, flow.WithRun(w.run))
	return err
}

// texts reads the input while the calls are made.
func texts(_ context.Context, w *work) (iter.Seq2[Text, error], error) { return readTexts(w.in), nil }

// took is also reported for a run that was stopped.
func took(_ context.Context, w *work, r *node.Report[Text, string]) (node.Action, error) {
	w.counts, w.leftover = r.Counts(), r.Leftover()
	return node.Next, r.Err()
}
