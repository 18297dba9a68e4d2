package flow_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// user is the T of most batches below.
type user struct {
	ID    int
	Notes string
}

func users(n int) []user {
	all := make([]user, n)
	for i := range all {
		all[i].ID = i
	}
	return all
}

// note is a node that leaves its name in the user.
func note(name string) node.Node[*user] {
	return node.Do(name, func(_ context.Context, u *user) error { u.Notes += name; return nil })
}

func TestBatchRunsTheFlowOnceForEveryItem(t *testing.T) {
	perUser := flow.New("user", note("a")).Then(note("b"))
	var got []user
	b := flow.Batch("users", of[*trail](users(3)...), perUser,
		func(_ context.Context, s *trail, r *node.Report[user, user]) (node.Action, error) {
			got = r.Values()
			s.names = append(s.names, "post")
			for res := range r.All() {
				require.Equal(t, user{ID: int(res.Index)}, res.In, "the input is left alone")
			}
			return "done", nil
		})
	requireTrail(t, b, "done", "post")
	require.Equal(t, []user{{0, "ab"}, {1, "ab"}, {2, "ab"}}, got)
}

func TestBatchIsSequentialUnlessToldOtherwise(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			nap := node.Do("nap", func(context.Context, *user) error { time.Sleep(time.Second); return nil })
			b := flow.Batch("users", of[*trail](users(6)...), flow.New("user", nap).Then(note("x")), nil)
			if parallel > 1 {
				b.WithParallel(parallel)
			}
			began := time.Now()
			_, err := b.Run(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, time.Duration(6/parallel)*time.Second, time.Since(began))
		})
	}
}

func TestBatchKeepsTheOrderOfItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := node.Do("slow", func(_ context.Context, u *user) error {
			time.Sleep(time.Duration(10-u.ID) * time.Second) // the last is done first
			u.Notes = fmt.Sprint("done ", u.ID)
			return nil
		})
		var r *node.Report[user, user]
		_, err := flow.Batch("users", of[*trail](users(10)...), slow, keep[*trail](&r)).WithParallel(10).Run(t.Context(), nil)
		require.NoError(t, err)
		for i, u := range r.Values() {
			require.Equal(t, user{i, fmt.Sprint("done ", i)}, u)
		}
	})
}

func TestBatchWithoutPostFailsOnAFailedInstance(t *testing.T) {
	odd := node.Do("odd", func(_ context.Context, u *user) error {
		if u.ID%2 == 1 {
			return errBoom
		}
		return nil
	})
	b := flow.Batch("users", of[*trail](users(4)...), flow.New("user", odd), nil)
	_, err := flow.New[*trail]("f", b).Run(t.Context(), nil)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, node.Counts{Total: 4, Done: 2, Failed: 2}, failed.Counts)
	require.ErrorIs(t, err, errBoom)
	var at *flow.StepError
	require.ErrorAs(t, failed.First[0], &at)
	require.Equal(t, []string{"user", "odd"}, []string{at.Flow, at.Node})

	action, err := flow.Batch("users", of[*trail](users(4)...), note("x"), nil).Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, node.Next, action)
}

func TestBatchNamesWhatIsNil(t *testing.T) {
	for name, n := range map[string]node.Node[*user]{
		"nil": nil, "nil flow": (*flow.Flow[*user])(nil), "nil step": (*node.Step[*user])(nil),
	} {
		err := flow.Batch[*trail, user]("users", nil, n, nil).WithParallel(-1).Validate()
		require.Equal(t, []string{"WithParallel", "prep", "n"}, fields(err), name)
		require.ErrorContains(t, err, `node "users": prep: the function is nil`)
		require.ErrorContains(t, err, `node "users": n: the node is nil`)
	}
}

func TestAPrepErrorEndsTheBatch(t *testing.T) {
	prep := func(context.Context, *trail) (iter.Seq2[user, error], error) { return nil, errBoom }
	_, err := flow.Batch("users", prep, note("x"), nil).Run(t.Context(), nil)
	require.ErrorIs(t, err, errBoom)
}

// A retry begins with what prep gave, not with what a failed attempt has left.
func TestEveryAttemptWorksOnAFreshCopy(t *testing.T) {
	var seen []user
	flaky := node.Do("flaky", func(_ context.Context, u *user) error {
		seen = append(seen, *u)
		u.Notes += "x"
		if len(seen) < 3 {
			return errBoom
		}
		return nil
	})
	var r *node.Report[user, user]
	b := flow.Batch("users", of[*trail](user{7, "-"}), flow.New("user", flaky).Then(note("y")), keep[*trail](&r)).
		WithRetry(retry.Policy{MaxAttempts: 3, Initial: 1, Max: 1})
	_, err := b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]user{{7, "-"}}, 3), seen)
	require.Equal(t, []user{{7, "-xy"}}, r.Values())
	require.Equal(t, 3, slices.Collect(r.All())[0].Attempts)
}

