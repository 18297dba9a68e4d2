package throttle_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

type queued func()

func (f queued) Queued() { f() }

// If the goroutine of a call ends in Queued, the call keeps no place in a queue, no permit and
// no units of a window.
func TestGoexitOnceQueued(t *testing.T) {
	for name, layers := range map[string]int{"one limiter": 1, "three at once": 3} {
		for _, when := range []string{"while it waits", "after it was served", "after it was refused"} {
			t.Run(name+", "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiters := make([]*throttle.Limiter, layers)
					for i := range limiters {
						limiters[i] = newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(2, time.Hour)}})
					}
					last := limiters[layers-1]
					held, err := last.Acquire(t.Context(), throttle.Cost{})
					require.NoError(t, err)
					done := make(chan struct{})
					go func() {
						defer close(done)
						_ = throttle.AcquireTold(t.Context(), limiters, queued(func() {
							switch when {
							case "after it was served":
								held.Release()
							case "after it was refused":
								last.Close(errors.New("closed"))
							}
							runtime.Goexit()
						}))
						t.Error("the goroutine was to end")
					}()
					<-done
					if when == "after it was refused" {
						last.Reopen()
					}
					if when != "after it was served" {
						held.Release()
					}
					for _, l := range limiters {
						s := l.Stats()
						assert.Zero(t, s.InFlight)
						assert.Zero(t, s.Waiting)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					require.NoError(t, throttle.AcquireTold(ctx, limiters, nil), "the next call is admitted")
				})
			})
		}
	}
}
