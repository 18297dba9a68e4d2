package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/breaker"
)

// hit has the method by which errors say that they are refusals for rate.
type hit bool

func (hit) Error() string       { return "hit" }
func (h hit) RateLimited() bool { return bool(h) }

func TestDefaultClassify(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want breaker.Outcome
	}{
		{nil, breaker.Success},
		{errDown, breaker.Failure},
		{context.DeadlineExceeded, breaker.Failure},
		{context.Canceled, breaker.Undecided},
		{fmt.Errorf("call: %w", context.Canceled), breaker.Undecided},
		{hit(true), breaker.Undecided},
		{fmt.Errorf("call: %w", errors.Join(errDown, hit(true))), breaker.Undecided},
		{hit(false), breaker.Failure},
		{&breaker.OpenError{Cause: errDown}, breaker.Undecided},
		{fmt.Errorf("call: %w", breaker.ErrOpen), breaker.Undecided},
	} {
		assert.Equal(t, tc.want, breaker.DefaultClassify(tc.err), "%v", tc.err)
	}
}

func TestRateLimitHitsDoNotTrip(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{})
	for range 4 {
		_ = do(t, b, errDown)
	}
	for range 100 {
		assert.Equal(t, hit(true), do(t, b, hit(true)))
	}
	assert.Equal(t, 4, b.Stats().Failures, "and they are no success either")

	b, _ = halfOpen(t, breaker.Config{})
	_ = do(t, b, nil)
	_ = do(t, b, hit(true))
	assert.Equal(t, breaker.HalfOpen, b.Stats().State)
	assert.Equal(t, 1, b.Successes())
	assert.NoError(t, do(t, b, nil), "the place of the probe is free again")
	assert.Equal(t, breaker.Closed, b.Stats().State)
}

func TestABreakerInsideDoesNotOpenTheOneOutside(t *testing.T) {
	outer, _ := newBreaker(t, breaker.Config{Failures: 3})
	inner, _ := newBreaker(t, breaker.Config{Failures: 1})
	for range 9 {
		_ = outer.Do(t.Context(), func(ctx context.Context) error {
			return inner.Do(ctx, func(context.Context) error { return errDown })
		})
	}
	assert.Equal(t, 1, outer.Stats().Failures)
}

func TestClassifyDecides(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{Failures: 2, Classify: func(err error) breaker.Outcome {
		switch {
		case errors.Is(err, io.EOF):
			return breaker.Success
		case errors.Is(err, io.ErrNoProgress):
			return breaker.Undecided
		case errors.Is(err, io.ErrShortBuffer):
			panic("no idea")
		default:
			assert.Equal(t, hit(true), err)
			return breaker.Failure
		}
	}})
	failures := func(err error) int {
		_ = do(t, b, err)
		return b.Stats().Failures
	}
	assert.Equal(t, 1, failures(hit(true)))
	assert.Equal(t, 1, failures(io.ErrNoProgress))
	assert.Equal(t, 0, failures(io.EOF))
	assert.Equal(t, 1, failures(io.ErrShortBuffer), "a panic leaves it a failure")
	assert.Equal(t, 0, failures(nil), "it is not asked about nil")

	ctx, cancel := context.WithCancel(t.Context())
	err := b.Do(ctx, func(context.Context) error { cancel(); return errDown })
	assert.Equal(t, errDown, err)
	assert.Equal(t, 0, b.Stats().Failures, "nor about the error of a cancelled call")
}
