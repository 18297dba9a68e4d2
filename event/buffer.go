package event

import (
	"sync"

	"github.com/headrace/headrace/internal/invalid"
)

const (
	defaultCapacity = 1024
	maxCapacity     = 1 << 20 // about 150 MB of events, reserved when the buffer is made
)

// Buffer is an Observer that never blocks. It holds a bounded number of events,
// which one goroutine delivers in order. Events that do not fit are dropped and
// counted. All methods are safe for concurrent use.
type Buffer struct {
	to    Observer
	queue chan Event
	wg    sync.WaitGroup // the delivering goroutine

	mu      sync.Mutex // guards closed, dropped and sending to queue; held for no longer than a non-blocking send
	closed  bool
	dropped int64
}

// NewBuffer returns a buffer that delivers to the observer to, from one
// goroutine, which runs until [Buffer.Close]. capacity is how many events may
// wait: 0 means 1,024, the maximum is 1,048,576. Its memory, about 150 bytes an
// event, is reserved at once. Errors are *fault.FieldError.
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

// Observe queues e, or drops it if the buffer is full or closed.
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

// Dropped returns the number of events dropped so far.
func (b *Buffer) Dropped() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close accepts no more events and returns when all accepted ones are delivered,
// however long that takes. It may be called more than once; every call waits. The
// observer itself must not call it.
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
