package quotatest_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
)

// A clock that stands still: every answer is judged to the nanosecond.
func TestMemoryStore(t *testing.T) {
	quotatest.Run(t, func(testing.TB) quotatest.Subject {
		clock := clockwork.NewFakeClock()
		return quotatest.Subject{
			Store:     quota.NewMemoryStore(clock),
			Pass:      clock.Advance,
			StepClock: clock.Advance,
			Epoch:     clock.Now(),
			Histories: 50,
		}
	})
}

// creeping is a clock that goes on by up to most whenever it is read, as a real
// one does between two steps of a test, on a machine that slow.
type creeping struct {
	*clockwork.FakeClock
	most  time.Duration
	crept *atomic.Int64
}

func (c creeping) Since(t time.Time) time.Duration {
	c.crept.Add(rand.Int64N(int64(c.most)))
	return c.FakeClock.Since(t) + time.Duration(c.crept.Load())
}

// The suite demands nothing that a slow machine breaks.
func TestMemoryStoreOnASlowMachine(t *testing.T) {
	for _, most := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		t.Run(most.String(), func(t *testing.T) {
			quotatest.Run(t, func(testing.TB) quotatest.Subject {
				// an hour of the calendar ends on the way
				clock := creeping{clockwork.NewFakeClockAt(time.Date(2026, 11, 22, 20, 59, 59, 900_000_000, time.UTC)), most, new(atomic.Int64)}
				store := quota.NewMemoryStore(clock)
				return quotatest.Subject{
					Store:     store,
					Pass:      clock.Advance,
					Peer:      func() quota.Store { return store },
					StepClock: clock.Advance,
					Epoch:     clock.Now(),
					Histories: 20,
				}
			})
		})
	}
}
