package benchmarks

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/headrace/headrace/throttle"
)

// A slotPool is a number of slots that can be resized, somehow.
type slotPool struct {
	name string
	make func(t *testing.T, n int) (slots slot, resize func(n int))
}

func slotPools() []slotPool {
	return []slotPool{
		{"headrace", func(t *testing.T, n int) (slot, func(n int)) {
			t.Helper()
			l := limiter(t, throttle.Limits{Concurrency: n})
			return headraceSlot{l}, func(n int) { assert.NoError(t, l.SetConcurrency(n)) }
		}},
		// It is made large, and a resize holds the difference; to
		// lower the size, it has to queue for the difference.
		{"x-sync-semaphore", func(t *testing.T, n int) (slot, func(n int)) {
			t.Helper()
			const all = 64
			s := semaphore.NewWeighted(all)
			held := int64(all - n)
			require.True(t, s.TryAcquire(held))
			return semaphoreSlot{s}, func(n int) {
				more := int64(all-n) - held
				held += more
				if more <= 0 {
					s.Release(-more)
					return
				}
				go s.Acquire(t.Context(), more) //nolint:errcheck // it has it, or the test ends
				synctest.Wait()
			}
		}},
	}
}

// TestSlotsResized has 1,000 calls of 100 ms each want 64 slots, makes that 4
// slots halfway through the first, and 64 again after a second. In the 100 ms
// after it was lowered 4 calls should begin; when it is raised, 60 at once.
func TestSlotsResized(t *testing.T) {
	for _, p := range slotPools() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots, resize := p.make(t, 64)
				var begun atomic.Int64
				ctx, cancel := context.WithCancel(t.Context())
				q := enqueue(t, 1_000, func(context.Context) error {
					held, err := slots.take(ctx)
					if err != nil {
						return err
					}
					begun.Add(1)
					time.Sleep(100 * time.Millisecond)
					slots.give(held)
					return nil
				})
				require.EqualValues(t, 64, begun.Load())
				time.Sleep(50 * time.Millisecond)
				resize(4)
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				lowered := begun.Load() - 64
				time.Sleep(900 * time.Millisecond)
				synctest.Wait()
				before := begun.Load()
				resize(64)
				synctest.Wait()
				raised := begun.Load() - before
				cancel()
				q.dissolve()
				note(t, "after-lowering", float64(lowered))
				note(t, "after-raising", float64(raised))
				if p.name == "headrace" {
					assert.EqualValues(t, 4, lowered)
					assert.EqualValues(t, 60, raised)
				}
			})
		})
	}
}
