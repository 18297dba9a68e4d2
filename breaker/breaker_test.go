package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
)

var errDown = errors.New("down")

func newBreaker(tb testing.TB, c breaker.Config) (*breaker.Breaker, *clockwork.FakeClock) {
	tb.Helper()
	clock := clockwork.NewFakeClock()
	c.Clock = clock
	b, err := breaker.New(c)
	require.NoError(tb, err)
	return b, clock
}

func do(tb testing.TB, b *breaker.Breaker, err error) error {
	tb.Helper()
	return b.Do(tb.Context(), func(context.Context) error { return err })
}

func allow(tb testing.TB, b *breaker.Breaker) breaker.Ticket {
	tb.Helper()
	ticket, err := b.Allow(tb.Context())
	require.NoError(tb, err)
	return ticket
}

// halfOpen returns a breaker for which the next call is a probe.
func halfOpen(tb testing.TB, c breaker.Config) (*breaker.Breaker, *clockwork.FakeClock) {
	tb.Helper()
	c.Failures = 1
	b, clock := newBreaker(tb, c)
	require.ErrorIs(tb, do(tb, b, errDown), errDown)
	require.Equal(tb, breaker.Open, b.Stats().State)
	clock.Advance(b.Stats().RetryAfter)
	require.Equal(tb, breaker.HalfOpen, b.Stats().State)
	return b, clock
}

func TestNewNamesEveryProblem(t *testing.T) {
	for _, tc := range []struct {
		config breaker.Config
		want   string
	}{
		{breaker.Config{Failures: -1}, "breaker: Failures: -1; want at least 1, or 0 for 5"},
		{breaker.Config{Successes: -1}, "breaker: Successes: -1; want at least 1, or 0 for 2"},
		{breaker.Config{Probes: -1}, "breaker: Probes: -1; want at least 1, or 0 for 1"},
		{breaker.Config{Open: -1, MaxOpen: -2}, "breaker: Open: -1ns; want a positive duration, or 0 for 10s\n" +
			"breaker: MaxOpen: -2ns; want a positive duration, or 0 for 1m0s"},
		{breaker.Config{Open: 2, MaxOpen: 1}, "breaker: Open: 2ns is longer than MaxOpen, 1ns"},
	} {
		b, err := breaker.New(tc.config)
		assert.Nil(t, b)
		assert.EqualError(t, err, tc.want)
		assert.IsType(t, &fault.FieldError{}, func() error { f, _ := errors.AsType[*fault.FieldError](err); return f }())
	}
	assert.NoError(t, breaker.Config{Open: 1, MaxOpen: 1}.Validate())
}

func TestOpenTimesThatAreLeftOut(t *testing.T) {
	for _, tc := range []struct{ open, maxOpen, first, second, third time.Duration }{
		{0, 0, 10 * time.Second, 20 * time.Second, 40 * time.Second},
		{0, 4 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second},
		{time.Hour, 0, time.Hour, time.Hour, time.Hour},
		{40 * time.Second, 0, 40 * time.Second, time.Minute, time.Minute},
	} {
		b, clock := newBreaker(t, breaker.Config{Failures: 1, Open: tc.open, MaxOpen: tc.maxOpen})
		for _, want := range []time.Duration{tc.first, tc.second, tc.third} {
			_ = do(t, b, errDown)
			assert.Equal(t, want, b.Stats().RetryAfter)
			clock.Advance(want)
		}
	}
}

func TestDoHandsThrough(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{Name: "host"})
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	wrapped := fmt.Errorf("wrapped: %w", errDown)
	got := b.Do(ctx, func(c context.Context) error {
		assert.Equal(t, ctx, c)
		return wrapped
	})
	assert.True(t, got == wrapped, "the error itself") //nolint:errorlint // identity is meant
	assert.NoError(t, do(t, b, nil))
}

