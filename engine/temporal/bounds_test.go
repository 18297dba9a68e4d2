package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// passing makes an attempt at the only item of a batch with the details of the attempt before.
func passing(t *testing.T, s Store, fingerprint string, before *details) (o itemOutcome, kept *details, err error) {
	t.Helper()
	plan, err := engine.New(batchOf(length))
	require.NoError(t, err)
	if fingerprint == "" {
		fingerprint = plan.Fingerprint()
	}
	a := newActivities(s, map[string]*engine.Plan{plan.Name(): plan})
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	e := suite.NewTestActivityEnvironment()
	a.register(e)
	if before != nil {
		e.SetHeartbeatDetails(*before)
	}
	e.SetOnActivityHeartbeatListener(func(_ *activity.Info, v converter.EncodedValues) {
		kept = &details{}
		require.NoError(t, v.Get(kept))
	})
	v, err := e.ExecuteActivity(nameItem, call{Flow: plan.Name(), Print: fingerprint, Path: "sizes", Key: "run"})
	if err == nil {
		require.NoError(t, v.Get(&o))
	}
	return o, kept, err
}

// A worker with another version gives an activity back: it is neither an attempt of the item nor a lost worker, and comes
// back later and later.
func TestAnActivityOfAnotherVersionIsGivenBack(t *testing.T) {
	s := Dir(t.TempDir())
	require.NoError(t, s.Put(t.Context(), pageKey("run", 0), []byte(`{"items":[{"in":"mill"}]}`)))
	before := &details{Progress: guard.Progress{Attempts: 2}, Returned: 3}
	var delays []time.Duration
	for i := range 9 {
		_, kept, err := passing(t, s, "another", before)
		delays = append(delays, delayOf(t, err))
		var app *sdk.ApplicationError
		require.ErrorAs(t, err, &app)
		assert.Equal(t, sdk.ApplicationErrorCategoryBenign, app.Category(), "the SDK does not log it as a failure")
		require.ErrorContains(t, err, "another")
		require.ErrorContains(t, err, "Options.Queue")
		require.Equal(t, &details{Progress: before.Progress, Returned: before.Returned + 1, Passed: int32(i + 1)}, kept)
		before = kept
	}
	assert.Equal(t, shortestPass, delays[0])
	assert.Equal(t, 2*shortestPass, delays[1])
	assert.Equal(t, longestPass, delays[8])
	before.Passed = 1 << 30
	_, _, err := passing(t, s, "another", before)
	assert.Equal(t, longestPass, delayOf(t, err))

	o, _, err := passing(t, s, "", before)
	require.NoError(t, err)
	assert.Equal(t, engine.Done, o.State)
	data, err := s.Get(t.Context(), resultKey("run", 0, 0))
	require.NoError(t, err)
	var r engine.Result
	require.NoError(t, json.Unmarshal(data, &r))
	assert.Equal(t, 3, r.Attempts)
}

// One line for each version of a flow, and for a bounded number of them.
func TestAnotherVersionIsLoggedOnce(t *testing.T) {
	l := &counting{}
	a := newActivities(Dir(t.TempDir()), nil)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(l)
	e := suite.NewTestActivityEnvironment()
	a.register(e)
	for i := range 2 * (mostNoticed + 5) {
		_, err := e.ExecuteActivity(nameItem, call{Flow: "f", Print: strconv.Itoa(i / 2), Path: "f"})
		require.Error(t, err)
	}
	assert.Equal(t, mostNoticed, l.warnings)
}

type counting struct {
	quiet

	warnings int
}

func (c *counting) Warn(string, ...any) { c.warnings++ }

