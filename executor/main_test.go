package executor

import (
	"context"
	"errors"
	"flag"
	"log"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// All that is tested holds with and without the fast path of tasks.
var fast = flag.String("fast", "any", "which tasks go the fast way: any or none")

func TestMain(m *testing.M) {
	flag.Parse()
	if *fast != "any" && *fast != "none" {
		log.Fatalf("-fast=%s is not one of any and none", *fast)
	}
	direct = *fast == "none"
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

// start returns an executor that is closed at the end of the test.
func start(t *testing.T, c Config) *Executor {
	t.Helper()
	x, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// within is a policy with these limits and no others.
func within(windows ...throttle.Window) guard.Policy {
	return guard.Policy{Limits: throttle.Limits{Windows: windows}}
}

// value is a call that returns v.
func value[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

// fail is a call that fails with err.
func fail(err error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return 0, err }
}

// stuck is a call that runs until its context ends.
func stuck(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// gate is a call that runs until it is opened, or its context ends.
type gate chan struct{}

func (g gate) call(ctx context.Context) (int, error) {
	select {
	case <-g:
		return 1, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// must submits, and fails the test if that does not work.
func must[T any](t *testing.T, x *Executor, call func(context.Context) (T, error), opts ...SubmitOption) *Task[T] {
	t.Helper()
	task, err := Submit(t.Context(), x, call, opts...)
	require.NoError(t, err)
	return task
}

// submitted is how many tasks there have been.
func submitted(s Stats) (n int64) {
	for _, of := range s.Tasks {
		n += of
	}
	return n
}
