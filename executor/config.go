package executor

import (
	"cmp"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
)

// The defaults of a Config.
const (
	defaultQueue       = 1000
	defaultConcurrency = 10
	defaultKeep        = 4 << 10
)

const (
	maxQueue       = 1 << 24 // at a kilobyte each that is 16 GB
	maxConcurrency = 1 << 20
)

// Config describes an executor. The zero Config is ready to use.
type Config struct {
	// Name identifies the executor in errors, events and the IDs of tasks. Empty means "executor".
	Name string

	// Policy describes how calls are made. Its limits, retries and breaker apply
	// to all tasks together; to share limits with other callers, name their guard
	// in Policy.Within. Policy.Name defaults to Name. The observer of the policy
	// receives the events of the executor as well, and its clock is the executor's.
	Policy guard.Policy

	// Queue is the number of tasks that may wait in the queue. 0 means 1,000; the
	// maximum is 16,777,216.
	Queue int

	// Concurrency is the number of calls that run at the same time. A task counts
	// from when it leaves the queue, but not between two attempts, nor while it
	// waits for a guard of its own (Within). 0 means Policy.Limits.Concurrency or,
	// if that is 0 too, 10; the maximum is 1,048,576.
	Concurrency int

	// Keep is the number of bytes that Task.Info shows of a payload and of a
	// response body, each. 0 means 4 KiB, a negative number none.
	Keep int
}

// Validate reports every problem at once, each as a *fault.FieldError that names its field.
func (c Config) Validate() error {
	c = c.filled()
	p := invalid.Problems{Owner: "executor: " + c.Name}
	between(&p, "Queue", c.Queue, maxQueue, "for the default of 1,000")
	between(&p, "Concurrency", c.Concurrency, maxConcurrency, "for Policy.Limits.Concurrency, or 10")
	if n := c.Policy.Limits.Concurrency; n > 0 && n != c.Concurrency {
		p.Addf("Concurrency", "%d contradicts the %d of Policy.Limits.Concurrency: leave one of them out", c.Concurrency, n)
	}
	p.AddPart("Policy", c.Policy.Validate())
	return p.Err()
}

func between(p *invalid.Problems, field string, n, most int, or string) {
	if n < 0 || n > most {
		p.Addf(field, "%d is not between 1 and %d; 0 stands %s", n, most, or)
	}
}

// filled is c with the defaults.
func (c Config) filled() Config {
	c.Name = cmp.Or(c.Name, "executor")
	c.Policy.Name = cmp.Or(c.Policy.Name, c.Name)
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	c.Concurrency = cmp.Or(c.Concurrency, max(0, c.Policy.Limits.Concurrency), defaultConcurrency)
	c.Keep = max(0, cmp.Or(c.Keep, defaultKeep))
	return c
}

// guards are the guard of all calls, and the same without its retries: Run
// makes one attempt for callers that retry on their own.
func (c Config) guards() (all, once *guard.Guard, err error) {
	c.Policy.Limits.Concurrency = c.Concurrency // a task that looks ahead has no slot to bound it
	all, err = guard.New(c.Policy)
	if err != nil {
		return nil, nil, err
	}
	once, err = guard.New(guard.Policy{
		Name: c.Policy.Name, Within: []*guard.Guard{all}, Retry: &retry.Policy{MaxAttempts: 1},
		Clock: c.Policy.Clock, Observer: c.Policy.Observer,
	})
	return all, once, err
}
