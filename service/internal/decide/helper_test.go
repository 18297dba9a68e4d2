package decide_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

const limits = `
rate_limits:
  - {scope: user, resource: search, capacity: 10, refill_rate: 1}
  - {scope: user, capacity: 50, refill_rate: 5}
  - {name: trial, scope: trial, capacity: 3, refill_rate: 0}
  - {scope: org, limits: "5/s, 300/min"}
  - {scope: slow, capacity: 2, refill_rate: 2, min_refill_interval_ms: 3000}
costs: {export: 10}
`

var errDown = errors.New("connection refused")

// shaky is a store in memory that can fail or hang, with a clock that can jump.
type shaky struct {
	quota.MemoryStore

	mu     sync.Mutex // guards all below
	err    error
	hangs  bool
	ahead  time.Duration
	takes  int
	ended  []quota.Demand // by the last End
	marked func()         // the mark of a permit was made; nil: not
}

func (s *shaky) set(f func(s *shaky)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *shaky) state() (hangs bool, ahead time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes++
	return s.hangs, s.ahead, s.err
}

func (s *shaky) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	hangs, ahead, err := s.state()
	if hangs {
		<-ctx.Done()
		return quota.Grant{}, context.Cause(ctx)
	}
	if err != nil {
		return quota.Grant{}, err
	}
	g, err := s.MemoryStore.Take(ctx, r)
	g.Ticket.At += int64(ahead)
	s.mu.Lock()
	marked := s.marked
	s.mu.Unlock()
	if marked != nil && strings.HasPrefix(r.Demands[0].Key, "service/ended/") {
		marked()
	}
	return g, err
}

func (s *shaky) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	_, ahead, _ := s.state()
	grants, err := s.MemoryStore.TakeBatch(ctx, r, n)
	for i := range grants {
		grants[i].Ticket.At += int64(ahead)
	}
	return grants, err
}

func (s *shaky) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	s.set(func(s *shaky) { s.ended = t.Demands })
	return s.MemoryStore.End(ctx, t, actual)
}

type fixture struct {
	*decide.Decider
	store *shaky
	clock *clockwork.FakeClock
	seen  chan decide.Observation
	slept atomic.Int64 // how long the machine was suspended in all
}

// start returns a decider of a configuration, over a store of its own.
func start(t *testing.T, text string) *fixture {
	t.Helper()
	clock := clockwork.NewFakeClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return startOn(t, text, clock, &shaky{MemoryStore: quota.NewMemoryStore(clock)})
}

func startOn(t *testing.T, text string, clock *clockwork.FakeClock, store *shaky) *fixture {
	t.Helper()
	c, err := rules.Parse([]byte(text))
	require.NoError(t, err)
	c.Runtime.Timeout = 30 * time.Second // it is real time: a busy machine is no outage
	f := &fixture{store: store, clock: clock, seen: make(chan decide.Observation, 10_000)}
	asleep := func() time.Duration { return time.Duration(f.slept.Load()) }
	f.Decider, err = decide.New(decide.Options{Store: store, Config: c, Clock: clock, Asleep: asleep, See: func(o decide.Observation) {
		select {
		case f.seen <- o:
		default:
		}
	}})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	f.idle(t)
	return f
}

// idle waits until the probe waits.
func (f *fixture) idle(t *testing.T) {
	t.Helper()
	require.NoError(t, f.clock.BlockUntilContext(t.Context(), 1))
}

func (f *fixture) check(t *testing.T, c decide.Check) decide.Result {
	t.Helper()
	r, err := f.Check(t.Context(), c)
	require.NoError(t, err)
	return r
}

func search(tokens int64) decide.Check {
	return decide.Check{Scope: "user", Identifier: "alice", Resource: "search", Tokens: tokens}
}

func (f *fixture) left(t *testing.T, c decide.Check) int64 {
	t.Helper()
	b, err := f.Bucket(t.Context(), c.Scope, c.Identifier, c.Resource)
	require.NoError(t, err)
	return b.Remaining
}

func (f *fixture) reload(t *testing.T, text string) {
	t.Helper()
	c, err := rules.Parse([]byte(text))
	require.NoError(t, err)
	f.SetRules(c.Rules)
}