func TestOpenRefusesWithTheTimeLeft(t *testing.T) {
	b, clock := newBreaker(t, breaker.Config{Name: "host"})
	for range 5 {
		assert.Equal(t, errDown, do(t, b, errDown))
	}
	clock.Advance(2500 * time.Millisecond)
	err := b.Do(t.Context(), func(context.Context) error { t.Error("called"); return nil })
	assert.Equal(t, &breaker.OpenError{
		Breaker: "host", State: breaker.Open, RetryAfter: 7500 * time.Millisecond, Cause: errDown,
	}, err)
	assert.EqualError(t, err, `breaker: "host": open, retry after 7.5s; it opened because of: down`)
	assert.ErrorIs(t, err, breaker.ErrOpen)
	assert.NotErrorIs(t, err, errDown, "that was another call's")

	clock.Advance(7500 * time.Millisecond)
	probe := allow(t, b)
	_, err = b.Allow(t.Context())
	assert.EqualError(t, err, `breaker: "host": half-open with its probes under way, retry after 1s; it opened because of: down`)
	assert.True(t, probe.Failure(nil))
	assert.EqualError(t, do(t, b, nil), `breaker: "host": open, retry after 20s`)
}

// The innermost error is what classifiers of text go by: no name, no cause.
func TestOpenErrorsInnermostTextIsFixed(t *testing.T) {
	assert.EqualError(t, errors.Unwrap(&breaker.OpenError{Breaker: "rate limited API", Cause: errDown}), "breaker: open")
}

func TestDoneContextIsNotAdmitted(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	assert.Equal(t, io.EOF, b.Do(ctx, func(context.Context) error { t.Error("called"); return nil }))
	_, err := b.Allow(ctx)
	assert.Equal(t, io.EOF, err)
	assert.Equal(t, int64(1), b.Stats().Admitted)
	assert.Zero(t, b.Stats().Refused)
	assert.Zero(t, b.Probes())
}

func TestContextsEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  func(ctx context.Context) error
		end  func(ctx context.Context) (context.Context, context.CancelFunc)
		want breaker.State
	}{
		{"cancelled", context.Cause, cancelled, breaker.HalfOpen},
		{"cancelled, told by another error", func(context.Context) error { return io.EOF }, cancelled, breaker.HalfOpen},
		{"cancelled, and it succeeded", func(context.Context) error { return nil }, cancelled, breaker.Closed},
		{"deadline", context.Cause, expired, breaker.Open},
		{"deadline, told by another error", func(context.Context) error { return io.EOF }, expired, breaker.Open},
		{"deadline, and it succeeded", func(context.Context) error { return nil }, expired, breaker.Closed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := halfOpen(t, breaker.Config{Successes: 1})
				ctx, cancel := tc.end(t.Context())
				defer cancel()
				_ = b.Do(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return tc.err(ctx)
				})
				assert.Equal(t, tc.want, b.Stats().State)
				assert.Zero(t, b.Probes())
				assert.Zero(t, b.Stats().InFlight)
			})
		})
	}
}

// cancelled has a cause of its own, so that only the context tells what happened.
func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := time.AfterFunc(time.Second, func() { cancel(io.ErrClosedPipe) })
	return ctx, func() { stop.Stop(); cancel(nil) }
}

func expired(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Second, io.ErrClosedPipe)
}

func TestGoexitGivesTheProbeBack(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
	assert.Equal(t, breaker.HalfOpen, b.Stats().State)
	assert.Zero(t, b.Probes())
	assert.Zero(t, b.Stats().InFlight)
}

func explode(v any) { panic(v) }

func TestPanicIsAFailureAndGoesOn(t *testing.T) {
	for _, tc := range []struct {
		value any
		want  string
	}{
		{"boom", "breaker: the call panicked: boom"},
		{errDown, "breaker: the call panicked: down"},
	} {
		b, _ := newBreaker(t, breaker.Config{Failures: 1})
		var stack string
		func() {
			defer func() {
				assert.Equal(t, tc.value, recover())
				stack = string(debug.Stack())
			}()
			_ = b.Do(t.Context(), func(context.Context) error { explode(tc.value); return nil })
		}()
		assert.Contains(t, stack, "breaker_test.explode", "where it came from is still to be seen")
		assert.Equal(t, breaker.Open, b.Stats().State)
		assert.Zero(t, b.Stats().InFlight)
		assert.EqualError(t, b.Stats().Cause, tc.want)
		if err, ok := tc.value.(error); ok {
			assert.ErrorIs(t, b.Stats().Cause, err)
		}
	}
}

