package rival

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// oracle knows the provider and sends each call at the first moment at which it
// would be admitted. No schedule admits more calls of one size: to take a call
// earlier never leaves less room in a bucket, a window or a log later.
//
// It sees all limits as they are, waits for the end of an outage, foresees which
// calls an error will strike, and stays one call below the queue of a server that
// sheds. A client that lets small calls pass large ones may get more calls through.
type oracle struct {
	provider           *provider.Provider
	process, processes int
}

// Oracle returns what an omniscient client gets.
func Oracle() client.Contender {
	return client.Contender{Name: "oracle", Omniscient: true, New: func(s client.Seat) (client.Policy, error) {
		return oracle{s.Provider, s.Process, s.Processes}, nil
	}}
}

// late keeps the oracle off the very instant at which a bucket has refilled.
const late = time.Microsecond

// Admit implements client.Policy.
func (o oracle) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	if limit := o.provider.Cap; limit > 0 && inFlight >= (limit+o.process)/o.processes { // the shares add up to the cap
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
