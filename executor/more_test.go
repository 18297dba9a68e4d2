package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestConfigsThatCannotBe(t *testing.T) {
	for field, c := range map[string]Config{
		"Queue: -1":                   {Queue: -1},
		"Concurrency: -1":             {Concurrency: -1},
		"Concurrency: 3 contra":       {Concurrency: 3, Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 4}}},
		"Policy: guard":               {Policy: guard.Policy{Timeout: -1}},
		"Within[0]: the guard is nil": {Policy: guard.Policy{Within: []*guard.Guard{nil}}},
		`executor: mine: Queue: -`:    {Name: "mine", Queue: -1},
		`guard "mine": Timeout: -1n`:  {Name: "mine", Policy: guard.Policy{Timeout: -1}},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, field)
		require.ErrorAs(t, err, new(*fault.FieldError), field)
	}
	_, err := New(Config{Queue: -1, Policy: guard.Policy{Timeout: -1}})
	require.ErrorContains(t, err, "Queue")
	require.ErrorContains(t, err, "Timeout", "all problems at once")
	for _, c := range []Config{
		{},
		{Policy: guard.Policy{Preset: presets.OpenAITier1}},
		{Policy: within(throttle.Sliding(1, time.Second))},
		{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 3}}},
		{Policy: guard.Policy{Law: adaptive.AIMD{}}},
		{Policy: guard.Policy{Preset: presets.OpenAITier1, Law: adaptive.AIMD{}}},
	} {
		require.NoError(t, c.Validate())
	}
}

func TestDefaults(t *testing.T) {
	x := start(t, Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 4}}})
	s := x.Stats()
	assert.Equal(t, 4, s.Concurrency)
	assert.Equal(t, 1000, x.config.Queue)
	x = start(t, Config{})
	assert.Equal(t, 10, x.Stats().Concurrency)
	assert.Equal(t, "executor", x.Name())
	assert.Equal(t, "executor", x.Guard().Name())
	assert.Equal(t, "mine", start(t, Config{Name: "mine"}).Guard().Name())
	assert.Equal(t, "account", start(t, Config{Name: "mine", Policy: guard.Policy{Name: "account"}}).Guard().Name())
}

func TestOptionsThatCannotBe(t *testing.T) {
	x := start(t, Config{})
	_, err := Submit(t.Context(), x, value(1), WithCost(throttle.Cost{Tokens: -1}), WithDeadline(time.Time{}),
		WithRoomTimeout(0), WithPriority(1<<40))
	for _, field := range []string{"WithCost", "WithDeadline", "WithRoomTimeout", "WithPriority"} {
		require.ErrorContains(t, err, field)
	}
	_, err = Submit[int](t.Context(), x, nil)
	require.ErrorContains(t, err, "the function is nil")
	_, err = Submit(t.Context(), new(Executor), value(1)) // nothing would ever run it
	require.ErrorContains(t, err, "the executor is a zero value")
}

func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		all := x.Subscribe(100)
		g := gate(make(chan struct{}))
		first := must(t, x, g.call)
		synctest.Wait()
		second := must(t, x, fail(errBoom))
		one, small := second.Subscribe(0), second.Subscribe(1)
		closed := second.Subscribe(1)
		closed.Close()
		closed.Close()
		close(g)
		require.NoError(t, x.Join(t.Context()))
		steps := func(s *Subscription) (got []string) {
			for c := range s.C() {
				got = append(got, fmt.Sprintf("%s %s-%s", c.Task, c.From, c.To))
			}
			return got
		}
		own := []string{"executor-2 queued-processing", "executor-2 processing-calling", "executor-2 calling-failed"}
		assert.Equal(t, own, steps(one))
		assert.Equal(t, own[2:], steps(small), "the last is never lost")
		assert.EqualValues(t, 2, small.Dropped())
		assert.Empty(t, steps(closed))
		assert.Empty(t, steps(first.Subscribe(1)), "it is over")
		require.NoError(t, x.Close())
		got := steps(all)
		assert.Len(t, got, 8)
		assert.Equal(t, "executor-1 pending-queued", got[0])
		assert.Empty(t, steps(x.Subscribe(1)))
	})
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var kinds []string
		seen := event.Func(func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			line := fmt.Sprintf("%s %s %d/%d %d %s", e.Kind, e.Key, e.Task.Queue, e.Task.Running, e.Attempt, e.Wait)
			kinds = append(kinds, strings.TrimSpace(line))
		})
		x := start(t, Config{Concurrency: 1, Policy: guard.Policy{
			Observer: seen, Retry: &retry.Policy{MaxAttempts: 2, Initial: time.Second, NoJitter: true},
		}})
		x.Pause()
		task := must(t, x, fail(errBoom))
		time.Sleep(time.Second)
		x.Resume()
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, errBoom)
		require.NoError(t, x.Join(t.Context()))
		require.NoError(t, x.SetConcurrency(1))
		require.NoError(t, x.Close())
		assert.Equal(t, []string{
			"executor.paused  0/0 0 0s",
			"task.queued executor-1 1/0 0 0s",
			"executor.resumed  1/0 0 0s",
			"task.started executor-1 0/1 0 1s",
			"task.retry executor-1 0/1 1 1s",
			"task.failed executor-1 0/1 2 2s",
			"executor.changed  0/0 0 0s",
			"executor.stopping  0/0 0 0s",
			"executor.stopped  0/0 0 0s",
		}, kinds)
	})
}