// A panic of the store is an error of the attempt, and not a lost worker.
func TestAPanicOfTheStore(t *testing.T) {
	_, kept, err := passing(t, panicking{Dir(t.TempDir())}, "", nil)
	require.ErrorContains(t, err, "no store")
	require.NotNil(t, kept)
	assert.Equal(t, &details{Returned: 1}, kept)

	s := Dir(t.TempDir())
	require.NoError(t, s.Put(t.Context(), pageKey("run", 0), []byte(`{"items":[{"in":"mill"}]}`)))
	_, kept, err = passing(t, full{s}, "", nil)
	require.ErrorContains(t, err, "no space")
	require.NotNil(t, kept)
	assert.Equal(t, &details{Returned: 1}, kept)

	a := newActivities(panicking{Dir(t.TempDir())}, nil)
	a.pages.use(pageKey("run", 0)).value = &stored{Items: []listed{{}}}
	var broken error
	for range a.results(t.Context(), &call{Key: "run", Pages: 1}, &broken) {
		t.Fatal("there is no result")
	}
	require.ErrorContains(t, broken, "no store", "and not an error of Post")
}

// A store that is down for longer than an attempt waits, or panics, is not a failure of the flow, whichever page it is that is
// not stored.
func TestAPageThatCannotBeStored(t *testing.T) {
	for _, most := range []int{1, 3} { // the first page is stored before the last item is listed, and after it
		for want, broken := range map[string]func(Store) Store{
			io.ErrUnexpectedEOF.Error(): func(s Store) Store { return &failingStore{Store: s, fails: true} },
			"no space":                  func(s Store) Store { return full{s} },
		} {
			synctest.Test(t, func(t *testing.T) {
				plan, err := engine.New(batchOf(length))
				require.NoError(t, err)
				state, err := plan.Encode(words())
				require.NoError(t, err)
				s := Dir(t.TempDir())
				require.NoError(t, s.Put(t.Context(), "state", state))
				a := newActivities(broken(s), map[string]*engine.Plan{plan.Name(): plan})
				a.size.items = most
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(quiet{})
				e := suite.NewTestActivityEnvironment()
				a.register(e)
				_, err = e.ExecuteActivity(nameList, call{Flow: plan.Name(), Print: plan.Fingerprint(), Path: "sizes", Key: "run", State: "state"})
				require.ErrorContains(t, err, want)
				app, ok := errors.AsType[*sdk.ApplicationError](err)
				assert.False(t, ok && app.NonRetryable(), "%d items in a page", most)
			})
		}
	}
}

type panicking struct{ Store }

func (panicking) Get(context.Context, string) ([]byte, error) { panic("no store") }

type full struct{ Store }

func (full) Put(context.Context, string, []byte) error { panic("no space") }

// A value that is missing is looked for some times, however often a provider has rejected the call before.
func TestAMissingValueIsMissingForGoodAfterSomeAttempts(t *testing.T) {
	before := &details{Returned: 40}
	for range mostMissed {
		_, kept, err := passing(t, Dir(t.TempDir()), "", before)
		var app *sdk.ApplicationError
		require.ErrorAs(t, err, &app)
		require.False(t, app.NonRetryable())
		before = kept
	}
	_, _, err := passing(t, Dir(t.TempDir()), "", before)
	var app *sdk.ApplicationError
	require.ErrorAs(t, err, &app)
	assert.True(t, app.NonRetryable())
}

// A page that the store does not return keeps other readers waiting for a minute, and not for ever.
func TestAPageThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hanging{release: make(chan struct{})}
		p := &pages{store: s}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := p.get(t.Context(), "k")
			assert.NoError(t, err)
		})
		synctest.Wait()
		begun := time.Now()
		_, err := p.get(t.Context(), "k")
		require.ErrorContains(t, err, "page k within 1m")
		assert.Equal(t, pagePatience, time.Since(begun))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.EOF)
		_, err = p.get(ctx, "k")
		require.ErrorIs(t, err, io.EOF)
		close(s.release)
		wg.Wait()
	})
}

type hanging struct {
	Store

	release chan struct{}
}

func (h *hanging) Get(context.Context, string) ([]byte, error) {
	<-h.release
	return []byte(`{"items":[]}`), nil
}

