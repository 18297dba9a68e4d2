package storetest_test

import (
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/throttle"
	"github.com/headrace/headrace/throttle/storetest"
)

// A store with an injected clock is judged to the nanosecond. One with a clock
// of its own gives time.Sleep as Pass, and says with Late how it rounds.
func ExampleRun() {
	_ = func(t *testing.T) { // TestMyStore
		t.Helper()
		storetest.Run(t, func(testing.TB) storetest.Subject {
			clock := clockwork.NewFakeClock()
			return storetest.Subject{
				Store:     throttle.NewMemoryStore(clock),
				Pass:      clock.Advance,
				StepClock: clock.Advance,
				Epoch:     clock.Now(),
			}
		})
	}
	// Output:
}
