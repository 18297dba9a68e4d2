package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// withBreaker is a guard with nothing but a breaker, for nodes to be within.
func withBreaker(t *testing.T, c breaker.Config) *guard.Guard {
	t.Helper()
	return newGuard(t, guard.Policy{Name: "api", Breaker: &c})
}

// opened is a guard with a breaker that has just opened for ten seconds.
func opened(t *testing.T) *guard.Guard {
	t.Helper()
	g := withBreaker(t, breaker.Config{Failures: 1, Successes: 1})
	fail(t, g)
	return g
}

func fail(t *testing.T, g *guard.Guard) {
	t.Helper()
	require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return errBoom }), errBoom)
}

// isOpen makes a call that succeeds unless the breaker of g is open.
func isOpen(t *testing.T, g *guard.Guard) bool {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // the pause after a 503 is over
	err := g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil })
	return errors.Is(err, breaker.ErrOpen)
}

// answered is the error of an SDK.
type answered struct{ Response *http.Response }

func (e *answered) Error() string { return e.Response.Status }

func answer(code int) error {
	return &answered{&http.Response{StatusCode: code, Status: fmt.Sprint("answer ", code), Header: http.Header{}}}
}

// A call that an open breaker rejects is not sent, and its admission is undone.
func TestOpenBreakerRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		br := opened(t)
		lim := newGuard(t, guard.Policy{Name: "shared", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(2, time.Hour)},
		}})
		want := &breaker.OpenError{Breaker: "api", State: breaker.Open, RetryAfter: 7 * time.Second, Cause: errBoom}
		time.Sleep(3 * time.Second)

		s := &state{}
		never := func(context.Context, int) (int, error) { t.Error("Exec was called"); return 0, nil }
		for _, within := range [][]*guard.Guard{{br}, {lim, br}} {
			b := node.BatchFunc("b", feed(1, 2, 3), never, keep).WithParallel(2).Within(within...)
			_, err := b.Run(t.Context(), s)
			require.NoError(t, err)
			for i, res := range results(s.report) {
				assert.Equal(t, node.Result[int, int]{Index: int64(i), In: i + 1, State: node.Failed, Err: want}, res)
			}
		}
		step := node.Do("step", func(context.Context, *state) error { t.Error("it was called"); return nil }).Within(lim, br)
		_, err := step.Run(t.Context(), s)
		assert.Equal(t, want, err)
		require.ErrorIs(t, err, breaker.ErrOpen)

		assert.Zero(t, lim.Stats().InFlight)
		for range 2 {
			assert.True(t, allows(t, lim, throttle.Cost{}), "the window is as it was")
		}
	})
}

func TestBreakerIsAskedAfterTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		br := opened(t)
		m := node.Map("m", same).Within(br).WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, 10*time.Second)}})
		hold(t, newGuard(t, guard.Policy{}))
		call := m.Guard().Begin(throttle.Cost{}) // uses the window up; the breaker rejects it
		_, err := call.Admit(t.Context())
		require.ErrorIs(t, err, breaker.ErrOpen)
		time.Sleep(10 * time.Second)
		_, err = m.All(t.Context(), numbers(1))
		require.NoError(t, err, "it is admitted when the open time is over")
		assert.False(t, isOpen(t, br))
	})
}

func TestWhatCountsForTheBreaker(t *testing.T) {
	report := func(v adaptive.Verdict, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			guard.Report(ctx, adaptive.Feedback{Verdict: v})
			return err
		}
	}
	returns := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	errCurable, errAnswer := errors.New("curable"), errors.New("an answer")
	detector := func(err error) (f adaptive.Feedback) {
		switch {
		case errors.Is(err, errCurable):
			f.Verdict = adaptive.Transient
		case errors.Is(err, errAnswer):
			f.Verdict = adaptive.OK
		}
		return f
	}
	_, inside := node.Map("inside", func(context.Context, int) (int, error) {
		panic(answer(http.StatusInternalServerError))
	}).All(t.Context(), numbers(1))
	require.Error(t, inside)

	for name, tc := range map[string]struct {
		f       func(context.Context) error
		failure bool
	}{
		"no error":                {returns(nil), false},
		"a 400":                   {returns(answer(400)), false},
		"a 500":                   {returns(answer(500)), true},
		"a 503":                   {returns(answer(503)), true},
		"unknown":                 {returns(errBoom), true},
		"a rejection further in":  {returns(givenUp(t)), false},
		"another breaker":         {returns(&breaker.OpenError{}), false},
		"cancelled by the callee": {returns(context.Canceled), false},
		"a batch inside":          {returns(fmt.Errorf("x: %w", inside)), false},
		"detected as curable":     {returns(errCurable), true},
		"detected as an answer":   {returns(errAnswer), false},
		"a panic":                 {func(context.Context) error { panic("x") }, true},
		"a panic with a 429":      {func(context.Context) error { panic(answer(429)) }, true},
		"runtime.Goexit":          {func(context.Context) error { runtime.Goexit(); return nil }, false},
		"a timeout":               {func(ctx context.Context) error { return work(ctx, time.Hour) }, true},
		"reported as curable":     {report(adaptive.Transient, nil), true},
		"reported as an answer":   {report(adaptive.OK, errBoom), false},
		"reported as unsent":      {report(adaptive.Unsent, errBoom), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := func() guard.Policy {
					return guard.Policy{Detector: detector, Timeout: time.Minute, Limits: concurrency(1), Breaker: &breaker.Config{Failures: 1}}
				}
				m := node.Map("m", func(ctx context.Context, _ int) (int, error) { return 0, tc.f(ctx) }).With(policy())
				_, _ = m.All(t.Context(), numbers(1))
				assert.Equal(t, tc.failure, isOpen(t, m.Guard()), "batch")
				assert.Zero(t, m.Guard().Stats().InFlight)

				step := node.Do("step", func(ctx context.Context, _ *state) error { return tc.f(ctx) }).With(policy())
				done := make(chan struct{})
				go func() { // which runtime.Goexit may end
					defer close(done)
					_, _ = step.Run(t.Context(), &state{})
				}()
				<-done
				assert.Equal(t, tc.failure, isOpen(t, step.Guard()), "step")
				assert.Zero(t, step.Guard().Stats().InFlight)
			})
		})
	}
}

