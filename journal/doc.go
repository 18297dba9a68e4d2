// Package journal remembers what became of the items of a run, so that a run
// that was killed resumes where it was, and no call is paid for twice.
//
// A [Journal] keeps one [Record] for each item, by its [Key]. Open claims the part of
// a run for an [Owner], one at a time. Begin is called before an item is worked on; Finish
// makes its outcome durable, and only then does the run hand its result on. [NewMemory] returns one that
// lasts as long as the process; store/sqlitestore keeps one in a file. Both pass the suite of
// journaltest, and so should your own.
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