// Every worker's call waits for tasks of its own executor, through a queue of one.
func TestCallsThatWaitForTheirOwnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Queue: 1, Concurrency: 2, Policy: within(throttle.Sliding(1000, time.Second))})
		var tree func(depth int) func(context.Context) (int, error)
		tree = func(depth int) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				if depth == 0 {
					return 1, nil
				}
				sum, tasks := 1, []*Task[int]{}
				for range 3 {
					task, err := Submit(ctx, x, tree(depth-1))
					if err != nil {
						return 0, err
					}
					tasks = append(tasks, task)
				}
				for _, task := range tasks {
					n, err := task.Wait(ctx)
					if err != nil {
						return 0, err
					}
					sum += n
				}
				return sum, nil
			}
		}
		var tasks []*Task[int]
		for range 4 {
			tasks = append(tasks, must(t, x, tree(3)))
		}
		require.NoError(t, x.Stop(t.Context()), "what is inside of a call is let in to the end")
		for _, task := range tasks {
			n, err := task.Wait(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 40, n)
		}
	})
}

func TestInfoHasNoSecrets(t *testing.T) {
	x := start(t, Config{Keep: 12})
	h := http.Header{"Authorization": {"Bearer sk-canary"}, "Content-Type": {"text/plain"}}
	task := must(t, x, func(ctx context.Context) (int, error) {
		Respond(ctx, 500, http.Header{"X-Echo": {"sk-canary!"}, "Set-Cookie": {"a=b"}}, []byte("it is sk-canary and more"))
		return 0, fmt.Errorf("with sk-canary: %w", errBoom)
	}, WithRequest("GET", "https://h/", h, []byte("0123456789 sk-canary")), WithMetadata(map[string]string{"a": "b"}))
	_, err := task.Wait(t.Context())
	require.ErrorIs(t, err, errBoom)
	i := task.Info()
	assert.Equal(t, http.Header{"Authorization": {"REDACTED"}, "Content-Type": {"text/plain"}}, i.Request.Header)
	assert.Equal(t, "0123456789 R", i.Request.Payload)
	assert.Equal(t, 20, i.Request.Bytes)
	assert.Equal(t, http.Header{"X-Echo": {"REDACTED!"}, "Set-Cookie": {"REDACTED"}}, i.Response.Header)
	assert.Equal(t, "it is REDACT", i.Response.Body)
	assert.Equal(t, "with REDACTED: boom", i.Error.Message)
	assert.Equal(t, []string{"*fmt.wrapError", "*errors.errorString"}, i.Error.Types)
	assert.Equal(t, "executor-1: failed: with REDACTED: boom", i.String())
	text, err := json.Marshal(i)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "canary")
	var back Info
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, i.State, back.State)
	assert.Equal(t, i.Times[Failed].UTC(), back.Times[Failed].UTC())
	assert.Equal(t, "Bearer sk-canary", h.Get("Authorization"), "what was given is not changed")
	Respond(t.Context(), 1, nil, nil) // outside of a call nothing happens
}

func TestTheLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Policy: guard.Policy{
			Retry: &retry.Policy{MaxAttempts: 50, Initial: time.Second, Multiplier: 1, NoJitter: true},
		}})
		task := must(t, x, fail(errBoom))
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, errBoom)
		i := task.Info()
		assert.Equal(t, 50, i.Attempts)
		assert.Equal(t, 49-keptNotes, i.Dropped)
		assert.LessOrEqual(t, len(i.Log), keptNotes+5)
		assert.Equal(t, i.Times[Pending].Add(49*time.Second), i.Times[Failed])
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Policy: guard.Policy{Timeout: time.Second}})
		_, err := must(t, x, stuck).Wait(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "its timeout of 1s")
	})
}

// The policy can be changed while tasks wait: through the guard.
func TestChangingThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		p := x.Guard().Policy()
		p.Limits.Windows = []throttle.Window{throttle.Sliding(1, time.Second)}
		require.NoError(t, x.Guard().Set(p))
		begun := time.Now()
		for range 3 {
			must(t, x, value(1))
		}
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, 2*time.Second, time.Since(begun))
	})
}

// A Wait that is given up leaves the task alone, and so does a Join.
func TestWaitsThatAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		g := gate(make(chan struct{}))
		task := must(t, x, g.call)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		_, err := task.Wait(ctx)
		require.ErrorIs(t, err, errBoom)
		require.ErrorIs(t, x.Join(ctx), errBoom)
		assert.Equal(t, Calling, task.State())
		close(g)
		require.NoError(t, x.Join(t.Context()))
		n, err := task.Wait(ctx)
		require.NoError(t, err, "a result goes before the end of ctx")
		assert.Equal(t, 1, n)
	})
}

// The context of an ended call reports its end, even if it is first asked afterwards.
func TestTheContextOfACallThatHasEnded(t *testing.T) {
	x := start(t, Config{})
	var kept context.Context
	_, err := must(t, x, func(ctx context.Context) (int, error) { kept = ctx; return 1, nil }).Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, x.Join(t.Context()))
	require.ErrorIs(t, kept.Err(), context.Canceled)
	<-kept.Done()
	require.ErrorIs(t, kept.Err(), context.Canceled)
}
