package quotatest_test

import (
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
)

// A store with an injected clock is judged to the nanosecond. One with a clock
// of its own gives time.Sleep as Pass, and says with Late how it rounds.
func ExampleRun() {
	_ = func(t *testing.T) { // TestMyStore
		t.Helper()
		quotatest.Run(t, func(testing.TB) quotatest.Subject {
			clock := clockwork.NewFakeClock()
			return quotatest.Subject{
				Store:     quota.NewMemoryStore(clock),
				Pass:      clock.Advance,
				StepClock: clock.Advance,
				Epoch:     clock.Now(),
			}
		})
	}
	// Output:
}
