// Package journal remembers what the items of a run have come to, so that a run
// that was killed goes on where it was, and nothing is paid for twice.
//
// A [Journal] keeps one [Record] for each item, by its [Key]. Begin is asked
// before an item is worked on; Finish makes what became of it durable, and only
// then does the run hand its result on. [NewMemory] makes one that lasts as long as
// the process; store/sqlitestore keeps one in a file. Both pass the suite of
// journaltest, and so should one of your own.
//
//	j := journal.NewMemory()
//	defer j.Close()
//	ctx = journal.WithRun(ctx, "2026-11-21")
//	summaries, err := summarise.WithJournal(j).All(ctx, texts)
//
// Calls are made at least once: one whose answer had not been recorded when the
// process died is made again. Commits happen exactly once: what is done stays
// done, with its first value.
package journal