// givenUp is a refusal that a limiter has waited out for long enough.
func givenUp(t *testing.T) error {
	t.Helper()
	err := newGuard(t, guard.Policy{}).Do(t.Context(), throttle.Cost{}, func(context.Context) error { return hit(time.Hour) })
	require.Error(t, err)
	return err
}

func TestWhatTheStopOfARunCutsShortIsUndecided(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			br := withBreaker(t, breaker.Config{Failures: 1})
			release := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := node.Map("m", func(ctx context.Context, _ int) (int, error) {
				if hang {
					<-release
				}
				_ = work(ctx, time.Hour)
				return 0, answer(http.StatusInternalServerError)
			}).Within(br).WithTimeout(time.Hour).WithGrace(0).All(ctx, numbers(3))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.False(t, isOpen(t, br))
			close(release)
		})
	}
}

func TestHungAttemptIsAFailure(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		synctest.Test(t, func(t *testing.T) {
			br := withBreaker(t, breaker.Config{Failures: 1})
			release := make(chan struct{})
			m := node.Map("m", func(context.Context, int) (int, error) {
				<-release
				return 0, nil
			}).Within(br).WithTimeout(time.Second).WithLimits(limits)
			_, err := m.All(t.Context(), numbers(1))
			var hung *fault.HungError
			require.ErrorAs(t, err, &hung)
			check := func() {
				t.Helper()
				var open *breaker.OpenError
				require.ErrorAs(t, br.Try(t.Context(), throttle.Cost{}, nil), &open)
				assert.Same(t, hung, open.Cause)
			}
			check()
			close(release)
			synctest.Wait()
			check()
		})
	}
}

// The next attempt waits for the policy's delay and the time left, so that
// calls that waited together do not run together.
func TestRetryWaitsForTheBreaker(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		synctest.Test(t, func(t *testing.T) {
			var events log
			var at []time.Duration
			began := time.Now()
			s := &state{}
			policy := thrice
			policy.Max = 2 * time.Second
			b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) {
				if at = append(at, time.Since(began)); len(at) == 1 {
					return 0, errBoom
				}
				return 1, nil
			}, keep).With(guard.Policy{Breaker: &breaker.Config{Failures: 1, Successes: 1}, Limits: limits, Retry: &policy})
			_, err := b.Run(event.With(t.Context(), &events), s)
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, 12 * time.Second}, at, "1 s, refused with 9 s left, and 2 s")
			assert.Equal(t, []node.Result[int, int]{{In: 1, Out: 1, Attempts: 2, State: node.Done}}, results(s.report))
			assert.Equal(t, []string{"retry 0 1", "retry 0 1", "done 0 2"}, events.items())
		})
	}
}

func TestRejectionsByABreakerUseUpThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			policy retry.Policy
			took   time.Duration
		}{
			"one attempt":  {retry.Policy{MaxAttempts: 1}, 0},
			"not worth it": {retry.Policy{Retryable: func(err error) bool { return !errors.Is(err, breaker.ErrOpen) }}, 0},
			"excepted":     {retry.Policy{Except: []error{breaker.ErrOpen}}, 0},
		} {
			br := withBreaker(t, breaker.Config{Failures: 1, Open: time.Hour, MaxOpen: time.Hour})
			fail(t, br)
			began := time.Now()
			_, err := node.Map("m", same).Within(br).WithRetry(tc.policy).All(t.Context(), numbers(1))
			require.ErrorIs(t, err, breaker.ErrOpen, name)
			assert.Equal(t, tc.took, time.Since(began), name)
		}
	})
}

func TestBreakerAndTheEndOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := &state{}
		b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) { return 1, nil }, keep).
			Within(opened(t)).WithRetry(thrice)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []node.State{node.Pending}, states(s.report))
		assert.ErrorIs(t, results(s.report)[0].Err, breaker.ErrOpen, "it says what the item waited for")
	})
}
