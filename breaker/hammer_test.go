package breaker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
)

// Many goroutines probe a breaker that never closes: there are never more
// probes than it allows, and in the end none is missing.
func TestHammerProbes(t *testing.T) {
	const goroutines, calls, probes = 16, 2000, 3
	b, _ := halfOpen(t, breaker.Config{Probes: probes, Successes: 1 << 30})
	var under, most, admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for range calls {
				err := b.Do(t.Context(), func(context.Context) error {
					n := under.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					runtime.Gosched()
					under.Add(-1)
					admitted.Add(1)
					return []error{nil, context.Canceled, hit(true)}[rnd.IntN(3)]
				})
				if errors.Is(err, breaker.ErrOpen) {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	s := b.Stats()
	assert.LessOrEqual(t, most.Load(), int64(probes))
	assert.Zero(t, b.Probes())
	assert.Zero(t, s.InFlight)
	assert.Equal(t, int64(goroutines*calls), admitted.Load()+refused.Load())
	assert.Equal(t, admitted.Load()+1, s.Admitted)
	assert.Equal(t, refused.Load(), s.Refused)
	for range probes {
		allow(t, b)
	}
	assert.ErrorIs(t, do(t, b, nil), breaker.ErrOpen)
}

// Everything at once, through all states: nothing leaks, and the events tell
// one story in order.
func TestHammerAll(t *testing.T) {
	const goroutines, calls, probes = 16, 1500, 2
	var told diary
	b, err := breaker.New(breaker.Config{
		Failures: 3, Probes: probes, Open: 20 * time.Microsecond, MaxOpen: 80 * time.Microsecond, Observer: &told,
	})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range goroutines {
		rnd := rand.New(rand.NewPCG(uint64(i), 2))
		wg.Go(func() {
			for range calls {
				ticket, err := b.Allow(t.Context())
				if err != nil {
					open, ok := errors.AsType[*breaker.OpenError](err)
					if assert.True(t, ok) {
						assert.Positive(t, open.RetryAfter)
					}
					runtime.Gosched()
					continue
				}
				assert.LessOrEqual(t, b.Probes(), probes)
				if rnd.IntN(4) == 0 {
					runtime.Gosched()
				}
				switch rnd.IntN(5) {
				case 0, 1:
					assert.True(t, ticket.Failure(errDown))
				case 2, 3:
					assert.True(t, ticket.End(context.Background(), nil))
				default:
					assert.True(t, ticket.Cancel())
				}
				assert.False(t, ticket.Failure(errDown))
				if rnd.IntN(500) == 0 {
					b.Reset()
				}
			}
		})
	}
	wg.Wait()
	assert.Zero(t, b.Stats().InFlight)
	assert.Zero(t, b.Probes())
	next := map[event.Kind][]event.Kind{
		event.BreakerOpened:   {event.BreakerHalfOpen, event.BreakerClosed},
		event.BreakerHalfOpen: {event.BreakerOpened, event.BreakerClosed},
		event.BreakerClosed:   {event.BreakerOpened},
	}
	last := event.BreakerClosed
	for _, kind := range told.kinds() {
		require.Contains(t, next[last], kind)
		last = kind
	}
	require.NotEmpty(t, told.kinds())
}
