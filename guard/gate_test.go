package guard_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

// together is how many of n calls are sent at the instant of the first.
func together(t *testing.T, l *guard.Guard, n int) (same int) {
	t.Helper()
	var mu sync.Mutex
	var sent []time.Time
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			assert.NoError(t, do(t.Context(), l, func(context.Context) error {
				mu.Lock()
				sent = append(sent, time.Now())
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				return nil
			}))
		})
	}
	wg.Wait()
	for _, at := range sent {
		if at.Equal(sent[0]) {
			same++
		}
	}
	return same
}

// No round trip is known yet: the pause ends over one second, in which the ten
// calls that may be in flight are sent one at a time.
func TestAPauseEndsStepByStepWithoutASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 20}})
		var mu sync.Mutex
		var sent []time.Time
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				rejected := false
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					if !rejected {
						rejected = true
						time.Sleep(time.Millisecond) // all are in flight
						return &adaptive.RateLimitHit{RetryAfter: time.Second}
					}
					mu.Lock()
					sent = append(sent, time.Now())
					mu.Unlock()
					return nil
				}))
			})
		}
		wg.Wait()
		require.Len(t, sent, 20)
		for i, at := range sent {
			assert.Equal(t, min(time.Duration(i)*100*time.Millisecond, time.Second), at.Sub(sent[0]), i)
		}
	})
}

func TestAPauseFromBeforeAResetEndsStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 8}})
		var wg sync.WaitGroup
		wg.Go(func() {
			fn, _ := rejectedOnce(10 * time.Second)
			assert.NoError(t, do(t.Context(), l, fn))
		})
		synctest.Wait()
		require.NoError(t, l.Reset())
		assert.Equal(t, 1, together(t, l, 8))
		wg.Wait()
	})
}