// onward runs n as a server would that continues a workflow as a new one, and returns how often it did.
func onward(t *testing.T, n any, state *list, s Store, set func(*program, *activities)) (after *list, times int) {
	t.Helper()
	_, in := envOf(t, n, state, s, set)
	name, input := nameRun, any(in)
	for {
		e, _ := envOf(t, n, state, s, set)
		e.ExecuteWorkflow(name, input)
		require.True(t, e.IsWorkflowCompleted())
		err := e.GetWorkflowError()
		if on, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
			times++
			var next runInput
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(on.Input, &next))
			name, input = on.WorkflowType.Name, next
			continue
		}
		require.NoError(t, err)
		var o outcome
		require.NoError(t, e.GetWorkflowResult(&o))
		data, err := s.Get(t.Context(), o.State)
		require.NoError(t, err)
		after = &list{}
		require.NoError(t, json.Unmarshal(data, after))
		return after, times
	}
}

// A loop goes on with a new history, where it was.
func TestALongLoopContinuesAsNew(t *testing.T) {
	judge := node.Decide("judge", func(_ context.Context, l *list) (node.Action, error) {
		if l.A < 5 {
			return "more", nil
		}
		return node.Next, nil
	})
	more := node.Do("more", func(_ context.Context, l *list) error { l.A++; return nil })
	loop := flow.New("loop", judge).On(judge, "more", more).On(more, node.Next, judge).End(judge, node.Next)
	after, times := onward(t, loop, words(), Dir(t.TempDir()), func(p *program, _ *activities) { p.steps = 3 })
	assert.Equal(t, 5, after.A)
	assert.Equal(t, 3, times, "11 steps, 3 in each")
}

// A batch of many pages goes on with a new history, at the next page, and keeps its count of failures.
func TestABatchOfManyPagesContinuesAsNew(t *testing.T) {
	many := &list{}
	for i := range 17 {
		many.Items = append(many.Items, strings.Repeat("x", i))
	}
	calls := map[string]int{}
	var mu sync.Mutex
	b := batchOf(func(_ context.Context, s string) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[s]++
		if len(s)%5 == 4 { // 3 of 17
			return 0, io.EOF
		}
		return len(s), nil
	}).WithOnError(node.MaxFailures(3))
	s := Dir(t.TempDir())
	set := func(p *program, a *activities) { p.pages, a.size.items = 2, 3 }
	e, in := envOf(t, b, many, s, set)
	batch := batchInput{runInput: in, Pages: notListed, Parallel: 2}
	times := 0
	for {
		e.ExecuteWorkflow(nameBatch, batch)
		var on *workflow.ContinueAsNewError
		if !errors.As(e.GetWorkflowError(), &on) {
			break
		}
		times++
		batch = batchInput{}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(on.Input, &batch))
		e, _ = envOf(t, b, many, s, set)
	}
	require.NoError(t, e.GetWorkflowError())
	assert.Equal(t, 2, times, "6 pages, 2 in each")
	assert.EqualValues(t, 6, batch.Pages)
	assert.EqualValues(t, 2, batch.Failed, "in the first four pages")
	var o outcome
	require.NoError(t, e.GetWorkflowResult(&o))
	data, err := s.Get(t.Context(), o.State)
	require.NoError(t, err)
	after := &list{}
	require.NoError(t, json.Unmarshal(data, after))
	assert.Len(t, after.Errors, 3)
	assert.Len(t, calls, 17)
	for s, n := range calls {
		assert.Equal(t, 1, n, s)
	}
}

// A batch keeps the WithParallel that it has begun with: another worker would decide otherwise in its replay.
func TestABatchKeepsItsParallel(t *testing.T) {
	b := batchOf(length).WithParallel(8)
	var order []string
	e, in, _ := env(t, b, &list{Items: strings.Fields(strings.Repeat("x ", 9))})
	e.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if i.ActivityType.Name == nameItem {
			order = append(order, "+")
		}
	})
	e.SetOnActivityCompletedListener(func(i *activity.Info, _ converter.EncodedValue, _ error) {
		if i.ActivityType.Name == nameItem {
			order = append(order, "-")
		}
	})
	e.ExecuteWorkflow(nameBatch, batchInput{runInput: in, Pages: notListed, Parallel: 1})
	require.NoError(t, e.GetWorkflowError())
	assert.Equal(t, strings.Repeat("+-", 9), strings.Join(order, ""))
}

