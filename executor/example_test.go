package executor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func Example() {
	ctx := context.Background()
	x, err := executor.New(executor.Config{Policy: guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(500, time.Minute),
		throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens),
	}}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = x.Close() }() // cancels what Stop has not completed
	t, err := executor.Submit(ctx, x, func(context.Context) (string, error) { return "hi", nil },
		executor.WithCost(throttle.Cost{Tokens: 900}))
	if err != nil {
		panic(err)
	}
	answer, err := t.Wait(ctx)
	fmt.Println(answer, err, t.State(), t.Info().Attempts)
	if err := x.Stop(ctx); err != nil { // completes all tasks that were submitted
		panic(err)
	}
	// Output: hi <nil> completed 1
}

func ExampleTrySubmit() {
	ctx := context.Background()
	x, _ := executor.New(executor.Config{Queue: 1})
	defer func() { _ = x.Close() }()
	x.Pause() // no worker takes a task
	call := func(context.Context) (int, error) { return 1, nil }
	_, err := executor.TrySubmit(ctx, x, call)
	fmt.Println(err)
	_, err = executor.TrySubmit(ctx, x, call)
	var full *executor.QueueFullError
	fmt.Println(errors.As(err, &full), full.Depth, full.RetryAfter)
	// Output:
	// <nil>
	// true 1 1s
}

func ExampleWithPriority() {
	ctx := context.Background()
	x, _ := executor.New(executor.Config{Concurrency: 1})
	defer func() { _ = x.Close() }()
	submit := func(name string, opts ...executor.SubmitOption) *executor.Task[string] {
		t, err := executor.Submit(ctx, x, func(context.Context) (string, error) {
			fmt.Println(name)
			return name, nil
		}, opts...)
		if err != nil {
			panic(err)
		}
		return t
	}
	x.Pause() // so that all of them are in the queue
	nightly := submit("nightly", executor.WithPriority(-1))
	late := submit("late", executor.WithDeadline(time.Now().Add(-time.Second)))
	urgent := submit("urgent", executor.WithPriority(1), executor.WithMetadata(map[string]string{"ticket": "17"}))
	x.Resume()
	_, _ = nightly.Wait(ctx)
	_, err := late.Wait(ctx)
	fmt.Println("late:", errors.Is(err, context.DeadlineExceeded))
	fmt.Println("ticket", urgent.Info().Metadata["ticket"])
	// Output:
	// urgent
	// nightly
	// late: true
	// ticket 17
}

// A limit for each user, within the limits of all.
func ExampleWithin() {
	ctx := context.Background()
	x, _ := executor.New(executor.Config{})
	defer func() { _ = x.Close() }()
	user, _ := guard.New(guard.Policy{
		Name: "user 7", Within: []*guard.Guard{x.Guard()},
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Second)}},
	})
	call := func(context.Context) (string, error) { return "hi", nil }
	t, err := executor.Submit(ctx, x, call, executor.Within(user))
	if err != nil {
		panic(err)
	}
	answer, err := t.Wait(ctx)
	fmt.Println(answer, err, user.Stats().Windows[0].Left)
	// Output: hi <nil> 4
}

func ExampleExecutor_Subscribe() {
	ctx := context.Background()
	x, _ := executor.New(executor.Config{})
	changes := x.Subscribe(0)
	t, _ := executor.Submit(ctx, x, func(context.Context) (int, error) { return 0, errors.New("no") })
	_, _ = t.Wait(ctx)
	_ = x.Close()
	for c := range changes.C() {
		fmt.Println(c.Task, c.From, "->", c.To)
	}
	// Output:
	// executor-1 pending -> queued
	// executor-1 queued -> processing
	// executor-1 processing -> calling
	// executor-1 calling -> failed
}

func ExampleExecutor_Stop() {
	x, _ := executor.New(executor.Config{})
	_, _ = executor.Submit(context.Background(), x, func(context.Context) (int, error) { return 1, nil })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // then what is left is cancelled
	defer cancel()
	fmt.Println(x.Stop(ctx), x.Stats().Tasks[executor.Completed])
	_, err := executor.Submit(ctx, x, func(context.Context) (int, error) { return 1, nil })
	fmt.Println(err)
	// Output:
	// <nil> 1
	// executor: stopped
}

// A batch and a service share the workers and the limits of one executor.
func ExampleExecutor_Run() {
	ctx := context.Background()
	x, _ := executor.New(executor.Config{Concurrency: 2})
	defer func() { _ = x.Close() }()
	lengths := node.Map("lengths", func(_ context.Context, s string) (int, error) { return len(s), nil }).
		WithParallel(8).WithExecutor(x)
	out, err := lengths.All(ctx, []string{"a", "bc", "def"})
	fmt.Println(out, err, x.Stats().Tasks[executor.Completed])
	// Output: [1 2 3] <nil> 3
}

func ExampleModel() {
	ctx := context.Background()
	echo, _ := endpoint.NewFunc(endpoint.FuncConfig{Name: "echo"}, func(_ context.Context, s string) (string, error) {
		return s + "!", nil
	})
	x, _ := executor.New(executor.Config{})
	defer func() { _ = x.Close() }()
	m, err := executor.NewModel(x, echo)
	if err != nil {
		panic(err)
	}
	defer func() { _ = m.Close() }()
	t, err := m.Complete(ctx, "hi", throttle.Cost{Tokens: 20})
	if err != nil {
		panic(err)
	}
	a, err := t.Wait(ctx)
	fmt.Println(a.Value, err, t.Info().Request.Endpoint)
	// Output: hi! <nil> echo
}
