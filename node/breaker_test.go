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
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func newBreaker(t *testing.T, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	require.NoError(t, err)
	return b
}

// opened is a breaker that has just opened for ten seconds.
func opened(t *testing.T) *breaker.Breaker {
	t.Helper()
	b := newBreaker(t, breaker.Config{Name: "api", Failures: 1, Successes: 1})
	fail(t, b)
	return b
}

func fail(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	ticket, err := b.Allow(t.Context())
	require.NoError(t, err)
	ticket.Failure(errBoom)
}

// answered is the error of an SDK.
type answered struct{ Response *http.Response }

func (e *answered) Error() string { return e.Response.Status }

func answer(code int, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &answered{&http.Response{StatusCode: code, Status: fmt.Sprint("answer ", code), Header: h}}
}

// What an open breaker refuses was never sent: its admission is undone.
func TestOpenBreakerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		br := opened(t)
		lim := newLimiter(t, adaptive.Config{Name: "shared", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(2, time.Hour)},
		}})
		want := &breaker.OpenError{Breaker: "api", State: breaker.Open, RetryAfter: 7 * time.Second, Cause: errBoom}
		time.Sleep(3 * time.Second)

		s := &state{}
		never := func(context.Context, int) (int, error) { t.Error("Exec was called"); return 0, nil }
		for _, limited := range []bool{false, true} {
			b := node.BatchFunc("b", feed(1, 2, 3), never, keep).WithParallel(2).WithBreaker(br)
			if limited {
				b.WithLimiter(lim)
			}
			_, err := b.Run(t.Context(), s)
			require.NoError(t, err)
			for i, res := range results(s.report) {
				assert.Equal(t, node.Result[int, int]{Index: int64(i), In: i + 1, State: node.Failed, Err: want}, res)
			}
		}
		step := node.Do("step", func(context.Context, *state) error { t.Error("it was called"); return nil }).
			WithLimiter(lim).WithBreaker(br)
		_, err := step.Run(t.Context(), s)
		assert.Equal(t, want, err)
		require.ErrorIs(t, err, breaker.ErrOpen)

		assert.Zero(t, lim.Throttle().Stats().InFlight)
		for range 2 {
			assert.True(t, lim.Throttle().Allow(throttle.Cost{}), "the window is as it was")
		}
	})
}

func TestBreakerIsAskedAfterTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		br := opened(t)
		m := node.Map("m", same).WithBreaker(br).WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, 10*time.Second)}})
		lim, err := m.Limiter()
		require.NoError(t, err)
		require.True(t, lim.Throttle().Allow(throttle.Cost{}))
		_, err = m.All(t.Context(), numbers(1))
		require.NoError(t, err, "the limiter admits it when the open time is over")
		assert.Equal(t, breaker.Closed, br.State())
		assert.Zero(t, br.Stats().Refused)
	})
}