// Pages are bounded in items and in bytes, and an item that is too large fails by name.
func TestPagesAreBoundedInBytes(t *testing.T) {
	state := &list{Items: []string{"aaaa", "bbbb", "cccc", strings.Repeat("d", 30), "e", strings.Repeat("f", 100), "g"}}
	s := Dir(t.TempDir())
	e, in := envOf(t, batchOf(length), state, s, func(_ *program, a *activities) {
		a.size = pageSize{items: 3, flows: 3, bytes: 12, item: 50}
	})
	e.ExecuteWorkflow(nameRun, in)
	require.NoError(t, e.GetWorkflowError())
	var o outcome
	require.NoError(t, e.GetWorkflowResult(&o))
	data, err := s.Get(t.Context(), o.State)
	require.NoError(t, err)
	after := &list{}
	require.NoError(t, json.Unmarshal(data, after))
	assert.Equal(t, []int{4, 4, 4, 30, 1, 0, 1}, after.Sizes)
	require.Len(t, after.Errors, 1)
	assert.Contains(t, after.Errors[0], `item 5 of node "sizes" has 102 bytes of JSON, and the maximum is 50`)
	var lengths []int
	for i := range int64(4) {
		var p stored
		data, err := s.Get(t.Context(), pageKey("run/0", i))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &p))
		lengths = append(lengths, len(p.Items))
	}
	assert.Equal(t, []int{2, 1, 1, 3}, lengths)
}

// The result of a run stays, and all else that it has stored is deleted.
func TestARunLeavesItsResult(t *testing.T) {
	e, in, s := env(t, batchOf(length), words())
	in.Keep, in.Digest = "headrace/kept/one", "digest"
	e.ExecuteWorkflow(nameRun, in)
	require.NoError(t, e.GetWorkflowError())
	k, err := keptAt(t.Context(), s, in.Keep)
	require.NoError(t, err)
	assert.Equal(t, "run", k.Run)
	assert.Equal(t, "digest", k.Input)
	assert.Contains(t, string(k.State), `"Sizes":[4,5,4]`)
	_, err = s.Get(t.Context(), in.State)
	require.ErrorIs(t, err, ErrNotFound)

	// A worker that was lost before it could report: the next attempt finds what it has done.
	plan, err := engine.New(batchOf(length))
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	again := suite.NewTestActivityEnvironment()
	newActivities(s, map[string]*engine.Plan{plan.Name(): plan}).register(again)
	c := in.call(plan.Root(), in.Key)
	c.State, c.Keep, c.Input = "run/0/state", in.Keep, in.Digest
	_, err = again.ExecuteActivity(nameKeep, c)
	require.NoError(t, err)
	c.Key = "other"
	_, err = again.ExecuteActivity(nameKeep, c)
	require.ErrorContains(t, err, ErrNotFound.Error(), "the result there is not that of this run")
}

// A result that is in the store needs no server.
func TestAKeptResultIsReturned(t *testing.T) {
	o := Options{Store: Dir(t.TempDir()), ID: "one"}.withDefaults()
	n := batchOf(length)
	plan, err := engine.New(n)
	require.NoError(t, err)
	input, err := plan.Encode(words())
	require.NoError(t, err)
	data, err := json.Marshal(kept{Run: "run", Input: digestOf(plan, input), State: json.RawMessage(`{"A":7}`)})
	require.NoError(t, err)
	require.NoError(t, o.Store.Put(t.Context(), keptKey(&o, "one"), data))
	for range 2 {
		got, err := Run(t.Context(), nil, n, words(), o)
		require.NoError(t, err)
		assert.Equal(t, 7, got.A)
	}
	_, err = Run(t.Context(), nil, n, &list{}, o)
	var differs *InputError
	require.ErrorAs(t, err, &differs)
	require.ErrorContains(t, err, `"one"`)

	require.NoError(t, Forget(t.Context(), o))
	require.NoError(t, Forget(t.Context(), o))
	_, err = keptAt(t.Context(), o.Store, keptKey(&o, "one"))
	require.ErrorIs(t, err, ErrNotFound)
	o.ID = ""
	require.ErrorContains(t, Forget(t.Context(), o), "ID: it is empty")
}

