package flow_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

func TestTheReportOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		work := func(_ context.Context, i int) (int, error) {
			tries++
			time.Sleep(time.Second)
			switch {
			case i == 0 && tries == 1:
				return 0, &adaptive.RateLimitHit{RetryAfter: time.Second}
			case i == 1 && tries == 3:
				return 0, errBoom
			case i == 2:
				return 0, retry.Permanent(errBoom)
			}
			return i, nil
		}
		many := node.BatchFunc("many", count[*trail](3), work,
			func(context.Context, *trail, *node.Report[int, int]) (node.Action, error) { return "some", nil }).
			With(guard.Policy{Law: adaptive.AIMD{Initial: 4, RecoveryThreshold: 1}}).
			WithRetry(retry.Policy{MaxAttempts: 2, Initial: time.Second, NoJitter: true}) // grows on each of the two successes
		f := flow.New("f", flow.New("inner", step("a")).Then(step("b"))).Then(many)
		began := time.Now()
		report, err := flow.Run(t.Context(), f, &trail{})
		require.NoError(t, err)
		require.Equal(t, time.Since(began), report.Elapsed)
		report.Elapsed = 0
		require.Equal(t, &flow.Report{
			Action: "some",
			Last:   "many",
			Steps:  4, // a, b, inner, many
			Nodes: map[string]flow.NodeReport{
				"a": {Runs: 1}, "b": {Runs: 1},
				"many": {Runs: 1, Done: 2, Failed: 1, Retries: 1},
			},
			Limiters: map[string]flow.LimiterReport{"many": {Hits: 1, Cuts: 1, Recoveries: 2}},
		}, report)
	})
}

func TestTheReportIsThereWithAnError(t *testing.T) {
	report, err := flow.Run(t.Context(), flow.New("f", step("a")).Then(failing("b", errBoom)).Then(step("c")), &trail{})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, int64(2), report.Steps)
	require.Equal(t, map[string]flow.NodeReport{"a": {Runs: 1}, "b": {Runs: 1, Failures: 1}}, report.Nodes)
	require.Empty(t, report.Limiters)
	require.Equal(t, node.Next, report.Action)

	a := step("a", "typo")
	report, err = flow.Run(t.Context(), flow.New("f", a).End(a, "x"), &trail{})
	var unknown *flow.ActionError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, node.Action("typo"), report.Action)
	require.Equal(t, int64(1), report.Steps)
}

func TestTheReportOfAStoppedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		slow := node.BatchFunc("slow", count[*trail](9), func(ctx context.Context, i int) (int, error) {
			select {
			case <-time.After(time.Duration(2+20*i) * time.Second):
				return i, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}, nil).WithParallel(2).WithGrace(time.Second)
		report, err := flow.Run(ctx, flow.New("f", slow), &trail{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, report.Elapsed)
		require.Equal(t, map[string]flow.NodeReport{"slow": {Runs: 1, Failures: 1, Done: 1, Abandoned: 2}}, report.Nodes)
	})
}

func TestAUsedUpQuotaIsInTheReport(t *testing.T) {
	broke := errors.New("insufficient_quota: status 402")
	n := node.Do("n", func(context.Context, *trail) error { return broke }).
		With(guard.Policy{Law: adaptive.AIMD{}, Detector: func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal} }})
	report, err := flow.Run(t.Context(), n, &trail{})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	require.ErrorIs(t, err, broke)
	require.Equal(t, map[string]flow.LimiterReport{"n": {Closed: true}}, report.Limiters)
}

func TestRunRunsAnyNode(t *testing.T) {
	s := &trail{}
	report, err := flow.Run(t.Context(), step("a", "x"), s)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, s.names)
	require.Equal(t, node.Action("x"), report.Action)
	require.Equal(t, map[string]flow.NodeReport{"a": {Runs: 1}}, report.Nodes)
	require.Zero(t, report.Steps, "no flow")

	_, err = flow.Run(t.Context(), node.Node[*trail](&custom{"c", func(context.Context) (node.Action, error) { panic("no") }}), s)
	var panicked *fault.PanicError
	require.ErrorAs(t, err, &panicked)
}

func TestRunWithoutANode(t *testing.T) {
	for _, n := range []node.Node[*trail]{nil, (*flow.Flow[*trail])(nil)} {
		report, err := flow.Run(t.Context(), n, nil)
		require.EqualError(t, err, "flow.Run: n: the node is nil")
		require.NotNil(t, report)
		require.Zero(t, report.Nodes["x"])
	}
}

func TestRunOfAZeroFlow(t *testing.T) {
	_, err := flow.Run(t.Context(), &flow.Flow[*trail]{}, nil)
	require.Equal(t, []string{"constructor"}, fields(err))
}

func TestRunAfterTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	s := &trail{}
	report, err := flow.Run(ctx, step("a"), s)
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, s.names)
	require.Empty(t, report.Nodes)
}

// sources collects where events come from.
type sources struct {
	mu    sync.Mutex // guards names
	names []string
}

func (s *sources) Observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, e.Source+" "+string(e.Kind))
}

func TestObserversOfARun(t *testing.T) {
	var outer, one, two sources
	f := flow.New("f", step("a"))
	_, err := flow.Run(event.With(t.Context(), &outer), f, &trail{},
		flow.WithObserver(&one), flow.WithObserver(nil),
		flow.WithObserver(event.Func(func(event.Event) { panic("an observer takes nothing down") })),
		flow.WithObserver(&two))
	require.NoError(t, err)
	want := []string{"f flow.started", "a node.started", "a node.finished", "f flow.step", "f flow.finished"}
	require.Equal(t, want, one.names)
	require.Equal(t, want, two.names)
	require.Equal(t, want, outer.names, "those of the context stay")
}

func TestConcurrentRunsHaveReportsOfTheirOwn(t *testing.T) {
	f := flow.New("f", node.Do("a", func(context.Context, *trail) error { return nil })).
		Then(node.BatchFunc("b", count[*trail](10), func(_ context.Context, i int) (int, error) { return i, nil }, nil).WithParallel(3))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			report, err := flow.Run(context.Background(), f, &trail{})
			if err != nil || report.Steps != 2 || report.Nodes["b"].Done != 10 {
				t.Error(report, err)
			}
		})
	}
	wg.Wait()
}

// An empty name, as of a variable that is not set, would resume the results of the default run.
func TestOptionsOfARunAreChecked(t *testing.T) {
	j := journal.NewMemory()
	run := func(opts ...flow.RunOption) error {
		b := node.Each("b", func(*trail) []string { return []string{"a"} },
			func(_ context.Context, s string) (string, error) { return s, nil }, func(*trail, []string) {}).WithJournal(j)
		_, err := flow.Run(t.Context(), b, &trail{}, opts...)
		return err
	}
	require.NoError(t, run())
	err := run(flow.WithRun(""), nil)
	require.EqualError(t, err, "flow.Run: opts[1]: nil: leave it out\nflow.Run: WithRun: the name is empty: leave the option out for that of the context")
	var field *fault.FieldError
	require.ErrorAs(t, err, &field)
	require.NoError(t, run(flow.WithRun("november")))
}