func TestWhatCountsForTheBreaker(t *testing.T) {
	const success, undecided, failure = 0, 1, 2 // failures in a row, after one
	report := func(v adaptive.Verdict, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			adaptive.Report(ctx, adaptive.Feedback{Verdict: v})
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
		f        func(context.Context) error
		want     int
		reported bool // it needs a limiter
	}{
		"no error":                {returns(nil), success, false},
		"a 400":                   {returns(answer(400)), success, false},
		"a 404":                   {returns(answer(404)), success, false},
		"a 500":                   {returns(answer(500)), failure, false},
		"a 503":                   {returns(answer(503)), failure, false},
		"money":                   {returns(answer(402)), undecided, false},
		"unknown":                 {returns(errBoom), failure, false},
		"a refusal further in":    {returns(givenUp(t)), undecided, false},
		"a limited one":           {returns(&throttle.LimitedError{}), undecided, false},
		"another breaker":         {returns(&breaker.OpenError{}), undecided, false},
		"cancelled by the callee": {returns(context.Canceled), undecided, false},
		"a batch inside":          {returns(fmt.Errorf("x: %w", inside)), undecided, false},
		"detected as curable":     {returns(errCurable), failure, false},
		"detected as an answer":   {returns(errAnswer), success, false},
		"a panic":                 {func(context.Context) error { panic("x") }, failure, false},
		"a panic with a refusal":  {func(context.Context) error { panic(answer(429)) }, failure, false},
		"runtime.Goexit":          {func(context.Context) error { runtime.Goexit(); return nil }, undecided, false},
		"a timeout":               {func(ctx context.Context) error { return work(ctx, time.Hour) }, failure, false},
		"reported as curable":     {report(adaptive.Transient, nil), failure, true},
		"reported as an answer":   {report(adaptive.OK, errBoom), success, true},
		"reported as unsent":      {report(adaptive.Unsent, errBoom), undecided, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limited := range []bool{false, true} {
				if tc.reported && !limited {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					br := newBreaker(t, breaker.Config{Failures: 9})
					fail(t, br)
					m := node.Map("m", func(ctx context.Context, _ int) (int, error) { return 0, tc.f(ctx) }).
						WithBreaker(br).WithDetector(detector).WithItemTimeout(time.Minute)
					step := node.Do("step", func(ctx context.Context, _ *state) error { return tc.f(ctx) }).
						WithBreaker(br).WithDetector(detector).WithTimeout(time.Minute)
					if limited {
						m.WithLimits(concurrency(1))
						step.WithLimits(concurrency(1))
					}
					_, _ = m.All(t.Context(), numbers(1))
					assert.Equal(t, tc.want, br.Stats().Failures, "batch, limited: %v", limited)
					assert.Zero(t, br.Stats().InFlight)

					br.Reset()
					fail(t, br)
					done := make(chan struct{})
					go func() { // which runtime.Goexit may end
						defer close(done)
						_, _ = step.Run(t.Context(), &state{})
					}()
					<-done
					assert.Equal(t, tc.want, br.Stats().Failures, "step, limited: %v", limited)
					assert.Zero(t, br.Stats().InFlight)
				})
			}
		})
	}
}

// givenUp is a refusal that a limiter has waited out for long enough.
func givenUp(t *testing.T) error {
	t.Helper()
	err := newLimiter(t, adaptive.Config{}).Do(t.Context(), throttle.Cost{}, func(context.Context) error { return hit(time.Hour) })
	require.Error(t, err)
	return err
}

// Each refusal is an attempt on the wire and says nothing; what comes of it counts.
func TestRefusalsForRateDoNotOpenABreaker(t *testing.T) {
	for name, refusal := range map[string]error{
		"429":                  answer(429, "Retry-After", "1"),
		"529":                  answer(529),
		"503 with Retry-After": answer(503, "Retry-After", "1"),
		"one of ours":          hit(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			for _, limits := range []throttle.Limits{{}, concurrency(3)} {
				synctest.Test(t, func(t *testing.T) {
					var calls tally
					br := newBreaker(t, breaker.Config{Failures: 1})
					m := node.Map("m", func(_ context.Context, i int) (int, error) {
						if calls.add(i) < 4 {
							return 0, refusal
						}
						return i, nil
					}).WithBreaker(br)
					if limits.Concurrency > 0 {
						m.WithLimits(limits)
					}
					_, err := m.All(t.Context(), numbers(2))
					require.NoError(t, err)
					assert.Equal(t, int64(8), br.Stats().Admitted)
					assert.Zero(t, br.Stats().Opened)
				})
			}
		})
	}
}

// The node knows first; what it does not know is for Classify.
func TestClassifyIsAskedAboutWhatTheDetectorsDoNotKnow(t *testing.T) {
	var asked []error
	br := newBreaker(t, breaker.Config{Failures: 9, Classify: func(err error) breaker.Outcome {
		asked = append(asked, err)
		return breaker.Success
	}})
	fail(t, br)
	errs := []error{errBoom, answer(400), answer(500), nil}
	_, _ = node.Map("m", func(_ context.Context, i int) (int, error) { return 0, errs[i] }).WithBreaker(br).All(t.Context(), numbers(4))
	assert.Equal(t, []error{errBoom}, asked)
}

