package line_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

func made(t *testing.T, p guard.Policy) *guard.Guard {
	t.Helper()
	if p.Name == "" {
		p.Name = "api"
	}
	g, err := guard.New(p)
	require.NoError(t, err)
	return g
}

// one is a policy of one call at a time.
func one() guard.Policy { return guard.Policy{Limits: throttle.Limits{Concurrency: 1}} }

// perSecond is a policy of n calls a second, one after the other.
func perSecond(n float64) guard.Policy {
	return guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(n, 1)}}}
}

func nothing(context.Context) error { return nil }

// crowd makes calls and remembers how they went.
type crowd struct {
	t     *testing.T
	lines *line.Lines
	wg    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	order []string   // of the admissions
	errs  map[string]error
	waits map[string]time.Duration // until admission
}

func newCrowd(t *testing.T, c line.Config) *crowd {
	t.Helper()
	return &crowd{t: t, lines: line.New(c), errs: map[string]error{}, waits: map[string]time.Duration{}}
}

// do begins a call that is admitted by g and then does f, and waits until it waits.
func (c *crowd) do(ctx context.Context, g *guard.Guard, name string, from line.Caller, f func(context.Context) error) *line.Ticket {
	c.t.Helper()
	ctx, ticket := c.lines.With(ctx, from)
	c.wg.Go(func() {
		err := g.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
			c.mu.Lock()
			c.order = append(c.order, name)
			c.mu.Unlock()
			return f(ctx)
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs[name], c.waits[name] = err, ticket.Waited()
	})
	synctest.Wait()
	return ticket
}

// hold makes a call that is admitted at once and runs until the end of d.
func (c *crowd) hold(g *guard.Guard, d time.Duration) {
	c.t.Helper()
	c.do(c.t.Context(), g, "holder", line.Caller{Client: "holder"}, sleeps(d))
	require.Equal(c.t, 1, g.Stats().InFlight)
}

func sleeps(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

// admitted waits for all calls and returns the order of the admissions.
func (c *crowd) admitted() []string {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order
}

func batch(client string) line.Caller { return line.Caller{Client: client, Priority: line.Batch} }

func interactive(client string) line.Caller { return line.Caller{Client: client} }

var adaptiveOK = adaptive.Feedback{Verdict: adaptive.OK}

func (c *crowd) err(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs[name]
}

func (c *crowd) wait(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits[name]
}