// With the real clock, which in a bubble is virtual.
func TestRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := breaker.New(breaker.Config{})
		require.NoError(t, err)
		for range 5 {
			_ = do(t, b, errDown)
		}
		time.Sleep(4 * time.Second)
		assert.Equal(t, 6*time.Second, b.Stats().RetryAfter)
		time.Sleep(6*time.Second - time.Nanosecond)
		assert.ErrorIs(t, do(t, b, nil), breaker.ErrOpen)
		time.Sleep(time.Nanosecond)
		assert.NoError(t, do(t, b, nil))
		assert.NoError(t, do(t, b, nil))
		assert.Equal(t, breaker.Closed, b.Stats().State)
	})
}

// back is a clock that can be set back.
type back struct {
	*clockwork.FakeClock
	by time.Duration
}

func (c *back) Since(t time.Time) time.Duration { return c.FakeClock.Since(t) - c.by }

func TestClockThatStepsBackDoesNotLengthenTheWait(t *testing.T) {
	clock := &back{FakeClock: clockwork.NewFakeClock()}
	b, err := breaker.New(breaker.Config{Failures: 1, Clock: clock})
	require.NoError(t, err)
	clock.Advance(time.Hour)
	_ = do(t, b, errDown)
	clock.by = time.Minute
	assert.Equal(t, 10*time.Second, b.Stats().RetryAfter)
}

func TestStatsAndReset(t *testing.T) {
	b, clock := newBreaker(t, breaker.Config{Failures: 2, Probes: 2})
	assert.Equal(t, breaker.Stats{}, b.Stats())
	open := allow(t, b)
	_ = do(t, b, errDown)
	assert.Equal(t, breaker.Stats{Failures: 1, InFlight: 1, Admitted: 2, Cause: errDown}, b.Stats())
	_ = do(t, b, nil)
	assert.Equal(t, breaker.Stats{InFlight: 1, Admitted: 3}, b.Stats(), "a success ends the row")
	_, _ = do(t, b, errDown), do(t, b, io.EOF)
	_ = do(t, b, nil)
	assert.Equal(t, breaker.Stats{
		State: breaker.Open, RetryAfter: 10 * time.Second, InFlight: 1, Admitted: 5, Refused: 1, Opened: 1, Cause: io.EOF,
	}, b.Stats())
	clock.Advance(10 * time.Second)
	probe := allow(t, b)
	_ = do(t, b, nil)
	assert.Equal(t, breaker.Stats{
		State: breaker.HalfOpen, InFlight: 2, Admitted: 7, Refused: 1, Opened: 1, Cause: io.EOF,
	}, b.Stats())
	assert.Equal(t, []int{1, 1}, []int{b.Successes(), b.Probes()})

	b.Reset()
	assert.Equal(t, []int{0, 0}, []int{b.Successes(), b.Probes()})
	assert.Equal(t, breaker.Stats{InFlight: 2}, b.Stats())
	assert.True(t, open.Failure(errDown))
	assert.True(t, probe.Failure(errDown))
	assert.Equal(t, breaker.Stats{}, b.Stats(), "calls of before have no say")
	_, _ = do(t, b, errDown), do(t, b, errDown)
	assert.Equal(t, 10*time.Second, b.Stats().RetryAfter)
}

func TestNamesOfStates(t *testing.T) {
	var names []string
	for s := range breaker.State(4) {
		names = append(names, s.String())
	}
	assert.Equal(t, "closed open half-open State(3)", strings.Join(names, " "))
}

func TestARetryAfterFitsAHeader(t *testing.T) {
	b, err := breaker.New(breaker.Config{Failures: 1, Open: math.MaxInt64})
	require.NoError(t, err)
	require.Error(t, b.Do(t.Context(), func(context.Context) error { return io.EOF }))
	_, err = b.Allow(t.Context())
	var open *breaker.OpenError
	require.ErrorAs(t, err, &open)
	assert.Equal(t, 24*time.Hour, open.RetryAfter)
	assert.Equal(t, 24*time.Hour, b.Stats().RetryAfter)
}
