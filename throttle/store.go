package throttle

import (
	"context"
	"errors"
	"time"
)

// Store keeps limits where several processes reach them, so that all of them
// together stay within one quota. Each method is one atomic step for everybody
// who uses the same store, and safe for concurrent use. Time is the store's
// own: what passes through here are durations, and instants that mean nothing
// to anybody else. A context that ends makes a method return its cause; what
// was taken in the same moment is given back, or expires.
//
// Package storetest holds what every Store has to pass.
type Store interface {
	// Take admits a call by all demands at one instant, or by none: then
	// nothing was taken and the grant says how long to wait. If a demand has a
	// concurrency, what was taken is also a lease on it, which lapses after
	// the given time unless it is renewed or ended; without one lease is
	// ignored. What ValidateTake says of the demands is returned, and then
	// nothing changes; else their limits hold from now on, also if the call
	// has to wait.
	Take(ctx context.Context, demands []Demand, lease time.Duration) (Grant, error)
	// Peek is what Take would return, but changes nothing: its grant has no
	// ticket, and the limits of a key stay as they were.
	Peek(ctx context.Context, demands []Demand) (Grant, error)
	// End settles a ticket to what the call really cost, one cost for each
	// demand in their order, or leaves it as it was reserved if actual is nil;
	// and it ends the lease. A lease that has lapsed or ended is ErrLeaseLost,
	// and nothing changes: what it held is somebody else's by now. A ticket
	// without a lease is remembered by nobody: ended twice, it is settled
	// twice, so whoever holds it ends it once or, if it cost what was reserved,
	// not at all. The Ticket without an ID is ended by doing nothing.
	End(ctx context.Context, t Ticket, actual []Cost) error
	// Cancel is End for a call that was never sent: everything is given back.
	Cancel(ctx context.Context, t Ticket) error
	// Renew makes leases last for another while from now, and returns the
	// tickets whose lease was lost: they lapsed before, or were ended. That
	// alone is no error. Tickets without a lease have none to lose.
	Renew(ctx context.Context, tickets []Ticket, lease time.Duration) (lost []Ticket, err error)
	// Cooldown lets nobody take from key for d. It only ever lengthens a
	// cooldown, so that of several callers the longest holds.
	Cooldown(ctx context.Context, key string, d time.Duration) error
}

// Grant is the answer to a Take.
type Grant struct {
	// Wait is 0 if everything was taken. Otherwise it is when another try is
	// worth it: exactly, for windows and a cooldown. A slot becomes free when
	// somebody ends a lease, which a store cannot announce; if that is all
	// that is missing, Wait is how soon it wants to be asked again, and not
	// later than when the first of the leases lapses.
	Wait   time.Duration
	Bound  Bound  // what makes it wait; of several the one that does so longest
	Demand int    // whose bound that is
	Ticket Ticket // what was taken
}

// Ticket names what was taken from a store. It can be handed to another
// process, which may then renew and end it.
type Ticket struct {
	ID string // unique in the store; empty for nothing
	// At is when it was taken, by the store's clock, in nanoseconds since a
	// moment of the store's choice. It never decreases from one Take to the next.
	At int64
	// Token is larger than that of every ticket before on any of its keys that
	// has a concurrency. A resource that remembers the largest it has seen can
	// turn away the holder of a lease that was lost (fencing).
	Token   int64
	Demands []Demand
}

// Leased reports whether the ticket is a lease: whether one of its demands has a concurrency.
func (t Ticket) Leased() bool { return leased(t.Demands) }

// ErrLeaseLost is matched by what End and Cancel say of a lease that lapsed or was ended.
var ErrLeaseLost = errors.New("throttle: lease lost")
