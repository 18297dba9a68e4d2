package rival

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// oracle knows the provider. Under a cap it keeps a semaphore of exactly its
// share, with the delay of the network that everybody has; the rates it sees
// without delay, which is an upper bound.
type oracle struct {
	provider  *provider.Provider
	processes int
}

// Oracle returns what an omniscient client gets.
func Oracle() client.Contender {
	return client.Contender{Name: "oracle", Omniscient: true, New: func(s client.Seat) (client.Policy, error) {
		return oracle{s.Provider, s.Processes}, nil
	}}
}

// late keeps the oracle off the very instant at which a bucket has refilled.
const late = time.Microsecond

// Admit implements client.Policy.
func (o oracle) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	if limit := o.provider.Cap; limit > 0 {
		if inFlight < limit/o.processes {
			return 0
		}
		return client.Forever
	}
	wait := o.provider.Wait(now, c.Reserved)
	if wait > 0 && wait < client.Forever {
		wait += late
	}
	return wait
}

// Slack implements client.Policy.
func (o oracle) Slack(time.Duration) {}

// Sent implements client.Policy.
func (o oracle) Sent(time.Duration, *client.Call) {}

// Answered implements client.Policy.
func (o oracle) Answered(time.Duration, *client.Call, int, *provider.Answer) (backoff time.Duration, keep bool) {
	return 0, false
}
