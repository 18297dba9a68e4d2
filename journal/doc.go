// Package journal records the outcomes of the items of a run, so that a run that
// was killed resumes without repeating calls. The guide is docs/resume.md.
//
//	j := journal.NewMemory()
//	defer j.Close()
//	ctx = journal.WithRun(ctx, "2026-11-21")
//	summaries, err := summarise.WithJournal(j).All(ctx, texts)
//
// Calls are made at least once: a call is repeated if its outcome was not recorded when the
// process died. Records are committed exactly once: what is Done
// keeps its first value.
//
// NewMemory lasts as long as the process; store/sqlitestore keeps a file. Test
// your own with journaltest.
package journal
