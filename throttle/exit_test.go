package throttle_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// exiting is a controller that calls runtime.Goexit in OnSend for some of the calls.
type exiting struct {
	law

	first, last int // of those calls, from 1
	sent        int
}

func (e *exiting) OnSend(now time.Time, s throttle.Sent) {
	if e.sent++; e.first <= e.sent && e.sent <= e.last {
		runtime.Goexit()
	}
	e.law.OnSend(now, s)
}

// A waiting call of two limiters is about to be admitted when the controller of the second
// one ends the goroutine. The slot of the first is returned, and the call is retried.
func TestGoexitInTheLawOfAWaitingJointCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newLimiter(t, throttle.Limits{Concurrency: 1})
		second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{first: 1, last: 1}))
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
	second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{first: 1, last: 1}))
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
		l := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exiting{first: 2, last: 2}))
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

// A law that ends every goroutine admits no call, and its limiter neither recurses
// nor spins: the calls end with their contexts.
func TestGoexitInALawEachTime(t *testing.T) {
	for _, joint := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := &exiting{first: 2, last: math.MaxInt}
			limiters := []*throttle.Limiter{newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(e))}
			if joint {
				limiters = append(limiters, newLimiter(t, throttle.Limits{Concurrency: 1}))
			}
			held, err := limiters[0].Acquire(t.Context(), throttle.Cost{})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			time.AfterFunc(time.Microsecond, held.Release)
			require.ErrorIs(t, throttle.AcquireTold(ctx, limiters, nil), context.DeadlineExceeded)
			assert.InDelta(t, 1000, e.sent, 10)
			synctest.Wait()
			for _, l := range limiters {
				assert.Zero(t, l.Stats().InFlight)
				assert.Zero(t, l.Stats().Waiting)
			}
		})
	}
}

// exitingWhenSlack is a controller that calls runtime.Goexit in one call of Slack.
type exitingWhenSlack struct {
	law

	at int // which call, from 1
}

func (e *exitingWhenSlack) Slack(time.Time) {
	if e.at--; e.at == 0 {
		runtime.Goexit()
	}
}

// Whenever a controller ends the goroutine of a call, no place in a queue is left, which would be given a slot later.
func TestGoexitInALawLeavesNoCallBehind(t *testing.T) {
	for at := 1; at <= 20; at++ {
		synctest.Test(t, func(t *testing.T) {
			first := newLimiter(t, throttle.Limits{Concurrency: 1})
			second := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithGovernor(&exitingWhenSlack{at: at}))
			held, err := second.Acquire(t.Context(), throttle.Cost{})
			require.NoError(t, err)
			var wg sync.WaitGroup
			wg.Go(func() {
				end, err := all(t.Context(), first, second)
				if assert.NoError(t, err) {
					end()
				}
			})
			synctest.Wait()
			wg.Go(func() {
				p, err := second.Acquire(t.Context(), throttle.Cost{})
				if assert.NoError(t, err) {
					p.Release()
				}
			})
			synctest.Wait()
			wg.Go(held.Release)
			wg.Wait()
			time.Sleep(time.Second)
			for _, l := range []*throttle.Limiter{first, second} {
				assert.Zero(t, l.Stats().InFlight, at)
				assert.Zero(t, l.Stats().Waiting, at)
			}
		})
	}
}
