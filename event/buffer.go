package event

import (
	"sync"

	"github.com/headrace/headrace/internal/invalid"
)

const (
	defaultCapacity = 1024
	maxCapacity     = 1 << 20 // about 150 MB of events, reserved when the buffer is made
)

// Buffer is an Observer that never makes the work wait. It holds a bounded
// number of events, which one goroutine delivers in the order in which they
// were accepted; what does not fit is dropped and counted.
//
// All methods are safe for concurrent use.
type Buffer struct {
	to    Observer
	queue chan Event
	wg    sync.WaitGroup // the delivering goroutine

	mu      sync.Mutex // guards closed, dropped and sending to queue; held for no longer than a non-blocking send
	closed  bool
	dropped int64
}

// NewBuffer returns a buffer in front of to, which is then only ever called
// from one goroutine. capacity is the number of events that may wait for
// delivery, besides the one being delivered: 0 means 1,024, the most is
// 1,048,576. The space (about 150 bytes an event) is reserved at once.
//
// A capacity outside of this and a nil observer are refused, each with a
// *fault.FieldError. The buffer owns a goroutine until [Buffer.Close].
func NewBuffer(capacity int, to Observer) (*Buffer, error) {
	problems := invalid.Problems{Owner: "event.NewBuffer"}
	if capacity < 0 || capacity > maxCapacity {
		problems.Addf("capacity", "%d events; want 1 to %d, or 0 for %d", capacity, maxCapacity, defaultCapacity)
	}
	if to == nil {
		problems.Addf("to", "nil; want the observer to deliver to")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if capacity == 0 {
		capacity = defaultCapacity
	}
	b := &Buffer{to: to, queue: make(chan Event, capacity)}
	b.wg.Go(b.run)
	return b, nil
}

// Observe accepts e for delivery, or drops it if the buffer is full or closed.
// It never blocks.
func (b *Buffer) Observe(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.dropped++
		return
	}
	select {
	case b.queue <- e:
	default:
		b.dropped++
	}
}

// Dropped returns how many events were dropped so far, because the buffer was
// full or closed. Every event that was observed is delivered, waiting or
// counted here.
func (b *Buffer) Dropped() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close stops the intake, delivers what was accepted and returns when that is
// done, however long the observer takes. It may be called any number of times,
// and every call waits. The observer itself must not call it: it would wait
// for its own return.
func (b *Buffer) Close() {
	b.mu.Lock()
	b.closeLocked()
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *Buffer) closeLocked() {
	if !b.closed {
		b.closed = true
		close(b.queue)
	}
}

func (b *Buffer) run() {
	defer b.abort()
	for e := range b.queue {
		send(b.to, e)
	}
}

// abort accounts for what is left if the observer ended this goroutine with
// runtime.Goexit, as the FailNow of a test does. After a normal end nothing is
// left.
func (b *Buffer) abort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeLocked()
	for range b.queue {
		b.dropped++
	}
}
