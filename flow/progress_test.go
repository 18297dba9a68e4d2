package flow_test

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// shots collects snapshots.
type shots struct {
	mu  sync.Mutex // guards all
	all []event.Progress
}

func (s *shots) take(p event.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
}

// timed works on n items, one a second, and says so beforehand. Item 1 fails.
func timed(name string, n int) *node.Batch[*trail, int, int] {
	prep := count[*trail](n)
	return node.BatchFunc(name,
		func(ctx context.Context, s *trail) (iter.Seq2[int, error], error) {
			flow.Expect(ctx, name, n)
			return prep(ctx, s)
		},
		func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Second)
			if i == 1 {
				return 0, errBoom
			}
			return i, nil
		},
		func(context.Context, *trail, *node.Report[int, int]) (node.Action, error) { return node.Next, nil })
}

func TestProgressOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen, told shots
		began := time.Now()
		b := timed("b", 4).WithLimits(throttle.Limits{Concurrency: 3})
		watch := event.Func(func(e event.Event) {
			if e.Kind == event.FlowProgress {
				require.Equal(t, "f", e.Source)
				require.Equal(t, e.Progress.Elapsed, e.Wait)
				require.Equal(t, e.Progress.Time, e.Time)
				told.take(*e.Progress)
			}
		})
		_, err := flow.Run(t.Context(), flow.New("f", step("a")).Then(b), &trail{},
			flow.WithObserver(watch), flow.WithProgress(seen.take, 2500*time.Millisecond))
		require.NoError(t, err)
		require.Equal(t, seen.all, told.all)
		require.Len(t, seen.all, 2)
		for i := range seen.all {
			l := &seen.all[i].Limiters[0]
			require.NotEmpty(t, l.Why)
			l.Why = ""
			for j := range seen.all[i].Nodes {
				seen.all[i].Nodes[j].Pending = 0 // it needs what only some nodes tell
			}
			seen.all[i].Items.Pending = 0
		}
		middle := event.Items{Total: 4, Done: 1, Failed: 1, Rate: 0.8, ETA: 2500 * time.Millisecond}
		last := event.Items{Total: 4, Done: 3, Failed: 1, Rate: 1}
		require.Equal(t, []event.Progress{
			{
				Time: began.Add(2500 * time.Millisecond), Name: "f", Elapsed: 2500 * time.Millisecond, Items: middle,
				Nodes:    []event.NodeProgress{{Name: "a", Runs: 1}, {Name: "b", Running: 1, Items: middle}},
				Limiters: []event.LimiterProgress{{Name: "b", Live: true, Limit: 3, InFlight: 1, Calls: 3}},
			},
			{
				Time: began.Add(4 * time.Second), Name: "f", Elapsed: 4 * time.Second, Final: true, Items: last,
				Nodes:    []event.NodeProgress{{Name: "a", Runs: 1}, {Name: "b", Runs: 1, Items: last}},
				Limiters: []event.LimiterProgress{{Name: "b", Live: true, Limit: 3, Calls: 4}},
			},
		}, seen.all)
	})
}

// tells is a node that tells the events it is given and then takes a while.
func tells(name string, took time.Duration, events ...event.Event) node.Node[*trail] {
	return &custom{name, func(ctx context.Context) (node.Action, error) {
		for _, e := range events {
			if e.Source == "" {
				e.Source = name
			}
			for range max(1, e.Attempt) {
				emit.Tell(ctx, event.From(ctx), e)
			}
		}
		time.Sleep(took)
		return node.Next, nil
	}}
}

// final runs n and returns the last snapshot.
func final(t *testing.T, n node.Node[*trail]) event.Progress {
	t.Helper()
	var seen shots
	_, err := flow.Run(t.Context(), n, &trail{}, flow.WithProgress(seen.take, 0))
	require.NoError(t, err)
	require.True(t, seen.all[len(seen.all)-1].Final)
	for _, p := range seen.all[:len(seen.all)-1] {
		require.False(t, p.Final)
	}
	return seen.all[len(seen.all)-1]
}

