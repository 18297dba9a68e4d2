package node

import (
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/journal"
)

// WithJournal records what becomes of each item in j, so that a run that was
// stopped or killed resumes where it was: docs/resume.md has the states, keys
// and versions. The run's name is that of flow.WithRun or journal.WithRun, or
// else journal.DefaultRun. A second run of the same name at the same time is
// refused with a *JournalError around a *journal.HeldError.
//
// A result is handed on only after its record is durable. An item is known by
// WithKey, or else by its JSON; results are kept as JSON, and one that JSON
// cannot hold fails with a *ResultError. If j fails the run stops with a
// *JournalError, and what was not recorded is pending. The caller closes j.
func (b *Batch[S, In, Out]) WithJournal(j journal.Journal) *Batch[S, In, Out] {
	b.setup.Change("WithJournal", func() {
		if invalid.Nil(j) {
			b.setup.Addf("WithJournal", "the journal is nil: leave the setting out, or look at the error of what opens it")
			return
		}
		b.journal, b.items, b.results = j, shapeOf[In](), shapeOf[Out]()
	})
	return b
}

// WithVersion names what the results depend on besides the item: the prompt, the
// model, the code. A journal that has results of another version refuses the run
// with a *journal.VersionError.
func (b *Batch[S, In, Out]) WithVersion(version string) *Batch[S, In, Out] {
	b.setup.Change("WithVersion", func() { b.version = version })
	return b
}

// RetryFailed tries items again that failed in an earlier run, once each. It needs WithJournal.
func (b *Batch[S, In, Out]) RetryFailed() *Batch[S, In, Out] {
	b.setup.Change("RetryFailed", func() { b.retryFailed = true })
	return b
}

// Dedup makes one call for all items of the same content: the others wait for it
// and have its result, as Resumed, or its failure. That goes for all runs at once under one
// flow.Run, or else for each. The sink gets each content once. In a run that begins anew
// it takes no memory; in one that goes on, about 40 bytes for each content. It needs WithJournal.
func (b *Batch[S, In, Out]) Dedup() *Batch[S, In, Out] {
	b.setup.Change("Dedup", func() { b.dedup = true })
	return b
}

// WithSink hands every result that is Done or Failed to s, as they finish; with a journal, those
// that are recorded, after that. In Run the report then keeps counts and the first 100 failures to come,
// and no values, so that a run needs no more memory for a million items than for ten. All and
// Stream return their results besides.
//
// If s fails the run stops with a *SinkError. With a journal nothing is lost: the run that resumes
// writes what is missing. Without one, what s has not taken is pending. Runs at once of one
// batch write one after the other; with a ResumableSink, the second is refused with a
// *SinkError, and so is a batch with a journal inside the items of another.
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
		p.Addf("RetryFailed", "it needs WithJournal, which knows what has failed")
	}
	if b.dedup {
		p.Addf("Dedup", "it needs WithJournal, which has the results")
	}
	if b.version != "" {
		p.Addf("WithVersion", "it needs WithJournal: nothing else is kept")
	}
}

// checkTypes refuses what a later run would take for something else.
func (b *Batch[S, In, Out]) checkTypes(p *invalid.Problems) {
	if b.key == nil && b.items.lost != "" {
		p.Addf("WithKey", "the journal knows an item by its JSON, which leaves out %s: say by what items are told apart", b.items.lost)
	}
	if b.results.lost != "" {
		p.Addf("WithJournal", "results are kept as JSON, which leaves out %s: export it, tag it `json:\"-\"` if a resumed result may lack it, "+
			"give its type MarshalJSON and UnmarshalJSON, or return another type", b.results.lost)
	}
}
