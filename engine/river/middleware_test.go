package riverguard_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	riverguard "github.com/headrace/headrace/engine/river"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func middleware(t *testing.T, c riverguard.Config) *riverguard.Middleware {
	t.Helper()
	m, err := riverguard.New(c)
	require.NoError(t, err)
	return m
}

// row is a job that was snoozed so often.
func row(snoozes string) *rivertype.JobRow {
	return &rivertype.JobRow{ID: 1, Queue: "acme", ScheduledAt: time.Now(), Metadata: []byte(`{"snoozes": ` + snoozes + `}`)}
}

// snooze returns for how long err snoozes a job.
func snooze(t *testing.T, err error) time.Duration {
	t.Helper()
	s, ok := errors.AsType[*rivertype.JobSnoozeError](err)
	require.True(t, ok, "%v", err)
	return s.Duration
}

func succeed(context.Context) error { return nil }

func TestProblemsOfAConfigurationAreJoined(t *testing.T) {
	_, err := riverguard.New(riverguard.Config{Hold: -1})
	require.EqualError(t, err, "riverguard: Guard: is required\nriverguard: Hold: -1ns must be between 0 and 10m0s")
}

func TestARefusedJobIsSnoozedForAsLongAsTheProviderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := middleware(t, riverguard.Config{Guard: newGuard(t, guard.Policy{})})
		err := m.Work(t.Context(), row("0"), func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: 40 * time.Second} })
		d := snooze(t, err)
		assert.GreaterOrEqual(t, d, 40*time.Second)
		assert.Less(t, d, 45*time.Second, "a tenth more spreads the jobs, and a tenth of a second the pause")

		// The pause holds for jobs that were not sent: they are not run, and do not wait in a worker.
		began := time.Now()
		d = snooze(t, m.Work(t.Context(), row("0"), func(context.Context) error { panic("sent") }))
		assert.GreaterOrEqual(t, d, 40*time.Second)
		assert.Zero(t, time.Since(began))

		time.Sleep(40 * time.Second)
		require.NoError(t, m.Work(t.Context(), row("0"), succeed))
	})
}

func TestAShortPauseIsWaitedForInTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, guard.Policy{})
		m := middleware(t, riverguard.Config{Guard: g})
		g.Pause(time.Now().Add(9 * time.Second))
		began := time.Now()
		require.NoError(t, m.Work(t.Context(), row("0"), succeed))
		assert.Equal(t, 9*time.Second, time.Since(began))
	})
}

func TestAJobThatWasSnoozedMayWaitForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
		m := middleware(t, riverguard.Config{Guard: g, Hold: time.Second})
		release := make(chan struct{})
		var holder sync.WaitGroup
		holder.Go(func() {
			assert.NoError(t, m.Work(t.Context(), row("0"), func(context.Context) error { <-release; return nil }))
		})
		synctest.Wait()
		for metadata, want := range map[string]time.Duration{
			"0": time.Second, "3": 4 * time.Second, "100000": 10 * time.Minute, `"x"`: time.Second,
		} {
			began := time.Now()
			d := snooze(t, m.Work(t.Context(), row(metadata), func(context.Context) error { panic("sent") }))
			assert.Equal(t, want, time.Since(began), metadata)
			assert.GreaterOrEqual(t, d, want, metadata)
		}
		close(release)
		holder.Wait()
		assert.Zero(t, g.Stats().InFlight)
	})
}

func TestAUsedUpQuotaIsLookedAtLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := middleware(t, riverguard.Config{Guard: newGuard(t, guard.Policy{
			Detector: func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal} },
		})})
		for metadata, want := range map[string]time.Duration{"0": time.Minute, "4": 5 * time.Minute, "1000": 15 * time.Minute} {
			d := snooze(t, m.Work(t.Context(), row(metadata), func(context.Context) error { return errors.New("no money") }))
			assert.GreaterOrEqual(t, d, want)
			assert.LessOrEqual(t, d, want+want/10)
		}
		// A job probes, and finds that the quota is there again.
		time.Sleep(time.Minute)
		require.NoError(t, m.Work(t.Context(), row("0"), succeed))
		require.NoError(t, m.Work(t.Context(), row("0"), succeed))
	})
}

func TestOtherErrorsAreThoseOfTheJob(t *testing.T) {
	failed := errors.New("failed")
	for name, err := range map[string]error{
		"failure": failed, "cancelled": river.JobCancel(&adaptive.RateLimitHit{}), "snoozed": river.JobSnooze(7 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, guard.Policy{Breaker: &breaker.Config{Failures: 1}})
			m := middleware(t, riverguard.Config{Guard: g})
			assert.Same(t, err, m.Work(t.Context(), row("0"), func(context.Context) error { return err })) //nolint:testifylint // the same one
		})
	}
}

func TestASnoozeOfTheJobIsNoFailure(t *testing.T) {
	g := newGuard(t, guard.Policy{Breaker: &breaker.Config{Failures: 1}})
	m := middleware(t, riverguard.Config{Guard: g})
	for range 3 {
		assert.Equal(t, time.Second, snooze(t, m.Work(t.Context(), row("0"), func(context.Context) error { return river.JobSnooze(time.Second) })))
	}
}

func TestAnOpenBreakerSnoozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, guard.Policy{Breaker: &breaker.Config{Failures: 1, Open: 30 * time.Second}})
		m := middleware(t, riverguard.Config{Guard: g})
		failed := &statusError{500}
		require.ErrorIs(t, m.Work(t.Context(), row("0"), func(context.Context) error { return failed }), failed)
		d := snooze(t, m.Work(t.Context(), row("0"), func(context.Context) error { panic("sent") }))
		assert.GreaterOrEqual(t, d, 29*time.Second)
	})
}

