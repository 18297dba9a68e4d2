package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
)

func TestPolicies(t *testing.T) {
	for _, tc := range []struct {
		name     string
		policy   node.Tolerance
		parallel int
		executed int // of 20 items that all fail, at most
	}{
		{"the zero policy collects", node.Tolerance{}, 1, 20},
		{"none", node.Tolerance{}, 1, 20},
		{"none in parallel", node.Tolerance{}, 8, 20},
		{"FailFast", node.FailFast(), 1, 1},
		{"FailFast in parallel: what was running, and no more", node.FailFast(), 4, 4},
		{"MaxFailures allows that many", node.MaxFailures(3), 1, 4},
		{"MaxFailures in parallel", node.MaxFailures(5), 4, 9},
		{"MaxFailures of 0", node.MaxFailures(0), 1, 1},
		{"MaxFailures of a negative number", node.MaxFailures(-1), 1, 1},
		{"MaxFailures of all items but one", node.MaxFailures(19), 1, 20},
		{"MaxFailures of all items", node.MaxFailures(20), 1, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gauge
				m := node.Map("m", func(ctx context.Context, _ int) (int, error) {
					defer g.enter()()
					if err := work(ctx, time.Second); err != nil {
						return 0, err
					}
					return 0, errBoom
				}).WithOnError(tc.policy).WithParallel(tc.parallel)
				_, err := m.All(t.Context(), numbers(20))
				require.ErrorIs(t, err, errBoom)
				executed := g.total.Load()
				assert.LessOrEqual(t, executed, int64(tc.executed))
				assert.Greater(t, executed, int64(tc.executed-tc.parallel))
				var failed *node.BatchError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, node.Counts{Total: 20, Failed: executed, Pending: 20 - executed}, failed.Counts)
			})
		})
	}
}

func TestTooManyFailuresError(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) { return 0, &codeError{i} }).
		WithOnError(node.MaxFailures(2))
	_, err := m.All(t.Context(), numbers(9))
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	var many *node.TooManyFailuresError
	require.ErrorAs(t, failed.Stopped, &many)
	assert.Equal(t, int64(3), many.Failures)
	assert.Equal(t, int64(2), many.Allowed)
	assert.Equal(t, &codeError{2}, many.Last)
	assert.ErrorAs(t, error(many), new(*codeError), "it unwraps to the last failure")
}

func TestNegativeMaxFailuresAllowsNone(t *testing.T) {
	_, err := node.Map("m", func(context.Context, int) (int, error) { return 0, errBoom }).
		WithOnError(node.MaxFailures(-5)).All(t.Context(), numbers(2))
	var many *node.TooManyFailuresError
	require.ErrorAs(t, err, &many)
	assert.Zero(t, many.Allowed)
}

// The items that succeed do not count, wherever they are.
func TestFailuresNeedNotBeInARow(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i%2 == 1 {
			return 0, errBoom
		}
		return i, nil
	}).WithOnError(node.MaxFailures(2))
	out, err := m.All(t.Context(), numbers(10))
	require.Error(t, err)
	assert.Equal(t, []int{0, 0, 2, 0, 4, 0, 0, 0, 0, 0}, out, "stopped at the third failure, item 5")
}

func TestFailuresThatDoNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		except func(error) bool
		failed int64
	}{
		"some":                   {func(err error) bool { return errors.Is(err, errBoom) }, 8}, // the third that counts is item 7
		"all":                    {func(error) bool { return true }, 10},
		"none":                   {func(error) bool { return false }, 3},
		"nil":                    {nil, 3},
		"a function that panics": {func(error) bool { panic("no") }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := node.Map("m", func(_ context.Context, i int) (int, error) {
				if i == 1 || i == 4 || i == 7 {
					return 0, &codeError{i}
				}
				return 0, errBoom
			}).WithOnError(node.MaxFailures(2).Except(c.except)).All(t.Context(), numbers(10))
			var failed *node.BatchError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, c.failed, failed.Counts.Failed)
			assert.Equal(t, c.failed < 10, errors.As(failed.Stopped, new(*node.TooManyFailuresError)))
		})
	}
}

// A policy that is broken by the very last item has stopped the run as well.
func TestFailFastAtTheLastItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if i == 2 {
				_ = work(ctx, time.Second) // while the others find that there is no more
				return 0, errBoom
			}
			return i, nil
		}).WithOnError(node.FailFast()).WithParallel(4)
		_, err := m.All(t.Context(), numbers(3))
		assert.ErrorAs(t, err, new(*node.TooManyFailuresError))
	})
}
