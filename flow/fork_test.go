package flow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/fault"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// seconds is a batch of items of a second each that keeps its report.
func seconds(report **node.Report[int, int], items ...int) *node.Batch[*sheet, int, int] {
	return node.BatchFunc("batch", of[*sheet](items...),
		func(ctx context.Context, i int) (int, error) { return i, pause(ctx, time.Duration(i)*time.Second) },
		func(_ context.Context, _ *sheet, r *node.Report[int, int]) (node.Action, error) {
			*report = r
			return node.Next, r.Err()
		})
}

func TestTheFirstFailureStopsNewWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var r *node.Report[int, int]
		tries := 0
		retried := node.Do("retried", func(ctx context.Context, _ *sheet) error {
			tries++
			if err := pause(ctx, 2*time.Second); err != nil {
				return err
			}
			return errors.New("no answer")
		}).WithRetry(retry.Policy{})
		full, err := guard.New(guard.Policy{Name: "full", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}})
		require.NoError(t, err)
		require.NoError(t, full.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))

		p := &sheet{}
		_, err = flow.Parallel("checks",
			node.Node[*sheet](fails("bad", 3500*time.Millisecond, errBoom)),
			seconds(&r, 1, 1, 1, 4, 1).WithParallel(1),
			flow.New[*sheet]("flow", takes("first", 5*time.Second, facts)).Then(takes("second", time.Second, facts)),
			takes("running", 7*time.Second, tone),
			takes("waiting", 0, plans).Within(full),
			retried.WithRetry(retry.Policy{Initial: 1900 * time.Millisecond, NoJitter: true}),
		).Run(t.Context(), p)

		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, 7*time.Second, time.Since(began), "what was running has finished")
		assert.Equal(t, &sheet{facts: []string{"first"}, tone: []string{"running"}}, p, "no step began, and none was let in")
		assert.Equal(t, node.Counts{Total: 4, Done: 4}, r.Counts(), "the fifth item never began")
		assert.Equal(t, 1, tries)
		assert.EqualError(t, err, `flow "checks": node "bad": boom
flow "checks": node "retried": flow "checks": stopped because node "bad" failed before another attempt after: no answer`,
			"of those that were stopped, only the one that failed as well")
		var step *flow.StepError
		require.ErrorAs(t, err, &step)
		assert.Equal(t, []any{"checks", "bad", 1}, []any{step.Flow, step.Node, step.Step})
	})
}

// Calls that do not finish are ended after the grace period: ten seconds, or what a batch says.
func TestTheGraceOfNodesThatAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var r *node.Report[int, int]
		_, err := flow.Parallel("checks",
			node.Node[*sheet](fails("bad", time.Second, errBoom)),
			takes("hangs", time.Hour, tone),
			flow.New[*sheet]("flow", seconds(&r, 14, 60).WithParallel(2).WithGrace(20*time.Second)),
		).Run(t.Context(), &sheet{})
		assert.EqualError(t, err, `flow "checks": node "bad": boom`)
		assert.Equal(t, 21*time.Second, time.Since(began))
		assert.Equal(t, node.Counts{Total: 2, Done: 1, Pending: 1}, r.Counts())
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := flow.Parallel[*sheet]("checks",
			fails("bad", time.Second, context.Canceled), // for a reason of its own
			node.Do("hangs", func(ctx context.Context, _ *sheet) error { <-ctx.Done(); return ctx.Err() }),
		).Run(t.Context(), &sheet{})
		assert.EqualError(t, err, `flow "checks": node "bad": context canceled`)
		assert.Equal(t, 11*time.Second, time.Since(began))
	})
}

// The end of the context is what it is outside of a fork: a step has it at once, a batch after its grace period.
func TestCancellingParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		var r *node.Report[int, int]
		var ended time.Duration
		step := node.Do("step", func(ctx context.Context, _ *sheet) error {
			err := pause(ctx, time.Hour)
			ended = time.Since(began)
			return err
		})
		inner := flow.Parallel[*sheet]("inner", seconds(&r, 3, 60).WithParallel(2))
		_, err := flow.Parallel[*sheet]("checks", step, flow.New[*sheet]("flow", inner)).Run(ctx, &sheet{})
		require.ErrorIs(t, err, errBoom)
		assert.ErrorContains(t, err, `flow "checks": node "step": boom`)
		assert.ErrorContains(t, err, `flow "checks": node "flow": flow "flow": node "inner": flow "inner": node "batch":`)
		assert.Equal(t, time.Second, ended)
		assert.Equal(t, 11*time.Second, time.Since(began))
		assert.Equal(t, node.Counts{Total: 2, Done: 1, Pending: 1}, r.Counts())

		_, err = flow.Parallel[*sheet]("checks", takes("never", 0, facts)).Run(ctx, nil)
		require.ErrorIs(t, err, errBoom)
	})
}

