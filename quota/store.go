package quota

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Store keeps limits where several processes can reach them. Every method is
// atomic and safe for concurrent use. Time is the store's own: only durations,
// and instants of its own clock, pass through here. A context that ends makes a
// method return its cause; what was taken at that moment is given back, or
// its lease lapses.
//
// A Store may also be an Inspector and a Waker.
type Store interface {
	// Take admits a call under all demands of r at one instant, or under none:
	// then nothing was taken and Grant.Wait says when to ask again. The limits of
	// the demands apply from now on, also if the call has to wait. If r.Validate
	// returns an error, so does Take, and nothing changes.
	Take(ctx context.Context, r Request) (Grant, error)
	// End corrects a ticket to the actual costs, one for each demand in their
	// order, and ends its lease. If actual is nil, the costs stay as reserved.
	// What is given back never exceeds what the ticket took and its windows still
	// count; what was used besides is charged, even if a window goes below zero.
	//
	// A lease that has lapsed or ended is ErrLeaseLost; then nothing changes,
	// since its slot may be taken by another call. A ticket without a lease is not
	// remembered: ended twice, it is corrected twice. So end it once or, if it
	// cost what was reserved, not at all. Ending a Ticket without an ID does nothing.
	End(ctx context.Context, t Ticket, actual []throttle.Cost) error
	// Cancel is End for a call that was never sent: everything is given back.
	Cancel(ctx context.Context, t Ticket) error
	// Renew makes leases last for the given time from now, and returns the
	// tickets whose lease has lapsed or was ended. That alone is not an error.
	// Tickets without a lease cannot lose one.
	Renew(ctx context.Context, tickets []Ticket, lease time.Duration) (lost []Ticket, err error)
	// Cooldown admits no call on key for d. It never shortens a cooldown.
	Cooldown(ctx context.Context, key string, d time.Duration) error
}

// Request is the argument of Store.Take.
type Request struct {
	Demands []Demand // at least one, each of another key
	// Lease is for how long a slot is taken, if a demand has a concurrency: it
	// lapses then, unless it is renewed or ended. It is ignored otherwise.
	Lease time.Duration
	Peek  bool // change nothing, not even limits; the grant has no ticket
	Uses  bool // fill in Grant.Uses
}

// Demand is what a call asks of one key.
type Demand struct {
	Key string // what is limited: a user, a host, a whole service; not empty
	// Limits of the key. All callers should state the same ones. If they differ,
	// the last ones apply and history is kept, as by throttle.Limiter.SetLimits.
	Limits throttle.Limits
	Cost   throttle.Cost
}

// Grant is the answer to a Take.
type Grant struct {
	// Wait is 0 if everything was taken. Otherwise it is when to ask again:
	// exactly, for windows and a cooldown. When a slot becomes free cannot be
	// known; if only that is missing, Wait is a poll interval of the store's
	// choice that does not exceed the remaining time of the first lease.
	Wait   time.Duration
	Bound  throttle.Bound // what the call waits for; if for several, what lasts longest
	Demand int            // the index of the demand that it belongs to
	Ticket Ticket         // what was taken
	// Uses says how much of each window is taken after this Take, in the order of
	// the demands and of their windows. It is nil unless Request.Uses was set.
	Uses [][]throttle.WindowUse
	// Degraded is why the answer is weaker than the store promises, as while it
	// cannot be reached; empty if it is not. It is for logs and statistics.
	Degraded string
}

// Ticket names what was taken from a store. Another process may renew and end it.
type Ticket struct {
	ID string // unique in the store; empty if nothing was taken
	// At is when it was taken, by the store's clock, in nanoseconds since a moment
	// of the store's choice. Of two tickets that share a key the later one's is
	// not smaller.
	At int64
	// Token is larger than that of every earlier ticket that shares a key with a
	// concurrency. A resource that remembers the largest token can reject the
	// holder of a lost lease (fencing).
	Token   int64
	Demands []Demand
}

// Leased reports whether the ticket is a lease: whether one of its demands has a concurrency.
func (t Ticket) Leased() bool { return leased(t.Demands) }

// ErrLeaseLost is matched by the errors of End and Cancel for a lease that has lapsed or was ended.
var ErrLeaseLost = errors.New("quota: lease lost")
