package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

type list struct {
	Items  []string
	Sizes  []int
	Errors []string
	A, B   int
}

func items(_ context.Context, l *list) (iter.Seq2[string, error], error) {
	return node.Slice(l.Items), nil
}

func store(_ context.Context, l *list, r *node.Report[string, int]) (node.Action, error) {
	l.Sizes = r.Values()
	for f := range r.Failed() {
		l.Errors = append(l.Errors, f.Err.Error())
	}
	return node.Next, nil
}

func batchOf(exec func(context.Context, string) (int, error)) *node.Batch[*list, string, int] {
	return node.BatchFunc("sizes", items, exec, store).WithParallel(4)
}

func length(_ context.Context, s string) (int, error) { return len(s), nil }

// env is an environment with the workflows and activities of n, and a state in its store.
func env(t *testing.T, n any, state *list) (*testsuite.TestWorkflowEnvironment, runInput, Store) {
	t.Helper()
	s := untilEnd(t, Dir(t.TempDir()))
	e, in := envOf(t, n, state, s, func(*program, *activities) {})
	return e, in, s
}

// finite is a Store that is gone at a test's end, before its directory is. The environment waits for no activity of a
// workflow that has failed.
type finite struct {
	Store
	mu   sync.RWMutex
	gone bool
}

func untilEnd(t *testing.T, s Store) *finite {
	t.Helper()
	f := &finite{Store: s}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gone = true
	})
	return f
}

func (f *finite) Put(ctx context.Context, key string, data []byte) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.gone {
		return nil // an error would be tried again
	}
	return f.Store.Put(ctx, key, data)
}

// envOf is env with a store and other bounds.
func envOf(t *testing.T, n any, state *list, s Store, set func(*program, *activities)) (*testsuite.TestWorkflowEnvironment, runInput) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	e := suite.NewTestWorkflowEnvironment()
	e.SetTestTimeout(time.Minute)
	plan, err := engine.New(n)
	require.NoError(t, err)
	plans := map[string]*engine.Plan{plan.Name(): plan}
	p, a := newProgram(Options{Store: s}.withDefaults(), plans), newActivities(s, plans)
	set(p, a)
	p.register(e)
	a.register(e)
	data, err := plan.Encode(state)
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), "run/state", data))
	return e, runInput{Flow: plan.Name(), Fingerprint: plan.Fingerprint(), Path: plan.Root().Path, Key: "run", State: "run/state"}
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// runs executes n in the environment, and returns the state after it.
func runs(t *testing.T, n any, state *list) (*list, error) {
	t.Helper()
	e, in, s := env(t, n, state)
	e.ExecuteWorkflow(nameRun, in)
	require.True(t, e.IsWorkflowCompleted())
	if err := e.GetWorkflowError(); err != nil {
		return nil, remote(err)
	}
	var o outcome
	require.NoError(t, e.GetWorkflowResult(&o))
	data, err := s.Get(t.Context(), o.State)
	require.NoError(t, err)
	after := &list{}
	return after, json.Unmarshal(data, after)
}

