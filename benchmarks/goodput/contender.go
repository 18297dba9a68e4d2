package goodput

import (
	"context"

	"github.com/headrace/headrace/internal/simulate/client"
)

// Contender is a way to call a provider.
type Contender struct {
	Name    string
	About   string
	Headers bool // its servers send rate-limit headers
	Workers int  // of each process
	// Start makes the client of one process.
	Start func(w *wire, seed uint64) (Caller, error)
	// Simulated is the same in the simulator; nil if it cannot be had there.
	Simulated *client.Contender
}

// Caller makes one call and returns when it was served, or with the error that
// a refused call ends with for want of patience. It is called by all workers.
type Caller func(ctx context.Context) error

const (
	// most is the ceiling of what adapts, in calls in flight.
	most = 64
	// adaptiveWorkers is large enough that a call is always waiting.
	adaptiveWorkers = most + 8
	// poolWorkers is what a fixed pool has.
	poolWorkers = 32
)

// Contenders returns those of the page.
func Contenders() []Contender {
	return []Contender{
		headrace("headrace blind", true), headrace("headrace headers", false), retryPool(), adaptiveRetry(),
		peer("AWS adaptive (CUBIC)", "a model of the adaptive retry mode of the AWS SDKs: a token bucket that follows CUBIC from the first 429 on, under a pool of 32"),
		peer("inspect_ai", "a model of its adaptive concurrency: doubled each clean round, then 5 % more; a fifth less after a 429, with 15 s of cooldown"),
		peer("promptfoo", "a model of its adaptive concurrency: half after a 429, half again more after five successes, at most 32"),
		peer("Nall", "a model of Nall.RateLimiting.Adaptive: a token bucket, 0.7 of its rate after a 429, 2 a second more every 10 s"),
	}
}
