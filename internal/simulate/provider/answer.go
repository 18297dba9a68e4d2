package provider

import "time"

// Answer is what the client gets to see.
type Answer struct {
	Admitted   bool
	Status     Status        // of a rejection
	RetryAfter time.Duration // 0: absent
	Limit      Limit         // that a refusal names
	Requests   Meter
	Tokens     Meter
}

// Meter is what the headers of an answer say about one unit.
type Meter struct {
	Known     bool
	Limit     int64         // of a minute, or of the quota's own time
	Remaining int64         // rounded down
	Reset     time.Duration // until all of it is there again
}

// Limit is the limit that a refusal names, rightly or not.
type Limit uint8

const (
	// Unnamed is of refusals that name none.
	Unnamed Limit = iota
	// Requests is a limit on calls per time.
	Requests
	// Tokens is one on tokens per time.
	Tokens
	// Concurrency is a cap on calls in flight.
	Concurrency
)

// Cause is why a call was refused, which only the ledger gets to see.
type Cause uint8

const (
	// None is of calls that were admitted.
	None Cause = iota
	// Limited is for a limit that was reached.
	Limited
	// Unlucky is at random: another call at the same moment may get through.
	Unlucky
)
