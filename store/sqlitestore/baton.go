package sqlitestore

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// turnPatience is how long a process waits for its turn. Then it goes on
	// without: what keeps decisions apart is the lock of SQLite.
	turnPatience = time.Second
	// turnSuffix is what the name of the file that is locked ends in.
	turnSuffix = "-turn"
)

// baton has processes write one after the other: the operating system wakes those
// that wait for the lock of a file in their order, and SQLite does not. When a
// process dies, its turn ends.
type baton struct {
	file     *os.File      // nil where files cannot be locked
	patience time.Duration // turnPatience

	mu      sync.Mutex
	waiting chan bool // of the goroutine that waits for the lock; nil: there is none
	late    bool      // nobody waits for that goroutine any more
	closed  bool
}

func newBaton(path string) (*baton, error) {
	if !canLock {
		return &baton{}, nil
	}
	f, err := os.OpenFile(path+turnSuffix, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, fmt.Errorf("the file by which processes take turns: %w", err)
	}
	return &baton{file: f, patience: turnPatience}, nil
}

// take waits for the turn. If it reports false, the caller goes on without it.
func (b *baton) take() bool {
	if b.file == nil {
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
	got := make(chan bool, 1)
	if locked, err := tryLock(b.file); locked || err != nil {
		got <- locked
		return got
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting != nil {
		return nil
	}
	b.waiting = got
	go b.wait(got)
	return got
}

// wait takes the lock, and gives it back at once if it comes too late.
func (b *baton) wait(got chan<- bool) {
	err := lock(b.file)
	b.mu.Lock()
	defer b.mu.Unlock()
	late := b.late
	b.waiting, b.late = nil, false
	switch {
	case !late:
		got <- err == nil
	case err == nil:
		unlock(b.file)
	}
	if b.closed {
		_ = b.file.Close()
	}
}

// end gives the next process its turn.
func (b *baton) end() { unlock(b.file) }

// close closes the file. A goroutine that waits for the lock ends when the process that has it does.
func (b *baton) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.file == nil || b.waiting != nil {
		return nil
	}
	return b.file.Close()
}