type statusError struct{ StatusCode int }

func (e *statusError) Error() string { return "status" }

func TestA429OfAnSDKSnoozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hits := 0
		g := newGuard(t, guard.Policy{Name: "acme", Observer: event.Func(func(e event.Event) {
			if e.Kind == event.LimiterHit {
				hits++
			}
		})})
		m := middleware(t, riverguard.Config{Guard: g})
		d := snooze(t, m.Work(t.Context(), row("0"), func(context.Context) error { return &statusError{429} }))
		assert.GreaterOrEqual(t, d, time.Second)
		assert.Equal(t, 1, hits)
	})
}

func TestAPanicGoesOnToRiverAndHoldsNothing(t *testing.T) {
	g := newGuard(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	m := middleware(t, riverguard.Config{Guard: g})
	assert.PanicsWithValue(t, "worker", func() {
		_ = m.Work(t.Context(), row("0"), func(context.Context) error { panic("worker") })
	})
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = m.Work(t.Context(), row("0"), func(context.Context) error { runtime.Goexit(); return nil })
	})
	ended.Wait()
	assert.Zero(t, g.Stats().InFlight)
	require.NoError(t, m.Work(t.Context(), row("0"), succeed))
}

func TestAHungWorkKeepsItsWorkerButNotItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		policy guard.Policy
		after  time.Duration
	}{
		"with a timeout":    {guard.Policy{Timeout: 5 * time.Second}, 6 * time.Second},
		"without a timeout": {guard.Policy{}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.policy.Limits.Concurrency = 1
				g := newGuard(t, c.policy)
				m := middleware(t, riverguard.Config{Guard: g})
				release := make(chan struct{})
				var hung sync.WaitGroup
				began := time.Now()
				hung.Go(func() {
					assert.NoError(t, m.Work(t.Context(), row("0"), func(ctx context.Context) error {
						if c.policy.Timeout > 0 {
							<-ctx.Done()
							assert.Equal(t, c.policy.Timeout, time.Since(began))
						}
						<-release
						return nil
					}))
				})
				synctest.Wait()
				require.NoError(t, m.Work(t.Context(), row("1000"), succeedAt(t, began, c.after)))
				close(release)
				hung.Wait()
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}

// succeedAt is a job that is admitted in the end, and not before it may.
func succeedAt(t *testing.T, began time.Time, after time.Duration) func(context.Context) error {
	t.Helper()
	if rest := after - time.Since(began); rest > 9*time.Minute { // longer than a job may wait in a worker
		time.Sleep(rest - time.Minute)
	}
	return func(context.Context) error {
		assert.Equal(t, after, time.Since(began))
		return nil
	}
}

func TestACancelledJobStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, guard.Policy{})
		m := middleware(t, riverguard.Config{Guard: g})
		g.Pause(time.Now().Add(9 * time.Second))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(rivertype.ErrJobCancelledRemotely) })
		began := time.Now()
		require.ErrorIs(t, m.Work(ctx, row("0"), succeed), rivertype.ErrJobCancelledRemotely)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Zero(t, g.Stats().Waiting)
	})
}

func TestAJobThatCanNeverBeAdmittedFails(t *testing.T) {
	m := middleware(t, riverguard.Config{
		Guard: newGuard(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Second)}}}),
		Cost:  func(job *rivertype.JobRow) throttle.Cost { return throttle.Cost{Requests: job.ID + 2} },
	})
	require.ErrorIs(t, m.Work(t.Context(), row("0"), succeed), throttle.ErrCost)
}

func TestAGuardThatTheProgramHasClosedSnoozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, guard.Policy{})
		m := middleware(t, riverguard.Config{Guard: g})
		g.Close(errors.New("maintenance"))
		assert.GreaterOrEqual(t, snooze(t, m.Work(t.Context(), row("0"), succeed)), time.Minute)
		g.Reopen()
		require.NoError(t, m.Work(t.Context(), row("0"), succeed))
	})
}

// explosive is an error with methods that panic.
type explosive struct{}

func (explosive) Error() string { return "explosive" }
func (explosive) Unwrap() error { panic("unwrapped") }

func TestAnErrorWhoseMethodsPanicHoldsNothing(t *testing.T) {
	g := newGuard(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	m := middleware(t, riverguard.Config{Guard: g})
	assert.Panics(t, func() { _ = m.Work(t.Context(), row("0"), func(context.Context) error { return explosive{} }) })
	assert.Zero(t, g.Stats().InFlight)
}

func TestAnotherQueueIsNotGuarded(t *testing.T) {
	g := newGuard(t, guard.Policy{})
	config := &river.Config{Workers: river.NewWorkers()}
	require.NoError(t, riverguard.Queue[any](config, "acme", riverguard.Config{Guard: g}))
	require.NoError(t, riverguard.Queue[any](config, "second", riverguard.Config{Guard: g}))
	require.Len(t, config.Middleware, 2)
	g.Close(errors.New("closed"))
	m := config.Middleware[0].(*riverguard.Middleware)
	job := row("0")
	job.Queue = "other"
	require.NoError(t, m.Work(t.Context(), job, succeed))
	job.Queue = "acme"
	assert.GreaterOrEqual(t, snooze(t, m.Work(t.Context(), job, succeed)), time.Minute)
}
