package provider

import "time"

// Answer is what the client gets to see.
type Answer struct {
	Admitted    bool
	RetryAfter  time.Duration // 0: absent
	Concurrency bool          // a refusal that names the cap
	Requests    Meter
	Tokens      Meter
}

// Meter is what the headers of an answer say about one unit.
type Meter struct {
	Known     bool
	Limit     int64         // per minute
	Remaining int64         // rounded down
	Reset     time.Duration // until all of it is there again
}

// Cause is why a call was refused, which only the ledger gets to see.
type Cause uint8

const (
	// None is of calls that were admitted.
	None Cause = iota
	// Limited is for a limit that was reached.
	Limited
	// Unlucky is at random: no limit stood against it.
	Unlucky
)
