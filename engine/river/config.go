package riverguard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Config describes how jobs are guarded. Only Guard is required.
type Config struct {
	// Guard admits the jobs and learns from their errors. Its Policy.Retry does not
	// apply, because River repeats jobs. Its Policy.Timeout ends the context of a
	// job's Work; a Work that has not returned a second later keeps its worker, but
	// not its slot in the guard. Without a timeout, the slot is released after an
	// hour.
	Guard *guard.Guard

	// Cost returns what a job takes from the limits. Nil means one request.
	Cost func(job *rivertype.JobRow) throttle.Cost

	// Hold is how long a job may wait for its turn in a worker before it is snoozed.
	// A job that was snoozed n times may wait n+1 times as long, so that it is
	// eventually admitted, but at most ten minutes, and with Queue at most half of
	// what River's RescueStuckJobsAfter leaves beside JobTimeout. Default 10 s.
	Hold time.Duration
}

// owner names this package in errors.
const owner = "riverguard"

const (
	defaultHold = 10 * time.Second
	longestHold = 10 * time.Minute
	// stuckAfter is when a Work without a timeout is regarded as hung. It is River's default
	// for jobs that it regards as stuck.
	stuckAfter = time.Hour
)

// middleware returns the Middleware of c. longest bounds what Hold grows to.
func (c Config) middleware(longest time.Duration) (*Middleware, error) {
	var problems []error
	if c.Guard == nil {
		problems = append(problems, &fault.FieldError{Owner: owner, Field: "Guard", Problem: "is required"})
	}
	if c.Hold < 0 || c.Hold > longest {
		problems = append(problems, &fault.FieldError{Owner: owner, Field: "Hold", Problem: fmt.Sprintf("%s must be between 0 and %s", c.Hold, longest)})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &Middleware{
		guard: c.Guard, cost: c.Cost,
		hold: min(cmp.Or(c.Hold, defaultHold), longest), longest: longest,
	}, nil
}

// holdOf returns the most that a job of a queue may wait in its worker, so that
// River does not take it for stuck while it waits or works.
func holdOf(to *river.Config) time.Duration {
	timeout := cmp.Or(to.JobTimeout, river.JobTimeoutDefault)
	rescue := to.RescueStuckJobsAfter
	if rescue == 0 {
		rescue = time.Hour
		if timeout > rescue {
			rescue += timeout
		}
	}
	return max(min((rescue-max(timeout, 0))/2, longestHold), time.Millisecond)
}
