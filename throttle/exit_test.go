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

// exiting is a law whose OnSend calls runtime.Goexit, once.
type exiting struct {
	law

	in int // calls of OnSend until then
}

func (e *exiting) OnSend(now time.Time, s throttle.Sent) {
	if e.in--; e.in == 0 {
		runtime.Goexit()
	}
	e.law.OnSend(now, s)
}

// A waiting call of two limiters is about to be admitted when the law of the second
// one ends the goroutine. The slot of the first is returned, and the call is retried.
func TestGoexitInTheLawOfAWaitingJointCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newLimiter(t, throttle.Limits{Concurrency: 1})
		second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{in: 1}))
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

// The same for a call that need not wait, which is lost with its goroutine.
func TestGoexitInTheLawOfAJointCall(t *testing.T) {
	first := newLimiter(t, throttle.Limits{Concurrency: 1})
	second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{in: 1}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = all(t.Context(), first, second)
		t.Error("the goroutine was to end")
	}()
	<-done
	assert.Zero(t, first.Stats().InFlight)
	assert.Zero(t, second.Stats().InFlight)
}

// The goroutine that ends was to admit the next call in the queue, which is admitted later.
func TestGoexitInTheLawOfAWaitingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{in: 2}))
		held, err := l.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, held.Release)
		next, err := l.Acquire(ctx, throttle.Cost{})
		require.NoError(t, err)
		next.Release()
		assert.Zero(t, l.Stats().InFlight)
	})
}
