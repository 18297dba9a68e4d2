package node_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

// numbers is 0 to n-1.
func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

func same(_ context.Context, i int) (int, error) { return i, nil }

// feed is a Prep that gives items.
func feed(items ...int) func(context.Context, *state) (iter.Seq2[int, error], error) {
	return func(context.Context, *state) (iter.Seq2[int, error], error) { return node.Slice(items), nil }
}

// state is what batches of the tests share: what Post saw.
type state struct {
	report *node.Report[int, int]
	log    []string
}

// keep is a Post that keeps the report and goes on whatever happened.
func keep(_ context.Context, s *state, r *node.Report[int, int]) (node.Action, error) {
	s.report = r
	return node.Next, nil
}

// gauge counts what is running at the same time.
type gauge struct{ now, most, total atomic.Int64 }

func (g *gauge) enter() (leave func()) {
	n := g.now.Add(1)
	g.total.Add(1)
	for {
		if most := g.most.Load(); n <= most || g.most.CompareAndSwap(most, n) {
			return func() { g.now.Add(-1) }
		}
	}
}

// work takes d, or until ctx ends.
func work(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hit is a provider's refusal, wrapped as user code may do it.
func hit(after time.Duration) error {
	return fmt.Errorf("call: %w", &adaptive.RateLimitHit{RetryAfter: after, Source: "test"})
}

// tally counts by key.
type tally struct {
	mu     sync.Mutex
	counts map[int]int
}

func (c *tally) add(i int) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[int]int{}
	}
	c.counts[i]++
	return c.counts[i]
}

func (c *tally) of(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[i]
}

func (c *tally) sum() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.counts {
		sum += n
	}
	return sum
}

// states lists the states of a report's items.
func states(r *node.Report[int, int]) []node.State {
	var all []node.State
	for res := range r.All() {
		all = append(all, res.State)
	}
	return all
}

func results(r *node.Report[int, int]) []node.Result[int, int] { return slices.Collect(r.All()) }

// assertProblems checks that err is exactly one *fault.FieldError for each of fields.
func assertProblems(t *testing.T, err error, fields ...string) {
	t.Helper()
	var got []string
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // it is the walk
		case *fault.FieldError:
			got = append(got, e.Field)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	assert.ElementsMatch(t, fields, got, "%v", err)
}

func newGuard(t *testing.T, p guard.Policy) *guard.Guard {
	t.Helper()
	g, err := guard.New(p)
	require.NoError(t, err)
	return g
}

// allows makes a call of that cost if g admits it now.
func allows(t *testing.T, g *guard.Guard, c throttle.Cost) bool {
	t.Helper()
	return g.Try(t.Context(), c, func(context.Context) error { return nil }) == nil
}

// hold begins a call.
func hold(t *testing.T, g *guard.Guard) (end func()) {
	t.Helper()
	call := g.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	return func() { _, _ = call.End(adaptive.Feedback{}) }
}

// left is how many tokens g has left.
func left(t *testing.T, g *guard.Guard) (n int64) {
	t.Helper()
	for allows(t, g, throttle.Cost{Tokens: 1}) {
		n++
	}
	return n
}

func tokens(n int64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Hour).Of(throttle.Tokens)}}
}

func perMinute(n int64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Minute)}}
}

func concurrency(n int) throttle.Limits { return throttle.Limits{Concurrency: n} }
