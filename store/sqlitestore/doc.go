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
// (synchronous = FULL). What concurrent callers bring is committed together, up to 64 calls, so
// that they share one sync; nobody waits for company.
//
// Begin waits for no disk. What it begins is known to the whole process at once, to
// others within about 20 ms, and is on disk with the next commit. If the process dies
// before that, the item was never begun, which comes to the same: it is called again.
//
// A call that ends with its context has not happened. One that fails with another error has not either,
// and may be made again.
//
// # Several processes
//
// Any number of processes on one host may have the file open. Whoever writes takes turns
// with the others, and a call waits for its turn for as long as [WithBusyTimeout] says. The file has to be on
// a local disk: locks on network shares do not hold. Next to it are -wal and -shm while it is open;
// whoever copies the file copies these too, or uses the backup command of sqlite3.
//
// # Retention
//
// A run stays in the file until it is forgotten. [Journal.Runs] lists the runs, with their age, counts and size, and
// [Journal.Forget] deletes one; journal.ForgetBefore deletes what nobody has used for a while:
//
//	forgotten, err := journal.ForgetBefore(ctx, j, time.Now().AddDate(0, 0, -30))
//
// The file shrinks by as much, so there is nothing to vacuum. A run that is at work is in use, and is not to be forgotten.
//
// # Trouble
//
// A file that is full, locked, deleted, damaged, read-only or not of headrace is a
// [*FileError] with one of the reasons of this package, which name the remedy. After ErrFull
// and ErrLocked the journal goes on as soon as there is room, or a turn. A file of a later
// release is a [*NewerError] and left as it is; one of an earlier release is brought up to date.
package sqlitestore