// equal compares a flow on the engine with the same flow in one process.
func equal(t *testing.T, n func() node.Node[*list], state func() *list) {
	t.Helper()
	want := state()
	_, wanted := flow.Run(t.Context(), n(), want)
	got, err := runs(t, n(), state())
	if wanted != nil {
		assert.EqualError(t, err, wanted.Error())
		return
	}
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func words() *list { return &list{Items: []string{"mill", "wheel", "race"}} }

func TestAFlowIsEqualInOneProcess(t *testing.T) {
	set := func(name string, f func(*list)) node.Node[*list] {
		return node.Do(name, func(_ context.Context, l *list) error { f(l); return nil })
	}
	for name, n := range map[string]func() node.Node[*list]{
		"a step":  func() node.Node[*list] { return set("one", func(l *list) { l.A = 7 }) },
		"a batch": func() node.Node[*list] { return batchOf(length) },
		"a batch with failed items": func() node.Node[*list] {
			return batchOf(func(_ context.Context, s string) (int, error) {
				if s == "wheel" {
					return 0, io.ErrUnexpectedEOF
				}
				return len(s), nil
			})
		},
		"a failed batch": func() node.Node[*list] {
			return flow.New("f", node.Each("b", func(l *list) []string { return l.Items }, func(context.Context, string) (int, error) { return 0, io.EOF },
				func(*list, []int) {}))
		},
		"a panic": func() node.Node[*list] {
			return batchOf(func(context.Context, string) (int, error) { panic("no") }).WithFallback(
				func(_ context.Context, s string, _ error) (int, error) { return -len(s), nil })
		},
		"a loop": func() node.Node[*list] {
			judge := node.Decide("judge", func(_ context.Context, l *list) (node.Action, error) {
				if l.A < 3 {
					return "more", nil
				}
				return node.Next, nil
			})
			more := set("more", func(l *list) { l.A++ })
			return flow.New("loop", judge).On(judge, "more", more).On(more, node.Next, judge).End(judge, node.Next)
		},
		"too many steps": func() node.Node[*list] {
			a := node.Decide("a", func(context.Context, *list) (node.Action, error) { return "more", nil })
			return flow.New("loop", a).On(a, "more", a).End(a, node.Next).WithMaxSteps(5)
		},
		"an unknown action": func() node.Node[*list] {
			a := node.Decide("a", func(context.Context, *list) (node.Action, error) { return "misspelt", nil })
			return flow.New("f", a).End(a, "known")
		},
		"a flow in a flow": func() node.Node[*list] {
			return flow.New("outer", set("a", func(l *list) { l.A = 1 })).Then(flow.New("inner", set("b", func(l *list) { l.B = l.A + 1 })))
		},
		"a fork": func() node.Node[*list] {
			return flow.Parallel("fork", set("a", func(l *list) { l.A = 1 }), set("b", func(l *list) { l.B = 2 }), batchOf(length))
		},
		"a failed fork": func() node.Node[*list] {
			return flow.Parallel("fork", set("a", func(l *list) { l.A = 1 }), node.Do("b", func(context.Context, *list) error { return io.EOF }))
		},
		"a batch of flows": func() node.Node[*list] {
			type word struct {
				Text string
				Size int
			}
			return flow.Each("words", func(l *list) (all []word) {
				for _, s := range l.Items {
					all = append(all, word{Text: s})
				}
				return all
			}, flow.New("word", node.Do("size", func(_ context.Context, w *word) error { w.Size = len(w.Text); return nil })),
				func(l *list, done []word) {
					for _, w := range done {
						l.Sizes = append(l.Sizes, w.Size)
					}
				}).WithParallel(2)
		},
		"one": func() node.Node[*list] {
			return node.One("one", func(_ context.Context, l *list) (int, error) { return len(l.Items), nil }, func(l *list, n int) { l.A = n })
		},
	} {
		t.Run(name, func(t *testing.T) { equal(t, n, words) })
	}
}

func TestTwoNodesOfAForkThatChangeTheSame(t *testing.T) {
	set := func(name string, v int) node.Node[*list] {
		return node.Do(name, func(_ context.Context, l *list) error { l.A = v; return nil })
	}
	_, err := runs(t, flow.Parallel("fork", set("a", 1), set("b", 2)), words())
	assert.ErrorContains(t, err, `two nodes have changed "/A" of the state`)
}

// A worker with another version of the flow fails the workflow task, and not the run.
func TestAnotherVersionOfTheFlowDoesNotEndTheRun(t *testing.T) {
	e, in, _ := env(t, batchOf(func(context.Context, string) (int, error) { panic("called") }), words())
	here := in.Fingerprint
	in.Fingerprint = "another"
	e.ExecuteWorkflow(nameRun, in)
	err := e.GetWorkflowError()
	require.ErrorAs(t, err, new(*sdk.PanicError), "the SDK fails the task after a panic, and the workflow after any other error")
	require.ErrorContains(t, err, engine.ErrDiffers.Error())
	require.ErrorContains(t, err, "another")
	require.ErrorContains(t, err, here)
	require.ErrorContains(t, err, "Options.Queue")
}

// All pages are worked on, in histories of their own, and results come in the order of the input.
func TestABatchOfManyPages(t *testing.T) {
	many := &list{}
	for i := range 2*defaultSize.items + 17 {
		many.Items = append(many.Items, strings.Repeat("x", i%50))
	}
	got, err := runs(t, batchOf(length), many)
	require.NoError(t, err)
	require.Len(t, got.Sizes, len(many.Items))
	for i, size := range got.Sizes {
		require.Equal(t, i%50, size)
	}
}

// With a tolerance nothing begins behind the failure that is one too many.
func TestFailuresStopABatch(t *testing.T) {
	calls := 0
	b := batchOf(func(context.Context, string) (int, error) { calls++; return 0, io.EOF }).WithParallel(1).WithOnError(node.MaxFailures(1))
	_, err := runs(t, b, &list{Items: strings.Fields(strings.Repeat("x ", 9))})
	require.ErrorContains(t, err, "2 items failed and 1 are allowed, at last: EOF")
	assert.Equal(t, 2, calls)
}

func TestARefusedItemStopsABatchThatFailuresMayStop(t *testing.T) {
	calls := 0
	b := batchOf(func(context.Context, string) (int, error) { calls++; return 0, &adaptive.RateLimitHit{GivenUp: true} }).
		WithParallel(1).WithOnError(node.MaxFailures(1))
	_, err := runs(t, b, &list{Items: strings.Fields(strings.Repeat("x ", 9))})
	require.Error(t, err)
	assert.Equal(t, 1, calls)
}

// A flow that is run again for its item reads nothing that the run before has stored: not the items of a batch inside.
func TestAFlowOfAnItemIsRunAgainFromTheBeginning(t *testing.T) {
	tries := 0
	prepare := node.Do("prepare", func(_ context.Context, l *list) error {
		tries++
		l.Items = []string{strings.Repeat("x", tries)}
		return nil
	})
	size := batchOf(func(_ context.Context, s string) (int, error) {
		if s == "x" {
			return 0, io.EOF
		}
		return len(s), nil
	}).WithOnError(node.FailFast())
	outer := flow.Each("outer", func(l *list) []list { return []list{{}} }, flow.New("inner", prepare).Then(size),
		func(l *list, done []list) { l.Sizes = done[0].Sizes }).WithRetry(retry.Policy{MaxAttempts: 2})
	after, err := runs(t, outer, &list{})
	require.NoError(t, err)
	assert.Equal(t, []int{2}, after.Sizes)
	assert.Equal(t, 2, tries)
}

// attempts runs the attempts of an activity of one item one after the other, as a server would, and returns its errors.
func attempts(t *testing.T, exec func(context.Context, string) (int, error), policy guard.Policy, most int) (errs []error, last itemOutcome, kept []details) {
	t.Helper()
	plan, err := engine.New(batchOf(exec).With(policy))
	require.NoError(t, err)
	s := Dir(t.TempDir())
	require.NoError(t, s.Put(t.Context(), pageKey("run", 0), []byte(`{"items":[{"in":"mill"}]}`)))
	a := newActivities(s, map[string]*engine.Plan{plan.Name(): plan})
	for range most {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(quiet{})
		e := suite.NewTestActivityEnvironment()
		a.register(e)
		if len(kept) > 0 {
			e.SetHeartbeatDetails(kept[len(kept)-1])
		}
		e.SetOnActivityHeartbeatListener(func(_ *activity.Info, v converter.EncodedValues) {
			var d details
			require.NoError(t, v.Get(&d))
			kept = append(kept, d)
		})
		v, err := e.ExecuteActivity(nameItem, call{Flow: plan.Name(), Print: plan.Fingerprint(), Path: "sizes", Key: "run"})
		errs = append(errs, err)
		if err == nil {
			require.NoError(t, v.Get(&last))
			return errs, last, kept
		}
	}
	return errs, last, kept
}

func delayOf(t *testing.T, err error) time.Duration {
	t.Helper()
	var app *sdk.ApplicationError
	require.ErrorAs(t, err, &app)
	assert.Equal(t, typeAgain, app.Type())
	assert.False(t, app.NonRetryable())
	return app.NextRetryDelay()
}

// A 429 ends the activity with the pause as its delay, and is no attempt.
func TestA429IsNoAttempt(t *testing.T) {
	calls := 0
	errs, o, kept := attempts(t, func(context.Context, string) (int, error) {
		switch calls++; {
		case calls <= 3:
			return 0, &adaptive.RateLimitHit{RetryAfter: time.Duration(calls) * time.Millisecond}
		case calls == 4:
			return 0, io.EOF
		default:
			return 9, nil
		}
	}, guard.Policy{Retry: &retry.Policy{MaxAttempts: 2, Initial: 5 * time.Second, NoJitter: true}}, 9)
	require.Len(t, errs, 5)
	for i, err := range errs[:3] {
		assert.GreaterOrEqual(t, delayOf(t, err), time.Duration(i+1)*time.Millisecond)
	}
	assert.Equal(t, 5*time.Second, delayOf(t, errs[3]), "the retry policy of the node")
	assert.Equal(t, engine.Done, o.State)
	require.Len(t, kept, 4)
	for i, d := range kept {
		assert.Equal(t, 1, d.Attempts)
		assert.EqualValues(t, i+1, d.Returned)
	}
}

// The server gives no attempt up that its node still allows.
func TestTheServerWaitsForTheTimeoutOfANode(t *testing.T) {
	long, err := guard.New(guard.Policy{Name: "long", Timeout: 40 * time.Hour})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		batch *node.Batch[*list, string, int]
		least time.Duration
	}{
		"none":             {batchOf(length), time.Hour},
		"its own":          {batchOf(length).WithTimeout(30 * time.Hour), 30 * time.Hour},
		"of a guard":       {batchOf(length).Within(long), 40 * time.Hour},
		"as long as it is": {batchOf(length).WithTimeout(math.MaxInt64), 365 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			e, in, _ := env(t, c.batch, &list{Items: []string{"mill"}})
			var given time.Duration
			e.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if i.ActivityType.Name == nameItem {
					given = i.StartToCloseTimeout
				}
			})
			e.ExecuteWorkflow(nameRun, in)
			require.NoError(t, e.GetWorkflowError())
			assert.GreaterOrEqual(t, given, c.least+15*time.Second, "and its admission")
		})
	}
}

