package guardtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// errStore is the error of a store that cannot be reached.
var errStore = errors.New("the store cannot be reached")

// books is a store that counts what is asked of it.
type books struct {
	quota.MemoryStore

	down            bool
	takes, refusals atomic.Int64
	ends, cancels   atomic.Int64
	cooldown        atomic.Int64
}

func (b *books) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	b.takes.Add(1)
	if b.down {
		return quota.Grant{}, errStore
	}
	g, err := b.MemoryStore.Take(ctx, r)
	if g.Wait > 0 {
		b.refusals.Add(1)
	}
	return g, err
}

func (b *books) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	b.ends.Add(1)
	return b.MemoryStore.End(ctx, t, actual)
}

func (b *books) Cancel(ctx context.Context, t quota.Ticket) error {
	b.cancels.Add(1)
	return b.MemoryStore.Cancel(ctx, t)
}

func (b *books) Cooldown(ctx context.Context, key string, d time.Duration) error {
	b.cooldown.Store(int64(d))
	return b.MemoryStore.Cooldown(ctx, key, d)
}

func storeCases() []testCase {
	var seen *books
	// sharing is a policy with limits that another process has used n times.
	sharing := func(p guard.Policy, n int, down bool) func() guard.Policy {
		return func() guard.Policy {
			store := quota.NewMemoryStore(nil)
			p := p
			p.Name = "shared"
			for range n {
				d := []quota.Demand{{Key: p.Name, Limits: p.Limits}}
				if _, err := store.Take(context.Background(), quota.Request{Demands: d, Lease: time.Hour}); err != nil {
					panic(err)
				}
			}
			seen = &books{MemoryStore: store, down: down}
			p.Store = seen
			return p
		}
	}
	return []testCase{
		{
			"limits are shared through a store", sharing(guard.Policy{Limits: sliding(3, 10*time.Second)}, 2, false),
			[]Call{{}, {At: time.Second}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"done", []time.Duration{0}, 0}, o[0])
				equal(t, Outcome{"done", []time.Duration{10 * time.Second}, 10 * time.Second}, o[1])
				equal(t, Outcome{"done", []time.Duration{10 * time.Second}, 10 * time.Second}, o[2])
				equal(t, int64(1), seen.refusals.Load())
				equal(t, int64(4), seen.takes.Load())
				equal(t, int64(0), seen.ends.Load()+seen.cancels.Load())
			},
		},
		{
			"two layers with the same store are one request to it", func() guard.Policy {
				seen = &books{MemoryStore: quota.NewMemoryStore(nil)}
				inner := guard.Policy{Name: "inner", Store: seen, Limits: sliding(2, 10*time.Second)}
				return within(inner, guard.Policy{Name: "outer", Store: seen, Limits: throttle.Limits{Concurrency: 1}})()
			},
			[]Call{{Answers: []Answer{{Takes: time.Second}}}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "done"}, classes(o))
				equal(t, int64(2), seen.takes.Load())
			},
		},
		{
			"MaxWait and deadlines bound a call that a store rejects",
			sharing(guard.Policy{Limits: sliding(1, time.Minute), MaxWait: 5 * time.Second}, 1, false),
			[]Call{{}, {At: time.Second, Deadline: 3 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"limited for 55s", nil, 5 * time.Second}, o[0])
				equal(t, Outcome{"too late", nil, time.Second}, o[1])
			},
		},
		{
			"a slot of a store is given back", sharing(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}, 0, false),
			[]Call{{Answers: []Answer{{Takes: time.Minute}}}, {At: time.Second, Answers: []Answer{{Panics: "oh"}}}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "panic", "done"}, classes(o))
				equal(t, []time.Duration{time.Minute}, o[2].Sent)
				equal(t, int64(3), seen.ends.Load())
			},
		},
		{
			"a Retry-After goes to the store", sharing(guard.Policy{}, 0, false),
			answers(Answer{Status: 429, RetryAfter: 7 * time.Second}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, "done", o[0].Class)
				atLeast(t, o[0].Sent[1], 7*time.Second)
				equal(t, int64(7*time.Second), seen.cooldown.Load())
			},
		},
		{
			"a store that is down fails the call", sharing(guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Retry: thrice()}, 0, true),
			times(3, Call{}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o {
					equal(t, Outcome{"store failed", nil, 0}, one)
				}
			},
		},
	}
}
