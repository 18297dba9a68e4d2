package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// Caller is who sends a request.
type Caller struct {
	Client   string
	Weight   float64
	Priority Priority
}

// Priority orders the requests that wait.
type Priority uint8

// The priorities.
const (
	Interactive Priority = iota
	Batch
)

type lines struct{}

func (*lines) init(*Config) {}

func (*lines) with(ctx context.Context, _ Caller) (context.Context, *ticket) {
	t := &ticket{}
	return inflight.Watch(ctx, t), t
}

// ticket is a request in line.
type ticket struct {
	attempts atomic.Int64
	mu       sync.Mutex
	since    time.Time
	waited   time.Duration
}

func (t *ticket) Waited() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waited
}
func (t *ticket) Attempts() int { return int(t.attempts.Load()) }

func (t *ticket) Waits() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Now()
}
func (*ticket) Queued() {}
func (t *ticket) Admitted(throttle.Bound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.attempts.Add(1); !t.since.IsZero() {
		t.waited += time.Since(t.since)
	}
}
func (*ticket) Judged(adaptive.Feedback, error)   {}
func (*ticket) Rejected(error)                    {}
func (*ticket) Retries(int, time.Duration, error) {}
func (t *ticket) Rested(ctx context.Context) bool { return ctx.Err() == nil }
