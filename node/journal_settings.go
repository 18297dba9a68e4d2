package node

import (
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/journal"
)

// WithJournal records what becomes of each item in j, so that a run that was
// stopped or killed goes on where it was. The run's name is that of
// flow.WithRun or journal.WithRun, or else journal.DefaultRun.
//
//   - An item that is Done in j is not called again: its result has the State
//     Resumed. One that Failed fails again with a *RecordedError, unless there is
//     RetryFailed. Everything else is called, at least once.
//   - A result is handed on, to Post, All and Stream, only after its record is
//     durable. Result.Attempts counts those of all runs.
//   - A failure is recorded if the provider may have worked on the item. One that was
//     never sent, or that the provider refused for rate, load or a used-up quota, is
//     not: the next run has another chance. What WithFallback returns is a result like any other.
//   - An item is known by WithKey, or else by its JSON; one that has neither fails. Items with
//     the same content are told apart by their order, which takes about 40 bytes of memory for
//     each content. In a loop of a flow the batch counts on from round to round. Another attempt
//     at a step or an item around it, by WithRetry or after a refusal, meets the same items again: what
//     is done is Resumed, and what failed is called again only with RetryFailed.
//   - Results are kept as JSON: what that leaves out of Out is not resumed, and an Out
//     that has none stops the run.
//   - Give WithVersion whenever other code or another prompt gives other results.
//   - What the batch's limiter has learnt is kept too, if j is a
//     journal.LawKeeper, and used if it is not older than an hour.
//
// If j fails the run stops with a *JournalError, and what was not recorded is pending.
// The caller closes j, after the run.
func (b *Batch[S, In, Out]) WithJournal(j journal.Journal) *Batch[S, In, Out] {
	b.setup.Change("WithJournal", func() {
		if invalid.Nil(j) {
			b.setup.Addf("WithJournal", "the journal is nil: leave the setting out, or look at the error of what opens it")
			return
		}
		b.journal = j
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
// failures that it records. In Run the report then keeps counts and the first 100 failures to come,
// and no values, so that a run needs no more memory for a million items than for ten. All and
// Stream give their results besides.
//
// If s fails the run stops with a *SinkError. What it has not taken is in the journal, and the
// run that goes on gives it everything again; without a journal it is pending. Runs at once of one
// batch write one after the other; with a ResumableSink, the second is refused with a
// *SinkError, and so is a batch with a journal inside the items of another.
func (b *Batch[S, In, Out]) WithSink(s Sink[In, Out]) *Batch[S, In, Out] {
	b.setup.Change("WithSink", func() {
		if invalid.Nil(s) {
			b.setup.Addf("WithSink", "the sink is nil: leave the setting out")
			return
		}
		b.sink = s
	})
	return b
}

func (b *Batch[S, In, Out]) checkJournal(p *invalid.Problems) {
	if b.journal != nil {
		return
	}
	if b.retryFailed {
		p.Addf("RetryFailed", "it needs WithJournal: without one nobody knows what has failed")
	}
	if b.dedup {
		p.Addf("Dedup", "it needs WithJournal, which has the results")
	}
	if b.version != "" {
		p.Addf("WithVersion", "it needs WithJournal: nothing else is kept")
	}
}
