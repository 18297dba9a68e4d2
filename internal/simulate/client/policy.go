package client

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Forever is the wait that only an answer ends.
const Forever = provider.Forever

// Policy decides for one process when calls may go. Time is that of the world
// and never steps back.
type Policy interface {
	// Admit is asked about the call at the head of the line, with how many are
	// on the wire: 0 sends it, after a positive wait or the next answer it is
	// asked again.
	Admit(now time.Duration, c *Call, inFlight int) (wait time.Duration)
	// Slack reports that no call waits.
	Slack(now time.Duration)
	// Sent tells that Admit was followed.
	Sent(now time.Duration, c *Call)
	// Answered tells the answer and how many calls are still on the wire. A
	// refused call that is kept goes to the end of the line after backoff;
	// otherwise it is first in line at once.
	Answered(now time.Duration, c *Call, inFlight int, a *provider.Answer) (backoff time.Duration, keep bool)
}

// Gauge is what a policy shows of itself in a trace.
type Gauge struct {
	Window    float64 // calls in flight
	Pace      float64 // calls per second; 0: none
	TokenPace float64 // tokens per second; 0: none
	Bound     string  // what held back the call that was asked about last
}

// Gauged is a Policy that has something to show.
type Gauged interface{ Gauge() Gauge }

// Seat is what a policy gets when its process starts. A realistic policy must not
// use Provider or Setting.
type Seat struct {
	Start     time.Duration
	Seed      uint64
	Pool      int                // workers of policies with a fixed pool
	Process   int                // which of them this one is, from 0 on
	Processes int                // how many there will be in this world
	Apart     time.Duration      // how long one joins after the other
	Preset    Preset             // what the provider documents
	Items     int                // of the process; 0: more than it can send
	Provider  *provider.Provider // for the omniscient
	Setting   *Setting           // for those that know the limits
}

// Contender is a kind of policy.
type Contender struct {
	Name       string
	Headers    bool // the provider sends headers in its worlds
	Omniscient bool // it sees the provider and every change at once, its calls arrive at once, and no error at random strikes them
	New        func(Seat) (Policy, error)
}