// An activity of which too many attempts were lost fails, and with it the run: no other attempt is made.
func TestTooManyLostAttempts(t *testing.T) {
	plan, err := engine.New(batchOf(length))
	require.NoError(t, err)
	s := Dir(t.TempDir())
	require.NoError(t, s.Put(t.Context(), pageKey("run", 0), []byte(`{"items":[{"in":"mill"}]}`)))
	a := newActivities(s, map[string]*engine.Plan{plan.Name(): plan})
	for _, name := range []string{nameList, nameItem, nameFinish} {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(quiet{})
		e := suite.NewTestActivityEnvironment()
		a.register(e)
		e.SetHeartbeatDetails(details{Returned: -mostLost}) // the environment makes the first attempt
		v, err := e.ExecuteActivity(name, call{Flow: plan.Name(), Print: plan.Fingerprint(), Path: "sizes", Key: "run", State: "run/state"})
		if name == nameItem {
			var o itemOutcome
			require.NoError(t, err)
			require.NoError(t, v.Get(&o))
			assert.Equal(t, itemOutcome{State: engine.Failed, Message: errLost.Error()}, o)
			continue
		}
		var app *sdk.ApplicationError
		require.ErrorAs(t, err, &app, name)
		assert.True(t, app.NonRetryable(), name)
		assert.Equal(t, errLost.Error(), remote(err).Message)
	}
}

