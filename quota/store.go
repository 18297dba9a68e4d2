package quota

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Store keeps limits for several processes. Every method is atomic and safe for concurrent use. Time
// is the store's own: callers pass only durations. A context that ends makes a method return its
// cause; units taken at that moment are given back, or their lease lapses. A Store may also be an
// Inspector and a Waker.
type Store interface {
	// Take admits a call under all demands of r at one instant, or under none: then Grant.Wait says when
	// to ask again. The limits of the demands apply from now on in either case. If r.Validate returns an
	// error, so does Take, and nothing changes.
	Take(ctx context.Context, r Request) (Grant, error)
	// End corrects a ticket to the actual costs, one for each demand in their order, and ends its lease. A
	// nil actual keeps the costs as reserved. Refunds are limited to what the ticket took and its windows
	// still count; excess use is charged, even if a window goes below zero.
	//
	// A lease that has lapsed or ended is ErrLeaseLost, and nothing changes. A ticket without a lease is
	// not remembered: end it at most once, and not at all if it cost what was reserved. A Ticket without
	// an ID is ignored.
	End(ctx context.Context, t Ticket, actual []throttle.Cost) error
	// Cancel is End for a call that was never sent: everything is given back.
	Cancel(ctx context.Context, t Ticket) error
	// Renew extends leases to the given time from now, and returns the tickets with a lease that has lapsed or
	// ended, which is not an error. Tickets without a lease are ignored. A key that cannot be read is an error; leases
	// of other keys are renewed.
	Renew(ctx context.Context, tickets []Ticket, lease time.Duration) (lost []Ticket, err error)
	// Cooldown admits no call on key for d. It never shortens a cooldown.
	Cooldown(ctx context.Context, key string, d time.Duration) error
}

// Request is the argument of Store.Take.
type Request struct {
	Demands []Demand // at least one, with distinct keys
	// Lease is when a slot lapses unless it is renewed, if a demand has a concurrency.
	Lease time.Duration
	Peek  bool // change nothing, not even limits; the grant has no ticket
	Uses  bool // fill in Grant.Uses
}

// Demand is what a call asks of one key.
type Demand struct {
	Key string // not empty
	// Limits of the key. If callers state different ones, the last ones apply and
	// history is kept, as by throttle.Limiter.SetLimits.
	Limits throttle.Limits
	Cost   throttle.Cost
}

// Grant is the answer to a Take.
type Grant struct {
	// Wait is 0 if everything was taken, or else when to ask again: exact for windows
	// and a cooldown; for a slot, a poll interval up to the end of the first lease.
	Wait   time.Duration
	Bound  throttle.Bound // what the call waits for, at the longest
	Demand int            // the index of the demand of Bound
	Ticket Ticket         // what was taken
	// Uses is the use of each window after this Take, by demand and window. It is
	// nil unless Request.Uses was set.
	Uses [][]throttle.WindowUse
	// Degraded is why the grant was made without the store; nil if it was asked. See Fallback.
	Degraded error
}

// Ticket identifies what was taken from a store. Another process may renew and end it.
type Ticket struct {
	ID string // unique in the store; empty if nothing was taken
	// At is when it was taken, in nanoseconds since an origin of the store's choice.
	// For tickets that share a key it never decreases.
	At int64
	// Token increases with each ticket that shares a key with a concurrency, so that
	// a resource can reject the holder of a lost lease (fencing).
	Token   int64
	Demands []Demand
}

// Leased reports whether one of its demands has a concurrency.
func (t Ticket) Leased() bool { return leased(t.Demands) }

// ErrLeaseLost is matched by the errors of End and Cancel for a lease that has lapsed or ended.
var ErrLeaseLost = errors.New("quota: lease lost")
