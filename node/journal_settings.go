package node

import (
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/journal"
)

// WithJournal records the outcome of each item in j, so that a run that was stopped or killed resumes:
// see docs/resume.md. flow.WithRun or journal.WithRun names the run; a second concurrent one of that
// name fails. Items are identified by WithKey, or else by their JSON.
//
// If j fails the run stops with a *JournalError, and items that were not recorded are pending. The
// caller closes j.
func (b *Batch[S, In, Out]) WithJournal(j journal.Journal) *Batch[S, In, Out] {
	b.setup.Change("WithJournal", func() {
		if invalid.Nil(j) {
			b.setup.Addf("WithJournal", "the journal is nil: leave the setting out, or check the error of the function that opens it")
			return
		}
		b.journal, b.items, b.results = j, shapeOf[In](), shapeOf[Out]()
	})
	return b
}

// WithVersion names what the results depend on besides the item: the prompt, the model, the code. A
// run with another version than the journal has fails with a *journal.VersionError.
func (b *Batch[S, In, Out]) WithVersion(version string) *Batch[S, In, Out] {
	b.setup.Change("WithVersion", func() { b.version = version })
	return b
}

// RetryFailed tries items that failed in an earlier run once more. It needs WithJournal.
func (b *Batch[S, In, Out]) RetryFailed() *Batch[S, In, Out] {
	b.setup.Change("RetryFailed", func() { b.retryFailed = true })
	return b
}

// Dedup makes one call for all items of the same content under one flow.Run, or else in one run: the
// others share its result, as Resumed, or its failure. It needs WithJournal.
func (b *Batch[S, In, Out]) Dedup() *Batch[S, In, Out] {
	b.setup.Change("Dedup", func() { b.dedup = true })
	return b
}

// WithSink passes every result that is Done or Failed to s, with a journal once it is recorded. Run
// then keeps counts and the first 100 failures, so that memory does not grow with the input; All and
// Stream return their results as well. If s fails the run stops with a *SinkError. docs/resume.md has
// the rules.
func (b *Batch[S, In, Out]) WithSink(s Sink[In, Out]) *Batch[S, In, Out] {
	b.setup.Change("WithSink", func() {
		if invalid.Nil(s) {
			b.setup.Addf("WithSink", "the sink is nil: leave the setting out")
			return
		}
		b.sink = s
		b.text, _ = s.(texter[Out])
	})
	return b
}

func (b *Batch[S, In, Out]) checkJournal(p *invalid.Problems) {
	if b.journal != nil {
		b.checkTypes(p)
		return
	}
	if b.retryFailed {
		p.Addf("RetryFailed", "it needs WithJournal, which records failures")
	}
	if b.dedup {
		p.Addf("Dedup", "it needs WithJournal, which stores the results")
	}
	if b.version != "" {
		p.Addf("WithVersion", "it needs WithJournal, the only record of earlier runs")
	}
}

// checkTypes refuses what a later run would take for something else.
func (b *Batch[S, In, Out]) checkTypes(p *invalid.Problems) {
	if b.key == nil && b.items.lost != "" {
		p.Addf("WithKey", "the journal identifies an item by its JSON, which leaves out %s: use WithKey to identify items", b.items.lost)
	}
	if b.results.lost != "" {
		p.Addf("WithJournal", "results are kept as JSON, which leaves out %s: export it, tag it `json:\"-\"` if a resumed result may lack it, "+
			"give its type MarshalJSON and UnmarshalJSON, or return another type", b.results.lost)
	}
}