// A fork in a fork is stopped with it, and its own failure stops both.
func TestParallelInParallel(t *testing.T) {
	for name, tc := range map[string]struct {
		inner, outer time.Duration // when they fail
		err          string
		took         time.Duration
	}{
		"outer": {time.Hour, time.Second, `flow "outer": node "bad": boom`, 11 * time.Second},
		"inner": {time.Second, time.Hour, `flow "outer": node "inner": flow "inner": node "worse": boom`, 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var r *node.Report[int, int]
			p := &sheet{}
			inner := flow.Parallel[*sheet]("inner",
				fails("worse", tc.inner, errBoom),
				flow.New[*sheet]("flow", takes("first", 2*time.Second, facts)).Then(takes("second", time.Second, facts)),
				seconds(&r, 2, 1))
			_, err := flow.Parallel[*sheet]("outer", fails("bad", tc.outer, errBoom), inner).Run(t.Context(), p)
			assert.EqualError(t, err, tc.err, name)
			assert.Equal(t, tc.took, time.Since(began), name)
			assert.Equal(t, []string{"first"}, p.facts, name)
			assert.Equal(t, node.Counts{Total: 1, Done: 1}, r.Counts(), name)
		})
	}
}

// An item of a batch may finish all its steps when its run is stopped, in a fork too. The run ends what does not.
func TestParallelInAnItemOfARunThatIsStopped(t *testing.T) {
	for _, grace := range []time.Duration{10 * time.Second, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			item := flow.Parallel[*sheet]("both",
				flow.New[*sheet]("flow", takes("first", 2*time.Second, facts)).Then(takes("second", 2*time.Second, facts)),
				takes("tone", 3*time.Second, tone))
			var r *node.Report[sheet, sheet]
			_, err := flow.Batch("pages", of[*trail](sheet{}, sheet{}), item, keep[*trail](&r)).WithGrace(grace).Run(ctx, nil)
			require.ErrorIs(t, err, context.Canceled)
			if grace == time.Second {
				assert.Equal(t, node.Counts{Total: 1, Pending: 1}, r.Counts())
				return
			}
			assert.Equal(t, node.Counts{Total: 1, Done: 1}, r.Counts())
			assert.Equal(t, sheet{facts: []string{"first", "second"}, tone: []string{"tone"}}, r.Values()[0])
			assert.Equal(t, 4*time.Second, time.Since(began))
		})
	}
}

// The instances of a batch of flows in a fork that is stopped are items: those that run may finish.
func TestABatchOfFlowsInParallelFinishesItsInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var r *node.Report[sheet, sheet]
		member := flow.New[*sheet]("member", takes("first", 2*time.Second, facts)).Then(takes("second", 2*time.Second, facts))
		pages := flow.Batch("pages", of[*sheet](sheet{}, sheet{}), node.Node[*sheet](member), keep[*sheet](&r))
		_, err := flow.Parallel[*sheet]("checks", fails("bad", time.Second, errBoom), pages).Run(t.Context(), &sheet{})
		assert.EqualError(t, err, `flow "checks": node "bad": boom`)
		assert.Equal(t, node.Counts{Total: 1, Done: 1}, r.Counts())
		assert.Equal(t, 4*time.Second, time.Since(began))
	})
}

// An item's timeout ends the nodes of a fork inside, also those that wait for a limiter.
func TestATimeoutAroundParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		full, err := guard.New(guard.Policy{Name: "full", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}})
		require.NoError(t, err)
		require.NoError(t, full.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		item := flow.Parallel[*sheet]("both", takes("waiting", 0, plans).Within(full), takes("tone", time.Second, tone))
		ctx := context.WithoutCancel(t.Context())
		_, err = flow.Batch("sheets", of[*trail](sheet{}), item, nil).WithTimeout(2*time.Second).Run(ctx, nil)
		require.Error(t, err)
		require.NotErrorAs(t, err, new(*fault.HungError))
		assert.LessOrEqual(t, time.Since(began), 2*time.Second)
	})
}

func TestAllFailuresOfParallelAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := errors.New("other")
		var r *node.Report[int, int]
		batch := seconds(&r, 1, 1)
		_, err := flow.Parallel[*sheet]("checks", fails("a", time.Second, errBoom), batch, fails("b", time.Second, other)).Run(t.Context(), nil)
		require.ErrorIs(t, err, errBoom)
		require.ErrorIs(t, err, other)
		assert.EqualError(t, err, "flow \"checks\": node \"a\": boom\nflow \"checks\": node \"b\": other")
	})
}