// The types below hold a map, which an assignment would share.
type (
	plainBag   struct{ m map[string]int }
	valueBag   struct{ m map[string]int }
	pointerBag struct{ m map[string]int }
	sharedBag  struct{ m map[string]int }
)

func (b valueBag) Clone() valueBag      { return valueBag{maps.Clone(b.m)} }
func (b *pointerBag) Clone() pointerBag { return pointerBag{maps.Clone(b.m)} }
func (b *sharedBag) Clone() *sharedBag  { return &sharedBag{maps.Clone(b.m)} }

// tries runs an instance that fails once after it has changed its bag, and
// returns what the second attempt found in it, and what prep's bag holds then.
func tries[T any](t *testing.T, in T, bag func(*T) map[string]int) (found, left int) {
	t.Helper()
	attempts := 0
	n := node.Do("n", func(_ context.Context, t *T) error {
		found = bag(t)["x"]
		bag(t)["x"]++
		if attempts++; attempts == 1 {
			return errBoom
		}
		return nil
	})
	_, err := flow.Batch("b", of[*trail](in), n, nil).
		WithRetry(retry.Policy{MaxAttempts: 2, Initial: 1, Max: 1}).Run(t.Context(), nil)
	require.NoError(t, err)
	return found, bag(&in)["x"]
}

func TestCloneMakesTheCopy(t *testing.T) {
	for name, do := range map[string]func() (int, int){
		"value receiver": func() (int, int) {
			return tries(t, valueBag{map[string]int{}}, func(b *valueBag) map[string]int { return b.m })
		},
		"pointer receiver": func() (int, int) {
			return tries(t, pointerBag{map[string]int{}}, func(b *pointerBag) map[string]int { return b.m })
		},
		"a pointer as T": func() (int, int) {
			return tries(t, &sharedBag{map[string]int{}}, func(b **sharedBag) map[string]int { return (*b).m })
		},
	} {
		found, left := do()
		require.Equal(t, []int{0, 0}, []int{found, left}, name)
	}
	found, left := tries(t, plainBag{map[string]int{}}, func(b *plainBag) map[string]int { return b.m })
	require.Equal(t, []int{1, 2}, []int{found, left}, "without Clone a map is shared")
}

func TestParallelInstancesShareNothing(t *testing.T) { // with -race
	n := node.Do("n", func(_ context.Context, bag *valueBag) error {
		for i := range 100 {
			bag.m[strconv.Itoa(i)]++
		}
		return nil
	})
	one := valueBag{map[string]int{}}
	var r *node.Report[valueBag, valueBag]
	b := flow.Batch("b", of[*trail](slices.Repeat([]valueBag{one}, 50)...), flow.New("f", n).Then(node.Do("m",
		func(_ context.Context, bag *valueBag) error { bag.m["0"]++; return nil })), keep[*trail](&r)).WithParallel(8)
	_, err := b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, one.m)
	for _, bag := range r.Values() {
		require.Len(t, bag.m, 100)
		require.Equal(t, 2, bag.m["0"])
	}
}

func TestABatchOfFlowsHasLimitsOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		nap := node.Do("nap", func(context.Context, *user) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil
		})
		for want, b := range map[int64]*node.Batch[*trail, user, user]{
			2: flow.Batch("limits", of[*trail](users(10)...), nap, nil).WithLimits(throttle.Limits{Concurrency: 2}),
			3: flow.Batch("law", of[*trail](users(10)...), nap, nil).With(guard.Policy{Law: adaptive.AIMD{Initial: 3, Max: 3}}),
		} {
			most.Store(0)
			_, err := b.WithParallel(8).Run(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, want, most.Load())
		}
	})
}

func TestCancellingLetsRunningInstancesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(errBoom) }) // three instances are in b
		nap := func(name string) node.Node[*user] {
			return node.Do(name, func(ctx context.Context, u *user) error {
				select {
				case <-time.After(time.Second):
					u.Notes += name
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}
		var r *node.Report[user, user]
		b := flow.Batch("users", of[*trail](users(6)...), flow.New("user", nap("a")).Then(nap("b")), keep[*trail](&r)).
			WithParallel(4).WithLimits(throttle.Limits{Concurrency: 3}) // the fourth waits for admission
		began := time.Now()
		_, err := b.Run(ctx, nil)
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, 2*time.Second, time.Since(began), "b went on")
		require.Equal(t, node.Counts{Total: 4, Done: 3, Pending: 1}, r.Counts())
		for res := range r.All() { // which of the four had to wait is chance
			require.Equal(t, int(res.Index), res.Out.ID, "an instance that did not finish keeps its parameters")
			if res.State == node.Done {
				require.Equal(t, "ab", res.Out.Notes)
				continue
			}
			require.Empty(t, res.Out.Notes)
			require.ErrorIs(t, res.Err, errBoom)
		}
	})
}

func TestTheGraceDoesNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		endless := func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) }
		inner := node.BatchFunc("items", count[*user](3), endless, nil).WithParallel(2).WithGrace(10 * time.Second)
		b := flow.Batch("users", of[*trail](users(4)...), flow.New("user", inner), nil).
			WithParallel(2).WithGrace(5 * time.Second)
		began := time.Now()
		_, err := flow.New[*trail]("f", b).Run(ctx, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 6*time.Second, time.Since(began), "the outer grace ends both")
		var stopped *node.BatchError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, node.Counts{Total: 2, Pending: 2}, stopped.Counts)
	})
}

// tree is walked by a flow that has a batch of itself inside.
type tree struct {
	Value    int
	Children []tree
	Sum      int
}

func binary(depth int) tree {
	t := tree{Value: 1}
	if depth > 0 {
		t.Children = []tree{binary(depth - 1), binary(depth - 1)}
	}
	return t
}

// walkTree sums up a tree. The data bounds the recursion: a leaf has no children.
func walkTree() *flow.Flow[*tree] {
	visit := node.Decide("visit", func(_ context.Context, t *tree) (node.Action, error) {
		t.Sum = t.Value
		if len(t.Children) == 0 {
			return "leaf", nil
		}
		return "children", nil
	})
	f := flow.New("tree", visit).End(visit, "leaf")
	children := flow.Batch("children",
		func(_ context.Context, t *tree) (iter.Seq2[tree, error], error) { return node.Slice(t.Children), nil },
		f,
		func(_ context.Context, t *tree, r *node.Report[tree, tree]) (node.Action, error) {
			for _, c := range r.Values() {
				t.Sum += c.Sum
			}
			return node.Next, r.Err()
		}).WithParallel(2)
	return f.On(visit, "children", children)
}

func TestRecursionThroughABatch(t *testing.T) {
	f := walkTree()
	require.NoError(t, f.Validate())
	for depth := range 7 {
		root := binary(depth)
		_, err := f.Run(t.Context(), &root)
		require.NoError(t, err)
		require.Equal(t, 1<<(depth+1)-1, root.Sum)
	}
}

func TestEndlessNestingIsAnError(t *testing.T) {
	t.Run("directly", func(t *testing.T) {
		a := step("a", "in")
		f := flow.New("f", a).End(a, "out")
		f.On(a, "in", f)
		names, _, err := follow(t, f)
		require.Len(t, names, 1000)
		require.ErrorContains(t, err, `flow "f": runs nested 1001 deep: a flow inside itself needs an action that ends it`)
	})
	t.Run("through a batch", func(t *testing.T) {
		deepest := 0
		one := node.Decide("one", func(_ context.Context, j *job) (node.Action, error) {
			deepest = max(deepest, j.depth)
			return "in", nil
		})
		f := flow.New("f", one).End(one, "out")
		f.On(one, "in", flow.Batch("b", func(_ context.Context, j *job) (iter.Seq2[job, error], error) {
			return node.Slice([]job{{j.depth + 1}}), nil
		}, f, nil))
		_, err := f.Run(t.Context(), &job{1})
		require.ErrorContains(t, err, `flow "f": runs nested 1001 deep`)
		require.Equal(t, 1000, deepest)
	})
}

func TestABatchIsSafeForConcurrentRuns(t *testing.T) {
	b := flow.Batch("users", of[*atomic.Int64](users(20)...), flow.New("user", note("a")).Then(note("b")),
		func(_ context.Context, sum *atomic.Int64, r *node.Report[user, user]) (node.Action, error) {
			for _, u := range r.Values() {
				sum.Add(int64(len(u.Notes)))
			}
			return node.Next, r.Err()
		}).WithParallel(4).WithLimits(throttle.Limits{Concurrency: 3})
	var sum atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, err := b.Run(context.Background(), &sum); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(5*20*2), sum.Load())
}