func TestWhenTheTotalIsKnown(t *testing.T) {
	input := func(n int) event.Event { return event.Event{Kind: event.NodeInput, To: float64(n)} }
	started, done := event.Event{Kind: event.NodeStarted}, event.Event{Kind: event.ItemDone}
	resumed, retry := event.Event{Kind: event.ItemResumed, Attempt: 3}, event.Event{Kind: event.ItemRetry}
	for name, tc := range map[string]struct {
		events []event.Event
		want   event.Items
	}{
		"told":                    {[]event.Event{started, input(10), done, retry}, event.Items{Total: 10, Done: 1, Retries: 1, Rate: 0.1, ETA: 90 * time.Second}},
		"not told":                {[]event.Event{started, done}, event.Items{Done: 1, Rate: 0.1}},
		"told of one run of two":  {[]event.Event{started, input(10), started, done}, event.Items{Done: 1, Rate: 0.1}},
		"told of both":            {[]event.Event{started, input(10), started, input(5), done}, event.Items{Total: 15, Done: 1, Rate: 0.1, ETA: 140 * time.Second}},
		"more than was told":      {[]event.Event{started, input(2), done, done, done}, event.Items{Total: 3, Done: 3, Rate: 0.3}},
		"resumed is no speed":     {[]event.Event{started, input(10), resumed, done}, event.Items{Total: 10, Done: 1, Resumed: 3, Rate: 0.1, ETA: 60 * time.Second}},
		"nothing but resumed":     {[]event.Event{started, input(10), resumed}, event.Items{Total: 10, Resumed: 3}},
		"a failure is one less":   {[]event.Event{started, input(10), {Kind: event.ItemFailed}}, event.Items{Total: 10, Failed: 1, Rate: 0.1, ETA: 90 * time.Second}},
		"so is what is abandoned": {[]event.Event{started, input(10), done, {Kind: event.ItemAbandoned}}, event.Items{Total: 10, Done: 1, Abandoned: 1, Rate: 0.1, ETA: 80 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := final(t, tells("n", 10*time.Second, tc.events...))
			require.Equal(t, tc.want, p.Items, name)
			require.Equal(t, tc.want, p.Nodes[0].Items, name)
		})
	}
}

// An instance of a batch of flows is one item, whatever it does inside.
func TestProgressCountsWhatIsOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := flow.Batch("inner", of[*user](users(3)...), note("x"), nil)
		outer := flow.Batch("outer", of[*trail](users(2)...), flow.New("user", inner), nil)
		other := tells("z", time.Second, event.Event{Kind: event.ItemDone, Source: "hidden"})
		p := final(t, flow.New("f", flow.New("g", step("a"))).Then(outer).Then(other))
		require.Equal(t, int64(2), p.Items.Done)
		names := []string{}
		for _, n := range p.Nodes {
			names = append(names, n.Name)
		}
		require.Equal(t, []string{"a", "outer", "inner", "x", "hidden"}, names, "as drawn, then what is not drawn")
		require.Equal(t, int64(6), p.Nodes[2].Done)

		p = final(t, flow.New("f", step("a")).Then(other)) // nothing else has items
		require.Equal(t, int64(1), p.Items.Done)
	})
}

func TestLimitersInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden, err := guard.New(guard.Policy{Name: "hidden", Law: wide(4)})
		require.NoError(t, err)
		shared, err := guard.New(guard.Policy{Name: "shared", Law: adaptive.Measured{}})
		require.NoError(t, err)
		ask := func(ctx context.Context) error {
			return hidden.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil })
		}
		require.NoError(t, ask(t.Context()), "before the run: it does not count")
		refused := false
		f := flow.New("f", node.Do("late", func(context.Context, *trail) error { // its limiter comes with the refusal
			if !refused {
				refused = true
				return &adaptive.RateLimitHit{RetryAfter: 1500 * time.Millisecond}
			}
			return nil
		})).
			Then(node.Do("asks", func(ctx context.Context, _ *trail) error { return ask(ctx) }).Within(shared)).
			Then(tells("z", 0, event.Event{Kind: event.LimiterHit, Source: "far"}, event.Event{Kind: event.LimiterClosed, Source: "far"}))
		var seen shots
		_, err = flow.Run(t.Context(), f, &trail{}, flow.WithProgress(seen.take, 0), flow.WithGuards(hidden, hidden, shared))
		require.NoError(t, err)
		require.Len(t, seen.all, 2)
		late := seen.all[0].Limiters[0]
		require.Equal(t, "late", late.Name)
		require.Equal(t, int64(1), late.Hits)
		require.Contains(t, late.Why, "the pause ends in")

		last := seen.all[1].Limiters
		require.Len(t, last, 4)
		for i, name := range []string{"late", "shared", "hidden", "far"} {
			require.Equal(t, name, last[i].Name)
			require.Equal(t, name != "far", last[i].Live)
		}
		require.Equal(t, int64(1), last[1].Calls)
		require.Equal(t, int64(1), last[2].Calls)
		require.Equal(t, event.LimiterProgress{Name: "far", Hits: 1, Closed: true}, last[3])
	})
}

func TestASlowViewerHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		slow := func(p event.Progress) {
			at = append(at, p.Elapsed)
			time.Sleep(2600 * time.Millisecond)
			panic("no")
		}
		began := time.Now()
		report, err := flow.Run(t.Context(), tells("n", 9500*time.Millisecond), &trail{},
			flow.WithProgress(slow, 0), flow.WithProgress(nil, time.Hour))
		require.NoError(t, err)
		require.Equal(t, 9500*time.Millisecond, report.Elapsed)
		const s = time.Second
		require.Equal(t, []time.Duration{1 * s, 3 * s, 6 * s, 8 * s, 9500 * time.Millisecond}, at, "the newest each time, and the last")
		require.Equal(t, 14*time.Second, time.Since(began), "until the viewer has seen the last")
	})
}

func TestAViewerThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		_, err := flow.Run(t.Context(), tells("n", 5*time.Second), &trail{}, flow.WithProgress(func(event.Progress) {
			calls++
			runtime.Goexit()
		}, 0))
		require.NoError(t, err)
		require.Equal(t, 1, calls)
	})
}

func TestProgressEndsWithARunThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen shots
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			n := &custom{"n", func(context.Context) (node.Action, error) {
				runtime.Goexit()
				return node.Next, nil
			}}
			_, _ = flow.Run(context.Background(), node.Node[*trail](n), &trail{}, flow.WithProgress(seen.take, 0))
		}()
		<-gone
		require.Len(t, seen.all, 1)
		require.True(t, seen.all[0].Final)
	})
}

func TestHowOftenAViewerIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for every, want := range map[time.Duration]int{
			0:                      3 + 1,
			time.Nanosecond:        320 + 1,
			10 * time.Millisecond:  320 + 1,
			500 * time.Millisecond: 6 + 1,
			time.Hour:              1,
		} {
			var seen shots
			_, err := flow.Run(t.Context(), tells("n", 3205*time.Millisecond), &trail{}, flow.WithProgress(seen.take, every))
			require.NoError(t, err)
			require.Len(t, seen.all, want, every)
		}
	})
	ran := false
	n := &custom{"n", func(context.Context) (node.Action, error) { ran = true; return node.Next, nil }}
	_, err := flow.Run(t.Context(), node.Node[*trail](n), &trail{}, flow.WithProgress(nil, -1), flow.WithGuards(nil))
	require.EqualError(t, err, "flow.Run: WithProgress: -1ns is negative: use 0 for 1s\nflow.Run: WithGuards: a guard is nil")
	require.Equal(t, []string{"WithProgress", "WithGuards"}, fields(err))
	require.False(t, ran)
}

// A run inside a run is not looked at, unless it asks for that itself.
func TestARunInsideARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told shots
		watch := event.Func(func(e event.Event) {
			if e.Kind == event.FlowProgress {
				told.take(*e.Progress)
			}
		})
		nested := &custom{"n", func(ctx context.Context) (node.Action, error) {
			r, err := flow.Run(ctx, tells("inner", 2500*time.Millisecond, event.Event{Kind: event.ItemDone}), &trail{})
			require.Nil(t, r.Series)
			return r.Action, err
		}}
		r, err := flow.Run(t.Context(), node.Node[*trail](nested), &trail{},
			flow.WithObserver(watch), flow.WithProgress(nil, 0), flow.WithSeries())
		require.NoError(t, err)
		require.Len(t, told.all, 3)
		require.Equal(t, int64(1), told.all[2].Items.Done)
		inner := r.Series.Nodes["inner"]
		require.Equal(t, []int64{1, 1, 1}, inner.Done[1:], "it is open which is first at 0: the look or the item")
		require.Equal(t, []int64{0, 0, 0, 0}, inner.Failed)
	})
}

func TestTheSeriesOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := timed("b", 3).WithParallel(2).WithLimits(throttle.Limits{Concurrency: 2})
		r, err := flow.Run(t.Context(), halfLate(b), &trail{}, flow.WithSeries())
		require.NoError(t, err)
		half := 500 * time.Millisecond
		require.Equal(t, &flow.Series{
			Interval: time.Second,
			At:       []time.Duration{0, time.Second, 2 * time.Second, 2*time.Second + half},
			Nodes:    map[string]flow.NodeSeries{"b": {Done: []int64{0, 0, 1, 2}, Failed: []int64{0, 0, 1, 1}}},
			Limiters: map[string]flow.LimiterSeries{"b": {
				Limit: []int{2, 2, 2, 2}, InFlight: []int{0, 2, 1, 0}, Waiting: []int{0, 0, 0, 0}, Pace: []float64{0, 0, 0, 0},
				Rate: []float64{0, 2, 1, 0}, Hits: []int64{0, 0, 0, 0},
			}},
		}, r.Series)
	})
	r, err := flow.Run(t.Context(), step("a"), &trail{})
	require.NoError(t, err)
	require.Nil(t, r.Series)
}

// halfLate has n begin half a second late, so that nothing falls on a full second.
func halfLate(n node.Node[*trail]) node.Node[*trail] {
	return flow.New("f", tells("wait", 500*time.Millisecond)).Then(n)
}

// An observer that ends the goroutine of the progress does not hold up the end of the run.
func TestAnObserverThatExitsAtTheProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exits := event.Func(func(e event.Event) {
			if e.Kind == event.FlowProgress {
				runtime.Goexit()
			}
		})
		f := flow.New("f", node.Do("wait", func(context.Context, *trail) error {
			time.Sleep(10 * time.Second)
			return nil
		}))
		report, err := flow.Run(t.Context(), f, &trail{}, flow.WithProgress(nil, 0), flow.WithSeries(), flow.WithObserver(exits))
		require.NoError(t, err)
		require.Len(t, report.Series.At, 11)
	})
}
