package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/retry"
)

func TestDo(t *testing.T) {
	failure := errors.New("failed")
	for name, c := range map[string]struct {
		errs  []error
		want  error
		calls int
		took  time.Duration
	}{
		"success":            {[]error{nil}, nil, 1, 0},
		"after two failures": {[]error{failure, failure, nil}, nil, 3, 3 * time.Second},
		"never":              {[]error{failure, failure, failure}, failure, 3, 3 * time.Second},
		"permanent":          {[]error{retry.Permanent(failure)}, failure, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				err := retry.Do(t.Context(), retry.Policy{Initial: time.Second, NoJitter: true}, func(context.Context) error {
					calls++
					return c.errs[calls-1]
				})
				assert.ErrorIs(t, err, c.want)
				assert.Equal(t, c.calls, calls)
				assert.Equal(t, c.took, time.Since(began))
			})
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure, reason := errors.New("failed"), errors.New("no longer wanted")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, reason)
		defer cancel()
		began, calls := time.Now(), 0
		fn := func(context.Context) error { calls++; return failure }
		err := retry.Do(ctx, retry.Policy{Initial: time.Hour, Max: time.Hour}, fn)
		require.ErrorIs(t, err, reason)
		require.ErrorIs(t, err, failure)
		assert.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, retry.Do(ctx, retry.Policy{}, fn), reason)
		assert.Equal(t, 1, calls)
	})
}

func TestDoOfAnInvalidPolicy(t *testing.T) {
	err := retry.Do(t.Context(), retry.Policy{MaxAttempts: -1}, func(context.Context) error { panic("called") })
	field, ok := errors.AsType[*fault.FieldError](err)
	require.True(t, ok)
	assert.Equal(t, "MaxAttempts", field.Field)
}