func TestKeysOfResults(t *testing.T) {
	a, b := Options{Namespace: "a"}, Options{Namespace: "b"}
	keys := map[string]bool{}
	for _, o := range []*Options{&a, &b} {
		for _, id := range []string{"a b", "a_b", "a/b", strings.Repeat("x", 500), strings.Repeat("x", 501), "\xff"} {
			key := keptKey(o, id)
			keys[key] = true
			assert.LessOrEqual(t, len(key), 200)
			require.NoError(t, Dir(t.TempDir()).Put(t.Context(), key, nil))
		}
	}
	assert.Len(t, keys, 12)
}

// A result that another machine has stored may need some seconds to be seen.
func TestAResultThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &late{until: time.Now().Add(5 * time.Second)}
		k, err := shownAt(t.Context(), s, "k")
		require.NoError(t, err)
		assert.Equal(t, "run", k.Run)
		s.until = time.Now().Add(time.Hour)
		begun := time.Now()
		_, err = shownAt(t.Context(), s, "k")
		require.ErrorIs(t, err, ErrNotFound)
		assert.Less(t, time.Since(begun), 7*time.Second)
	})
}

type late struct {
	Store

	until time.Time
}

func (l *late) Get(context.Context, string) ([]byte, error) {
	if time.Now().Before(l.until) {
		return nil, ErrNotFound
	}
	return []byte(`{"run":"run"}`), nil
}

// Each change of the server's answer about the rate is an event of the guard, and not each answer.
func TestARateThatCannotBeSetIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []event.Event
		g, err := guard.New(guard.Policy{Name: "api", Observer: event.Func(func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == event.LimiterChanged {
				events = append(events, e)
			}
		})})
		require.NoError(t, err)
		fake := &rates{}
		w := &Worker{client: ofService{service: fake}, options: Options{Namespace: "default"}}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.follow(ctx, "headrace/api", g) })
		for _, err := range []error{
			serviceerror.NewPermissionDenied("no", ""), serviceerror.NewPermissionDenied("no again", ""),
			serviceerror.NewUnavailable("down"), nil,
		} {
			fake.fail(err)
			time.Sleep(4 * rateApart)
			synctest.Wait()
		}
		cancel()
		wg.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, events, 3)
		for i, e := range events {
			assert.Equal(t, "api", e.Source)
			assert.Equal(t, "headrace/api", e.Key)
			assert.Equal(t, i == 2, e.Err == nil)
		}
		assert.ErrorContains(t, events[0].Err, "no")
		assert.Contains(t, events[1].Reason, "cannot be set")
		assert.Contains(t, events[2].Reason, "again")
	})
}

type ofService struct {
	client.Client

	service workflowservice.WorkflowServiceClient
}

func (c ofService) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

// rates is a server that knows of the rates of queues, and nothing else.
type rates struct {
	workflowservice.WorkflowServiceClient

	mu  sync.Mutex
	err error
}

func (r *rates) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *rates) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &workflowservice.DescribeTaskQueueResponse{}, r.err
}

// Run returns what has ended a worker of the SDK, and stops the others.
func TestRunOfAWorkerReturnsAFatalError(t *testing.T) {
	made := func() (*Worker, *fakeWorker) {
		f := &fakeWorker{}
		w := &Worker{workers: []worker.Worker{f}, fatal: make(chan error, 1)}
		w.ctx, w.end = context.WithCancel(context.Background())
		return w, f
	}
	w, f := made()
	w.failed(io.EOF)
	w.failed(io.ErrUnexpectedEOF)
	require.ErrorIs(t, w.Run(t.Context()), io.EOF)
	assert.Equal(t, 1, f.stopped)

	w, f = made()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.Run(ctx))
	assert.Equal(t, 1, f.stopped)

	w, f = made()
	f.err = io.EOF
	require.ErrorIs(t, w.Run(t.Context()), io.EOF)
	assert.Zero(t, f.stopped)
	w.end()
}

type fakeWorker struct {
	worker.Worker

	err     error
	stopped int
}

func (f *fakeWorker) Start() error { return f.err }
func (f *fakeWorker) Stop()        { f.stopped++ }
