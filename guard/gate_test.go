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

func TestAPauseEndsStepByStepWithoutASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 20}})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				fn, _ := rejectedOnce(time.Second)
				assert.NoError(t, do(t.Context(), l, fn))
			})
		}
		synctest.Wait()
		assert.Equal(t, 1, together(t, l, 5))
		wg.Wait()
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
