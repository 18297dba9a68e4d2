package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// turnPatience is how long a process waits for its turn. Then it proceeds
	// without it: only SQLite's lock is needed for correct decisions.
	turnPatience = time.Second
	// The names of the files that are locked end in these.
	turnSuffix = "-turn"
	nextSuffix = "-next"
)

// baton orders the writes of processes, which SQLite's own lock does not.
// A process locks the file next while it waits for its
// turn, so that the process that just had its turn comes after it. When a process
// dies, its turn ends.
type baton struct {
	turn     *os.File // nil where files cannot be locked
	next     *os.File
	patience time.Duration // turnPatience

	mu      sync.Mutex
	waiting chan bool // of the goroutine that waits for the lock; nil: there is none
	late    bool      // no call waits for that goroutine any more
	closed  bool
}

func newBaton(path string) (*baton, error) {
	if !canLock {
		return &baton{}, nil
	}
	b := &baton{patience: turnPatience}
	for file, suffix := range map[**os.File]string{&b.turn: turnSuffix, &b.next: nextSuffix} {
		f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own path
		if err != nil {
			return nil, errors.Join(fmt.Errorf("a file by which processes take turns: %w", err), b.close())
		}
		*file = f
	}
	return b, nil
}

// take waits for the turn. If it reports false, the caller proceeds without it.
func (b *baton) take() bool {
	if b.turn == nil {
		return false
	}
	got := b.begin()
	if got == nil {
		return false
	}
	late := time.NewTimer(b.patience)
	defer late.Stop()
	select {
	case ok := <-got:
		return ok
	case <-late.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case ok := <-got:
		return ok
	default:
		b.late = true
		return false
	}
}

// begin returns what receives whether it is the turn; nil if an earlier wait has not ended.
func (b *baton) begin() <-chan bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting != nil {
		return nil
	}
	got := make(chan bool, 1)
	isNext, err := tryLock(b.next)
	if isNext {
		var isNow bool
		if isNow, err = tryLock(b.turn); isNow || err != nil {
			unlock(b.next)
			got <- isNow
			return got
		}
	}
	if err != nil { // this file system has no locks
		return nil
	}
	b.waiting = got
	go b.wait(isNext, got)
	return got
}

// wait takes the lock, and releases it at once if that was too late.
func (b *baton) wait(isNext bool, got chan<- bool) {
	var err error
	if !isNext {
		err = lock(b.next)
	}
	if err == nil {
		err = lock(b.turn)
		unlock(b.next)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	late := b.late
	b.waiting, b.late = nil, false
	switch {
	case !late:
		got <- err == nil
	case err == nil:
		unlock(b.turn)
	}
	if b.closed {
		_ = b.closeFiles()
	}
}

// end gives the next process its turn.
func (b *baton) end() { unlock(b.turn) }

// close closes the files. A goroutine that waits for the lock ends when the process that has it does.
func (b *baton) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.waiting != nil {
		return nil
	}
	return b.closeFiles()
}

func (b *baton) closeFiles() error {
	var errs []error
	for _, f := range []*os.File{b.turn, b.next} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
