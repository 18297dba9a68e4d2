// Package sqlitestore keeps a journal, and limits that processes share, in a
// file: a SQLite database, without cgo. Both may be in the same file.
//
//	j, err := sqlitestore.OpenJournal("journal.db")
//	if err != nil {
//		return err
//	}
//	defer j.Close()
//	summaries, err := summarise.WithJournal(j).All(ctx, texts)
//
// [OpenQuota] returns a [quota.Store] for the Store of a guard.Policy: several
// processes on one host share one limit.
//
// # Durability
//
// The effect of Finish, Open, SaveLaw and Forget is on disk when they return, and
// survives a kill and a loss of power: each commit syncs the write-ahead log
// (synchronous = FULL). Up to 64 concurrent calls share a commit. Begin, Renew and
// Release do not wait for the disk. If a Begin is lost, its item is called again.
// A call that fails, or ends with its context, changes nothing and may be repeated.
//
// The decisions of a Quota survive a kill. After a loss of power the last decisions
// may be missing, and their fencing tokens may be given again (synchronous = NORMAL).
//
// # Several processes
//
// Any number of processes on one host may open the file; one at a time records a
// part of a run. Its claim lapses 30 seconds after it was last renewed, or at once
// if its process has died on this machine. The file must be on a local disk. A copy
// of an open file needs the -wal and -shm files next to it, or use sqlite3's backup.
//
// docs/sharing.md describes the order of processes and what a change of the clock does.
//
// # Retention and errors
//
// A run stays in the file until [journal.ForgetBefore] or Forget deletes it.
//
// Problems of the file are a [*FileError] with one of the reasons of this package.
// After ErrFull and ErrLocked the journal and the limits remain usable. A damaged
// row of a limit fails the calls that need it, until [Quota.Forget] deletes it.
package sqlitestore
