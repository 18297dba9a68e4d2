package guard_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

func TestAUsedUpQuotaClosesTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		var wg sync.WaitGroup
		var called, unsent atomic.Int64
		quota := &sdkError{StatusCode: 429, Code: "insufficient_quota", message: "You exceeded your current quota"}
		wg.Go(func() {
			err := do(t.Context(), l, func(context.Context) error {
				time.Sleep(time.Second)
				return quota
			})
			assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			assert.ErrorIs(t, err, quota)
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				err := do(t.Context(), l, func(context.Context) error { called.Add(1); return nil })
				if assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted) {
					unsent.Add(1)
				}
				assert.ErrorIs(t, err, quota, "the provider's words")
			})
		}
		wg.Wait()
		assert.Zero(t, called.Load(), "no call is sent while the guard closes")
		assert.Equal(t, int64(20), unsent.Load())
		assert.ErrorIs(t, do(t.Context(), l, ok(0)), adaptive.ErrQuotaExhausted)

		require.NoError(t, l.Reset())
		assert.NoError(t, do(t.Context(), l, ok(0)))
	})
}

func TestARejectedCallThatWaitsFailsWhenTheQuotaIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(2))
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.ErrorIs(t, do(t.Context(), l, func(context.Context) error {
				time.Sleep(2 * time.Second)
				return statusError(402)
			}), adaptive.ErrQuotaExhausted)
		})
		synctest.Wait()
		fn, calls := rejectedOnce(time.Minute)
		wg.Go(func() {
			assert.ErrorIs(t, do(t.Context(), l, fn), adaptive.ErrQuotaExhausted)
			assert.Equal(t, int64(1), calls.Load())
		})
		wg.Wait()
	})
}

func TestAUsedUpQuotaAndALongRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error
		first string
	}{
		"quota last":  {[]error{&adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}, statusError(402)}, "retry after 11m"},
		"quota first": {[]error{statusError(402), &adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}}, "quota exhausted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, guard.Policy{})
				answers(t, l, c.errs...)
				time.Sleep(58 * time.Second)
				require.ErrorContains(t, do(t.Context(), l, ok(0)), c.first)
				time.Sleep(time.Second)
				require.NoError(t, do(t.Context(), l, ok(0)))
			})
		})
	}
}

func TestAReportedUsedUpQuota(t *testing.T) {
	l := made(t, guard.Policy{Name: "api"})
	err := do(t.Context(), l, func(ctx context.Context) error {
		guard.Report(ctx, of(adaptive.Terminal))
		return nil
	})
	assert.EqualError(t, err, `adaptive: quota exhausted: guard "api"`)
	assert.True(t, errors.Is(err, adaptive.ErrQuotaExhausted))
}