// An item that fails for good is an outcome, and not a failure of the activity.
func TestAnItemFailsForGood(t *testing.T) {
	errs, o, _ := attempts(t, func(context.Context, string) (int, error) { return 0, io.EOF },
		guard.Policy{Retry: &retry.Policy{MaxAttempts: 3, Initial: time.Millisecond}}, 9)
	assert.Len(t, errs, 3)
	assert.Equal(t, itemOutcome{State: engine.Failed, Message: "EOF"}, o)
}

func TestWhatCannotTravelIsRefusedBeforeAnythingStarts(t *testing.T) {
	type secret struct{ hidden int }
	n := node.Do("step", func(context.Context, *secret) error { return nil })
	_, err := Run(t.Context(), nil, n, &secret{1}, Options{Store: Dir(t.TempDir())})
	require.ErrorContains(t, err, `node "step": state: it is sent as JSON, which leaves out *temporal.secret.hidden`)
	_, err = NewWorker(nil, Options{Slots: -1}, n)
	require.ErrorContains(t, err, "hidden")
	require.ErrorContains(t, err, "Store: it is nil")
	require.ErrorContains(t, err, "Slots: -1 is negative")
	_, err = NewWorker(nil, Options{Store: Dir(t.TempDir())})
	require.ErrorContains(t, err, "there are no flows")
	assert.Zero(t, (&secret{}).hidden)
}

