package throttle_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// exiting is a law whose first OnSend calls runtime.Goexit.
type exiting struct {
	law

	exited bool
}

func (e *exiting) OnSend(now time.Time, s throttle.Sent) {
	if !e.exited {
		e.exited = true
		runtime.Goexit()
	}
	e.law.OnSend(now, s)
}

// A waiting call of two limiters is about to be admitted when the law of the second
// one ends the goroutine. The slot of the first is returned, and the call is retried.
func TestGoexitInTheLawOfAWaitingJointCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newLimiter(t, throttle.Limits{Concurrency: 1})
		second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{}))
		held, err := first.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error)
		go func() {
			end, err := all(ctx, first, second)
			if err == nil {
				end()
			}
			done <- err
		}()
		synctest.Wait()
		go held.Release()
		require.NoError(t, <-done)
		for _, l := range []*throttle.Limiter{first, second} {
			assert.Zero(t, l.Stats().InFlight)
			assert.Zero(t, l.Stats().Waiting)
		}
	})
}
