package servicestore_test

import (
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/servicestore"
)

// The clock of the server stands still: every answer is judged to the nanosecond, across two connections.
func TestStore(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
				tb.Helper()
				clock := clockwork.NewFakeClock()
				l, address := listen(tb, network)
				serve(tb, l, grpcserve.Config{Store: quota.NewMemoryStore(clock)})
				return quotatest.Subject{
					Store:     open(tb, address, servicestore.WithTimeout(forGood)),
					Peer:      func() quota.Store { return open(tb, address, servicestore.WithTimeout(forGood)) },
					Pass:      clock.Advance,
					StepClock: clock.Advance,
					Epoch:     clock.Now(),
				}
			})
		})
	}
}
