package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

var errStore = errors.New("connection refused")

// downStore is a store of which Take fails after so many calls.
type downStore struct {
	quota.Store

	left atomic.Int64
}

func (s *downStore) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if s.left.Add(-1) < 0 {
		return quota.Grant{}, errStore
	}
	return s.Store.Take(ctx, r)
}

// A fallback replaces the outcome of attempts, and here there were none: its value would be recorded for good.
func TestAFallbackDoesNotReplaceACallThatTheStoreDoesNotAdmit(t *testing.T) {
	down := guard.Policy{Name: "api", Store: &downStore{Store: quota.NewMemoryStore(nil)}, Limits: throttle.Limits{Concurrency: 10}}
	within, err := guard.New(down)
	require.NoError(t, err)
	exec := func(_ context.Context, i int) (int, error) { return 2 * i, nil }
	instead := func(context.Context, int, error) (int, error) { return -1, nil }

	_, err = node.Map("double", exec).WithJournal(journal.NewMemory()).With(down).WithFallback(instead).All(t.Context(), numbers(2))
	require.ErrorIs(t, err, errStore)
	var incomplete *node.BatchError
	require.ErrorAs(t, err, &incomplete)
	assert.Equal(t, node.Counts{Total: 2, Pending: 2}, incomplete.Counts)

	step := node.Do("step", func(context.Context, int) error { return nil }).Within(within).
		WithFallback(func(context.Context, int, error) (node.Action, error) { return "fallback", nil })
	_, err = step.Run(t.Context(), 1)
	require.ErrorIs(t, err, errStore)

	steps, err := engine.New(step)
	require.NoError(t, err)
	require.ErrorIs(t, steps.Root().Run(t.Context(), []byte("1"), guard.Progress{}).Err, errStore)
	items, err := engine.New(node.One("double", exec, func(int, int) {}).Within(within).WithFallback(instead))
	require.NoError(t, err)
	assert.Equal(t, engine.Pending, items.Root().Items.Attempt(t.Context(), 0, []byte("1"), guard.Progress{}).State)
}

// An item that was not sent because the store of the limits failed has not failed: neither for the journal, nor for
// the failure policy.
func TestItemsThatTheStoreDoesNotAdmitArePending(t *testing.T) {
	for name, tc := range map[string]struct {
		onError node.Tolerance
		asked   int64 // that the store fails
	}{
		"collect":  {node.Tolerance{}, 6},
		"failfast": {node.FailFast(), 1},
	} {
		s := &downStore{Store: quota.NewMemoryStore(nil)}
		s.left.Store(4)
		j := newFaulty(nil)
		_, err := node.Map("double", func(_ context.Context, i int) (int, error) { return 2 * i, nil }).
			WithJournal(j).WithOnError(tc.onError).
			With(guard.Policy{Name: "api", Store: s, Limits: throttle.Limits{Concurrency: 10}}).
			All(t.Context(), numbers(10))
		require.ErrorIs(t, err, errStore, name)
		var incomplete *node.BatchError
		require.ErrorAs(t, err, &incomplete, name)
		assert.Equal(t, node.Counts{Total: 10, Done: 4, Pending: 6}, incomplete.Counts, name)
		assert.Equal(t, -tc.asked, s.left.Load(), name)
		for _, batch := range j.finished {
			for _, r := range batch {
				assert.Equal(t, journal.Done, r.State, name)
			}
		}
	}
}
