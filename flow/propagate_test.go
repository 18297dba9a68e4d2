package flow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// api refuses the first call of each of some users.
type api struct {
	mu      sync.Mutex // guards everything below
	refused map[int]bool
	refuse  int // users below it
	next    int // the next calls, so many times
}

// call takes a second, also to be refused.
func (a *api) call(_ context.Context, u *user) error {
	time.Sleep(time.Second)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next > 0 {
		a.next--
		return &adaptive.RateLimitHit{RetryAfter: time.Second}
	}
	if u.ID < a.refuse && !a.refused[u.ID] {
		a.refused[u.ID] = true
		return &adaptive.RateLimitHit{RetryAfter: time.Second}
	}
	u.Notes += "called"
	return nil
}

// wide is a law that starts with all it may have.
func wide(n int) adaptive.AIMD { return adaptive.AIMD{Initial: n, Max: n} }

func TestHitsOfANodeInsideCutTheBatchOncePerEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{refuse: 8, refused: map[int]bool{}}
		call := node.Do("call", a.call).With(guard.Policy{Law: wide(8), Propagate: true})
		var r *node.Report[user, user]
		b := flow.Batch("users", of[*trail](users(8)...), flow.New("user", note("before")).Then(call), keep[*trail](&r)).
			WithParallel(8).With(guard.Policy{Law: wide(8)})

		_, err := flow.Run(t.Context(), b, nil) // eight calls go at once and are refused
		require.NoError(t, err)
		requireAllCalled(t, r)
		require.Equal(t, []int64{8, 1}, []int64{view(t, call).Hits, view(t, call).Cuts})
		require.Equal(t, []int64{0, 1, 4}, []int64{view(t, b).Hits, view(t, b).Cuts, int64(view(t, b).Concurrency)})

		a.next = 4 // the next epoch: any four calls that are now admitted at once
		report, err := flow.Run(t.Context(), b, nil)
		require.NoError(t, err)
		requireAllCalled(t, r)
		require.Equal(t, flow.LimiterReport{Cuts: 1}, report.Limiters["users"])
		require.Equal(t, []int64{0, 2, 2}, []int64{view(t, b).Hits, view(t, b).Cuts, int64(view(t, b).Concurrency)})
	})
}

func TestOnlyPropagateLetsHitsGoUp(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(*node.Step[*user])
		cuts int64
	}{
		"a law, Propagate":    {func(n *node.Step[*user]) { n.With(guard.Policy{Law: wide(8), Propagate: true}) }, 1},
		"a law":               {func(n *node.Step[*user]) { n.With(guard.Policy{Law: wide(8)}) }, 0},
		"nothing, Propagate":  {func(n *node.Step[*user]) { n.With(guard.Policy{Propagate: true}) }, 1},
		"nothing of the kind": {func(*node.Step[*user]) {}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{refuse: 8, refused: map[int]bool{}}
			call := node.Do("call", a.call)
			tc.set(call)
			var r *node.Report[user, user]
			b := flow.Batch("users", of[*trail](users(8)...), flow.New("user", call), keep[*trail](&r)).
				WithParallel(8).With(guard.Policy{Law: wide(8)})
			_, err := b.Run(t.Context(), nil)
			require.NoError(t, err, name)
			requireAllCalled(t, r)
			require.Equal(t, int64(8), view(t, call).Hits, name)
			require.Equal(t, tc.cuts, view(t, b).Cuts, name)
			require.Equal(t, 8>>tc.cuts, view(t, b).Concurrency, name)
		})
	}
}

func requireAllCalled(t *testing.T, r *node.Report[user, user]) {
	t.Helper()
	require.Equal(t, node.Counts{Total: 8, Done: 8}, r.Counts())
	for res := range r.All() {
		require.Equal(t, "called", res.Out.Notes[len(res.Out.Notes)-6:])
		require.Equal(t, 1, res.Attempts, "a hit is no attempt of the instance")
	}
}