func TestWhatTheStopOfARunCutsShortIsUndecided(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			br := newBreaker(t, breaker.Config{Failures: 9})
			fail(t, br)
			release := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := node.Map("m", func(ctx context.Context, _ int) (int, error) {
				if hang {
					<-release
				}
				_ = work(ctx, time.Hour)
				return 0, answer(http.StatusInternalServerError)
			}).WithBreaker(br).WithItemTimeout(time.Hour).WithGrace(0).All(ctx, numbers(3))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 1, br.Stats().Failures)
			assert.Zero(t, br.Stats().InFlight)
			close(release)
		})
	}
}

func TestHungAttemptEndsItsTicket(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		synctest.Test(t, func(t *testing.T) {
			br := newBreaker(t, breaker.Config{Failures: 1})
			release := make(chan struct{})
			m := node.Map("m", func(context.Context, int) (int, error) {
				<-release
				return 0, nil
			}).WithBreaker(br).WithItemTimeout(time.Second)
			if limits.Concurrency > 0 {
				m.WithLimits(limits)
			}
			_, err := m.All(t.Context(), numbers(1))
			var hung *fault.HungError
			require.ErrorAs(t, err, &hung)
			check := func() {
				t.Helper()
				s := br.Stats()
				assert.Equal(t, breaker.Open, s.State)
				assert.Zero(t, s.InFlight)
				assert.Same(t, hung, s.Cause)
			}
			check()
			close(release)
			synctest.Wait()
			check()
		})
	}
}

// The next attempt waits for the policy's delay and the time left, so that
// those who waited together do not come together.
func TestRetryWaitsForTheBreaker(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		synctest.Test(t, func(t *testing.T) {
			br := newBreaker(t, breaker.Config{Failures: 1, Successes: 1})
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
			}, keep).WithBreaker(br).WithRetry(policy)
			if limits.Concurrency > 0 {
				b.WithLimits(limits)
			}
			_, err := b.Run(event.With(t.Context(), &events), s)
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, 12 * time.Second}, at, "1 s, refused with 9 s left, and 2 s")
			assert.Equal(t, []node.Result[int, int]{{In: 1, Out: 1, Attempts: 2, State: node.Done}}, results(s.report))
			assert.Equal(t, []string{"retry 0 1", "retry 0 1", "done 0 2"}, events.items())
		})
	}
}

func TestRefusalsOfABreakerUseUpThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		br := newBreaker(t, breaker.Config{Failures: 1, Open: time.Hour, MaxOpen: time.Hour})
		fail(t, br)
		busy, err := br.Allow(t.Context())
		require.Error(t, err)
		busy.Cancel()
		for name, tc := range map[string]struct {
			policy retry.Policy
			took   time.Duration
		}{
			"refused":              {retry.Policy{MaxAttempts: 1}, 0},
			"not worth it":         {retry.Policy{Retryable: func(err error) bool { return !errors.Is(err, breaker.ErrOpen) }}, 0},
			"excepted":             {retry.Policy{Except: []error{breaker.ErrOpen}}, 0},
			"while a probe is out": {thrice, time.Hour + time.Second + 6*time.Minute + 2*time.Second},
		} {
			br.Reset()
			fail(t, br)
			probe := time.AfterFunc(time.Hour, func() { // takes the only place
				if name == "while a probe is out" {
					_, err := br.Allow(t.Context())
					assert.NoError(t, err)
				}
			})
			began := time.Now()
			_, err := node.Map("m", same).WithBreaker(br).WithRetry(tc.policy).All(t.Context(), numbers(1))
			require.ErrorIs(t, err, breaker.ErrOpen, name)
			assert.Equal(t, tc.took, time.Since(began), name)
			probe.Stop()
		}
	})
}

func TestBreakerAndTheEndOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := &state{}
		b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) { return 1, nil }, keep).
			WithBreaker(opened(t)).WithRetry(thrice)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []node.State{node.Pending}, states(s.report))
		assert.ErrorIs(t, results(s.report)[0].Err, breaker.ErrOpen, "it says what the item waited for")
	})
}
