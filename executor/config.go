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
	Name        string       // in errors, events and the IDs of tasks, which repeat in executors of one name; default "executor"
	Policy      guard.Policy // of all calls together; Policy.Name defaults to Name
	Queue       int          // most tasks in the queue; default 1,000, at most 16,777,216
	Concurrency int          // most calls at the same time; default Policy.Limits.Concurrency or 10, at most 1,048,576
	Keep        int          // bytes of a payload and of a response body in Info; default 4 KiB, negative means none
}

// Validate reports all problems, joined, each a *fault.FieldError.
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

// guards returns the guard of all calls, and the same guard without retries: Run makes one attempt for callers that retry on
// their own.
func (c Config) guards() (all, once *guard.Guard, err error) {
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