func TestHitsGoUpAsFarAsBatchesPropagate(t *testing.T) {
	for _, middlePropagates := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{refuse: 2, refused: map[int]bool{}}
			call := node.Do("call", a.call).With(guard.Policy{Propagate: true})
			middle := flow.Batch("middle", of[*user](users(4)...), flow.New("inner", call), nil).
				WithParallel(4).With(guard.Policy{Law: wide(4), Propagate: middlePropagates})
			outer := flow.Batch("outer", of[*trail](users(1)...), flow.New("user", middle), nil).
				WithParallel(8).With(guard.Policy{Law: wide(8)})

			var mu sync.Mutex // guards cuts
			var cuts []string
			report, err := flow.Run(t.Context(), outer, nil, flow.WithObserver(event.Func(func(e event.Event) {
				if e.Kind == event.LimiterCut {
					mu.Lock()
					defer mu.Unlock()
					cuts = append(cuts, e.Source)
				}
			})))
			require.NoError(t, err)
			require.Equal(t, []int{2, 1}, []int{view(t, middle).Concurrency, int(view(t, middle).Cuts)})
			want := []string{"call", "middle"}
			if middlePropagates {
				want = append(want, "outer")
				require.Equal(t, []int{4, 1}, []int{view(t, outer).Concurrency, int(view(t, outer).Cuts)})
			} else {
				require.Equal(t, []int{8, 0}, []int{view(t, outer).Concurrency, int(view(t, outer).Cuts)})
			}
			require.ElementsMatch(t, want, cuts)
			require.Equal(t, flow.NodeReport{Runs: 1, Done: 4}, report.Nodes["middle"])
			require.Equal(t, flow.NodeReport{Runs: 1, Done: 1}, report.Nodes["outer"])
		})
	}
}

func TestABatchThatGivesUpTellsItsHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := node.Do("call", func(context.Context, *user) error {
			return &adaptive.RateLimitHit{RetryAfter: time.Hour} // beyond what is waited for
		}).With(guard.Policy{Law: wide(8), Propagate: true})
		b := flow.Batch("users", of[*trail](users(1)...), flow.New("user", call), nil).With(guard.Policy{Law: wide(8)})
		_, err := b.Run(t.Context(), nil)
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		require.Equal(t, "call", hit.Scope)
		require.Equal(t, time.Hour, hit.RetryAfter)
		require.Equal(t, int64(1), view(t, b).Cuts)
	})
}

// Four levels: a node in a flow, a batch of flows, a batch of those, and a flow
// around them. A burst of refusals is one cut for each limiter on the way up, whichever
// of them share a key with another level, and the next burst is one more.
func TestABurstCutsEveryLimiterOfFourLevelsOnce(t *testing.T) {
	for _, sharing := range []string{"own keys", "the node shares with another node", "the node has that of a sibling batch"} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{refuse: 8, refused: map[int]bool{}}
			key, err := guard.New(guard.Policy{Name: "key", Law: wide(8)})
			require.NoError(t, err)
			call := node.Do("call", a.call).With(guard.Policy{Propagate: true})
			if sharing == "own keys" {
				call.With(guard.Policy{Law: wide(8), Propagate: true})
			} else {
				call.Within(key)
			}
			instance := flow.New("instance", call)
			if sharing == "the node shares with another node" {
				instance.Then(node.Do("again", func(context.Context, *user) error { return nil }).Within(key))
			}
			middle := flow.Batch("middle", of[*user](users(8)...), instance, nil).
				WithParallel(8).With(guard.Policy{Law: wide(8), Propagate: true})
			outer := flow.Batch("outer", of[*trail](users(1)...), flow.New("user", middle), nil).
				WithParallel(4).With(guard.Policy{Law: wide(4), Propagate: true})
			parent := flow.New("parent", outer)
			if sharing == "the node has that of a sibling batch" {
				parent.Then(flow.Batch("sibling", of[*trail](users(1)...), note("x"), nil).Within(key))
			}
			top := flow.Batch("top", of[*trail](&trail{}), onItems(parent), nil).WithParallel(4).With(guard.Policy{Law: wide(4)})

			for epoch := int64(1); epoch <= 2; epoch++ {
				if epoch == 2 {
					a.next = 4 // the next calls, all at once
				}
				report, err := flow.Run(t.Context(), top, &trail{})
				require.NoError(t, err, sharing)
				for _, n := range []limiting{call, middle, outer, top} {
					l := n.Guard().Learner()
					require.Equal(t, int64(1), report.Limiters[l.Name()].Cuts, "%s: %s in epoch %d", sharing, l.Name(), epoch)
				}
				require.Equal(t, flow.NodeReport{Runs: 1, Done: 8}, report.Nodes["middle"], sharing)
				require.Equal(t, flow.NodeReport{Runs: 1, Done: 1}, report.Nodes["top"], sharing)
			}
			require.Equal(t, []int{2, 1, 1}, []int{
				view(t, middle).Concurrency, view(t, outer).Concurrency, view(t, top).Concurrency,
			}, sharing)
		})
	}
}

// onItems runs a flow over *trail on the items of a batch of them.
func onItems(f *flow.Flow[*trail]) node.Node[**trail] {
	return &deref{f}
}

type deref struct{ inner *flow.Flow[*trail] }

func (d *deref) Name() string { return d.inner.Name() }

func (d *deref) Run(ctx context.Context, s **trail) (node.Action, error) { return d.inner.Run(ctx, *s) }
