package sqlitestore

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/journal"
)

const (
	// A transaction takes the calls that came while the one before was written to
	// disk, but at most groupMost, and none that comes later than groupTime.
	groupMost = 64
	groupTime = 20 * time.Millisecond

	// After a transaction the others have a turn, if there were any lately.
	rivalTime = 200 * time.Millisecond
	turn      = time.Millisecond
)

// writer is the one goroutine that changes the file. What concurrent callers
// bring is committed together, since the disk takes most of the time.
type writer struct {
	file  *file
	tx    tx
	lazy  lazy
	other func() // told of commits of other connections
	queue chan *job
	wake  chan struct{}
	stop  chan struct{}
	done  chan struct{}

	version int64     // of the data, as SQLite counts the commits of others
	rival   time.Time // when another one was writing last
	ended   time.Time // when the last transaction did

	mu     sync.RWMutex // held for reading during each call
	closed bool         // guarded by mu
}

// lazy is what is written with a later transaction: no call waits for it.
type lazy interface {
	waiting() bool
	write(t *tx) error    // what is due and not yet in the transaction
	writeAll(t *tx) error // what is not yet in the transaction
	ended(committed bool)
}

// job is what a caller wants to be done in a transaction. It may be done again after a rollback.
type job struct {
	do    func(*tx) error
	soon  bool        // it is enough that other processes see it, and it is on disk with the next commit
	taken atomic.Bool // by the writer, or else by the caller, which then waits no more
	err   chan error
}

func newWriter(f *file, l lazy, other func()) *writer {
	w := &writer{
		file: f, tx: newTx(f.conn), lazy: l, other: other,
		queue: make(chan *job, groupMost), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// enter begins a call, which leave ends. It fails after close, and close waits for it.
func (w *writer) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return journal.ErrClosed
	}
	return nil
}

func (w *writer) leave() { w.mu.RUnlock() }

// commit returns when what do did is on disk, or did not happen. It is called between enter and leave.
// When ctx ends before do was begun, it never will be; after that it is a matter of one write.
func (w *writer) commit(ctx context.Context, do func(*tx) error) error {
	return w.wait(ctx, &job{do: do, err: make(chan error, 1)})
}

// commitSoon is commit for what need not be on disk when it returns.
func (w *writer) commitSoon(ctx context.Context, do func(*tx) error) error {
	return w.wait(ctx, &job{do: do, soon: true, err: make(chan error, 1)})
}

func (w *writer) wait(ctx context.Context, j *job) error {
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-j.err:
		return err
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		return <-j.err
	}
}

// later has the writer look for what is due, also if nothing is committed meanwhile.
func (w *writer) later() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(begunTime)
	defer timer.Stop()
	for timed := true; ; {
		select {
		case j := <-w.queue:
			if j.soon {
				w.unsynced(j)
			} else {
				w.group(j)
			}
		case <-w.wake:
			if !timed {
				timer.Reset(begunTime)
				timed = true
			}
		case <-timer.C:
			w.flush(w.lazy.write)
			if timed = w.lazy.waiting(); timed {
				timer.Reset(begunTime)
			}
		case <-w.stop:
			w.flush(w.lazy.writeAll)
			return
		}
	}
}

// flush writes what is lazy, and does not wait for the disk. What fails is tried
// again with the next transaction.
func (w *writer) flush(write func(*tx) error) {
	if w.lazy.waiting() {
		_ = w.relaxed(func() error { return write(&w.tx) })
	}
}

// unsynced commits j, and does not wait for the disk.
func (w *writer) unsynced(j *job) {
	if j.taken.CompareAndSwap(false, true) {
		j.err <- w.relaxed(func() error { return j.do(&w.tx) })
	}
}

func (w *writer) relaxed(do func() error) error {
	if err := w.file.exec("PRAGMA synchronous = normal"); err != nil {
		return w.file.explain(err)
	}
	err := w.transaction(do)
	if fullErr := w.file.exec("PRAGMA synchronous = full"); err == nil {
		err = w.file.explain(fullErr)
	}
	return err
}

// group commits first together with what else is there.
func (w *writer) group(first *job) {
	var group []*job
	err := w.transaction(func() error {
		begun := time.Now()
		for j := first; j != nil; j = w.next(begun, len(group)) {
			if !j.taken.CompareAndSwap(false, true) {
				continue
			}
			group = append(group, j)
			if err := j.do(&w.tx); err != nil {
				return err
			}
		}
		return nil
	})
	if len(group) == 0 && err != nil && first.taken.CompareAndSwap(false, true) {
		group = append(group, first) // it was not even begun
	}
	alone := err != nil && len(group) > 1 // no call fails because of a neighbour
	for _, j := range group {
		if alone && !errors.Is(err, ErrLocked) {
			err = w.transaction(func() error { return j.do(&w.tx) })
		}
		j.err <- err
	}
}

// next returns another job for the transaction, or nil.
func (w *writer) next(begun time.Time, n int) *job {
	if n >= groupMost || time.Since(begun) > groupTime {
		return nil
	}
	for range 2 {
		select {
		case j := <-w.queue:
			return j
		default:
			runtime.Gosched() // a caller that was just answered brings its next call
		}
	}
	return nil
}

// transaction commits what do does, and what is due.
func (w *writer) transaction(do func() error) error {
	if err := w.begin(); err != nil {
		return w.file.explain(err)
	}
	w.tx.parts.reset()
	err := do()
	if err == nil {
		err = w.lazy.write(&w.tx)
	}
	if err == nil {
		err = w.tx.settle()
	}
	if err == nil {
		_, err = w.tx.exec("COMMIT")
	}
	if err != nil {
		_ = w.file.exec("ROLLBACK") // unless SQLite did that itself
	} else {
		err = w.file.gone()
	}
	w.ended = time.Now()
	w.lazy.ended(err == nil)
	return w.file.explain(err)
}

// begin takes the lock that keeps others from writing, when it is its turn.
func (w *writer) begin() error {
	if time.Since(w.rival) < rivalTime && time.Since(w.ended) < turn {
		pause(2 * turn)
	}
	waited := false
	if err := w.file.patiently(func() error {
		_, err := w.tx.exec("BEGIN IMMEDIATE")
		waited = waited || busy(err)
		return err
	}); err != nil {
		_ = w.file.exec("ROLLBACK") // of a transaction that could not be rolled back before, if there is one
		return err
	}
	var version int64
	if _, err := w.tx.row([]any{&version}, "PRAGMA data_version"); err == nil && version != w.version || waited {
		if version != w.version {
			w.other()
		}
		w.version, w.rival = version, time.Now()
	}
	return nil
}

// close waits for the calls that are under way, and writes what is lazy.
func (w *writer) close() (first bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, nil
	}
	w.closed = true
	close(w.stop)
	<-w.done
	return true, w.tx.close()
}