func TestRateOfAQueue(t *testing.T) {
	made := func(p guard.Policy) *guard.Guard {
		g, err := guard.New(p)
		require.NoError(t, err)
		return g
	}
	assert.Zero(t, rateOf(made(guard.Policy{Name: "none"})))
	limits, err := throttle.ParseLimits("120/min, 50/s")
	require.NoError(t, err)
	assert.InDelta(t, 2*headroom, rateOf(made(guard.Policy{Name: "two", Limits: limits})), 0.001)
	slow, err := throttle.ParseLimits("1/h")
	require.NoError(t, err)
	assert.InDelta(t, leastRate, rateOf(made(guard.Policy{Name: "slow", Limits: slow})), 1e-9)
}

// At most once in two seconds, and on a change of more than 5 %.
func TestWhenARateIsChanged(t *testing.T) {
	now := time.Unix(1000, 0)
	f := follower{}
	assert.True(t, f.due(now, 50), "what the server has is not known")
	f = follower{at: now, rate: 50, seen: true}
	assert.False(t, f.due(now.Add(1999*time.Millisecond), 25))
	assert.True(t, f.due(now.Add(2*time.Second), 25))
	assert.False(t, f.due(now.Add(time.Hour), 52.4))
	assert.True(t, f.due(now.Add(time.Hour), 52.6))
	assert.True(t, f.due(now.Add(time.Hour), 0))
	f.rate = 0
	assert.False(t, f.due(now.Add(time.Hour), 0))
}

// Nodes within a guard that limits or learns have a queue of its name, and others that of the worker.
func TestQueues(t *testing.T) {
	g, err := guard.New(guard.Policy{Name: "api", Law: adaptive.Measured{}})
	require.NoError(t, err)
	o := Options{}.withDefaults()
	for want, n := range map[string]any{
		"headrace/api": batchOf(length).Within(g), "headrace": batchOf(length),
		"headrace/sizes": batchOf(length).WithLimits(throttle.Limits{Concurrency: 1}),
	} {
		plan, err := engine.New(n)
		require.NoError(t, err)
		assert.Equal(t, want, o.queueOf(plan.Root()))
	}
}

