// Package sqlitestore keeps a journal in a file: a SQLite database, without cgo.
//
//	j, err := sqlitestore.OpenJournal("journal.db")
//	if err != nil {
//		return err
//	}
//	defer j.Close()
//	summaries, err := summarise.WithJournal(j).All(ctx, texts)
//
// # What is durable when
//
// When Finish, Open, SaveLaw or Forget returns, what it did is on disk and outlives
// a kill and a loss of power: the write-ahead log is synced with each commit
// (synchronous = FULL). Concurrent calls are committed together, up to 64, so
// that they share one sync; no call waits for others to come.
//
// Begin does not wait for the disk. What it begins is known to this process at once, to
// others within about 20 ms, and is on disk with the next commit. If the process dies
// before that, the item was never begun, which has the same effect: it is called again. Renew and Release
// do not wait for the disk either; other processes see them when they return.
//
// A call that ends with its context has not happened. One that fails with another error has not either,
// and may be made again.
//
// # Several processes
//
// Any number of processes on one host may have the file open; one at a time records a part of a run.
// Writers take turns, and a call waits for its turn for as long as [WithBusyTimeout] says. The file has to be on
// a local disk: locks on network shares are not reliable. Next to it are -wal and -shm while it is open;
// a copy of the file needs these too, or use the backup command of sqlite3.
//
// The claim to a part lapses 30 seconds after it was last renewed. If its process has died on this
// machine, it ends at once.
//
// # Retention
//
// A run stays in the file until it is forgotten. [Journal.Runs] lists the runs, with their age, counts and size, and
// [Journal.Forget] deletes one; journal.ForgetBefore deletes those that were not used for a while:
//
//	forgotten, err := journal.ForgetBefore(ctx, j, time.Now().AddDate(0, 0, -30))
//
// The file shrinks by as much, so there is no need to vacuum it. A run that is being recorded is not deleted.
//
// # Trouble
//
// A file that is full, locked, deleted, damaged, read-only or not a journal is a
// [*FileError] with one of the reasons of this package, which name the remedy. Every row has a checksum, and a
// row that is not what was written is ErrDamaged. After ErrFull and ErrLocked the journal can be used again as soon as there is
// room, or a turn. A file of a later release is a [*NewerError] and left as it is; one of an earlier release is migrated.
package sqlitestore
