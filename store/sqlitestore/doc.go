// Package sqlitestore keeps a journal in a file: a SQLite database, without cgo.
//
//	j, err := sqlitestore.OpenJournal("journal.db")
//	if err != nil {
//		return err
//	}
//	defer j.Close()
//	summaries, err := summarise.WithJournal(j).All(ctx, texts)
//
// # Durability
//
// What Finish, Open, SaveLaw and Forget did is on disk when they return, and
// survives a kill and a loss of power: each commit syncs the write-ahead log
// (synchronous = FULL). Up to 64 concurrent calls share a commit. Begin, Renew and
// Release do not wait for the disk. An item whose Begin was lost is called again.
// A call that fails, or ends with its context, changes nothing and may be repeated.
//
// # Several processes
//
// Any number of processes on one host may open the file; one at a time records a
// part of a run. Its claim lapses 30 seconds after it was last renewed, or at once
// if its process has died on this machine. The file must be on a local disk. A copy
// of an open file needs the -wal and -shm files next to it, or use sqlite3's backup.
//
// # Retention
//
// A run stays in the file until it is forgotten, which shrinks the file:
//
//	forgotten, err := journal.ForgetBefore(ctx, j, time.Now().AddDate(0, 0, -30))
//
// # Errors
//
// Problems of the file are a [*FileError] with one of the reasons of this package.
// After ErrFull and ErrLocked the journal remains usable.
package sqlitestore