// A guard that is given limits while workers run has no queue of its own: none of them would work on it.
func TestQueuesStayAsTheyWereWhenTheWorkerWasMade(t *testing.T) {
	g, err := guard.New(guard.Policy{Name: "api"})
	require.NoError(t, err)
	n := batchOf(length).Within(g)
	e, in, _ := env(t, n, words())
	require.NoError(t, g.Set(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 1}}))
	queues := map[string]bool{}
	e.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) { queues[i.TaskQueue] = true })
	e.ExecuteWorkflow(nameRun, in)
	require.NoError(t, e.GetWorkflowError())
	assert.Equal(t, map[string]bool{"headrace": true}, queues)
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ base, one, two, want string }{
		"fields":          {`{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":1,"b":2}`, `{"a":2,"b":2}`},
		"inside":          {`{"f":{"a":1,"b":1}}`, `{"f":{"a":2,"b":1}}`, `{"f":{"a":1,"b":3}}`, `{"f":{"a":2,"b":3}}`},
		"new and deleted": {`{"a":1}`, `{"b":1}`, `{"a":1,"c":2}`, `{"b":1,"c":2}`},
		"the same":        {`{"a":1}`, `{"a":9007199254740993}`, `{"a":9007199254740993}`, `{"a":9007199254740993}`},
		"lists":           {`{"a":[1],"b":[1]}`, `{"a":[1,2],"b":[1]}`, `{"a":[1],"b":[]}`, `{"a":[1,2],"b":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			values := make([]any, 3)
			for i, text := range []string{c.base, c.one, c.two} {
				var err error
				values[i], err = decode([]byte(text))
				require.NoError(t, err)
			}
			merged, err := mergeJSON("", values[0], values[1], values[2])
			require.NoError(t, err)
			text, err := json.Marshal(merged)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(text))
		})
	}
	base := map[string]any{"a": "1"}
	_, err := mergeJSON("", base, map[string]any{}, map[string]any{"a": "2"})
	require.ErrorContains(t, err, `two nodes have changed "/a"`)
}

func TestAnAnswerIsKeptWhenItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &failingStore{Store: Dir(t.TempDir())}
	require.NoError(t, keep(ctx, s, "run/state", []byte("1")))
	s.fails = true
	require.ErrorIs(t, keep(ctx, s, "run/state", []byte("2")), io.ErrUnexpectedEOF, "it is tried once")
}

type failingStore struct {
	Store

	fails bool
}

func (s *failingStore) Put(ctx context.Context, key string, data []byte) error {
	if s.fails || ctx.Err() != nil {
		return io.ErrUnexpectedEOF
	}
	return s.Store.Put(ctx, key, data)
}

func TestDir(t *testing.T) {
	root := t.TempDir()
	d, ctx := Dir(filepath.Join(root, "store")), t.Context()
	_, err := d.Get(ctx, "a/b")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, d.Put(ctx, "a/b", []byte("1")))
	require.NoError(t, d.Put(ctx, "a/b/c", []byte("2")))
	require.NoError(t, d.Put(ctx, "a/bc", []byte("3")))
	require.NoError(t, d.Put(ctx, "a/b", []byte("4")))
	data, err := d.Get(ctx, "a/b")
	require.NoError(t, err)
	assert.Equal(t, "4", string(data))
	require.NoError(t, d.Delete(ctx, "a/b"))
	_, err = d.Get(ctx, "a/b/c")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = d.Get(ctx, "a/bc")
	require.NoError(t, err)
	for _, key := range []string{"../x", "/etc/x", "a/../../x", ""} {
		require.Error(t, d.Put(ctx, key, nil), key)
		require.Error(t, d.Delete(ctx, key), key)
	}
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing beside the store")
}

// A worker has few pages in memory, and reads one once for all of its items.
func TestPages(t *testing.T) {
	s := &countingStore{Store: Dir(t.TempDir())}
	p := &pages{store: s}
	for i := range int64(mostPages + 3) {
		require.NoError(t, s.Put(t.Context(), pageKey("k", i), fmt.Appendf(nil, `{"items":[{"in":%d},{"in":0}]}`, i)))
		for range 5 {
			it, _, err := p.item(t.Context(), "k", i, 0)
			require.NoError(t, err)
			assert.JSONEq(t, strconv.FormatInt(i, 10), string(it.In))
		}
	}
	assert.Equal(t, mostPages+3, s.gets)
	assert.Len(t, p.all, mostPages)
	_, _, err := p.item(t.Context(), "k", 0, 2)
	require.ErrorContains(t, err, "page 0 has 2 items")
	_, _, err = p.item(t.Context(), "none", 0, 0)
	require.ErrorIs(t, err, ErrNotFound)
}

type countingStore struct {
	Store

	gets int
}

func (s *countingStore) Get(ctx context.Context, key string) ([]byte, error) {
	s.gets++
	return s.Store.Get(ctx, key)
}

func TestErrorsTravel(t *testing.T) {
	r := remote(failed(fmt.Errorf("item 3: %w", adaptive.ErrQuotaExhausted)))
	require.ErrorIs(t, r, adaptive.ErrQuotaExhausted)
	assert.Contains(t, r.Message, "item 3")
	assert.Equal(t, "EOF", remote(io.EOF).Message)
	assert.Equal(t, "status \uFFFD", remote(errors.New("status \xff")).Message, "gRPC refuses other text")
	assert.True(t, sdk.IsCanceledError(wrapped(workflow.ErrCanceled, func(err error) error { return errors.New("wrapped") })))
}
