package breaker

import (
	"cmp"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

// The defaults of a Config. They are the ones of the design, chosen by
// judgement and not measured.
const (
	defaultFailures  = 5
	defaultSuccesses = 2
	defaultProbes    = 1
	defaultOpen      = 10 * time.Second
	defaultMaxOpen   = 60 * time.Second
)

// Config says when a breaker opens and closes. The zero value is ready to use.
type Config struct {
	// Name is the breaker's name in errors and events.
	Name string

	// Failures in a row open a closed breaker; any success resets the count. 0 means 5.
	Failures int

	// Successes of probes close a half-open breaker; one failure opens it again. 0 means 2.
	Successes int

	// Probes is the maximum of concurrent probes. 0 means 1.
	Probes int

	// Open is how long the breaker is open the first time. It doubles, up to MaxOpen,
	// each time that a probe fails. 0 means 10 s, or MaxOpen if that is shorter.
	Open time.Duration

	// MaxOpen is the maximum of Open. 0 means 60 s, or Open if that is longer.
	MaxOpen time.Duration

	// Classify decides what an error means; nil means DefaultClassify. It is not called
	// for nil and for calls with a cancelled context. It must be safe for concurrent
	// use. If it panics, the error is a Failure.
	Classify func(err error) Outcome

	// Observer receives event.BreakerOpened, BreakerHalfOpen and BreakerClosed, besides
	// the observers in the context of each call and that of a guard.
	Observer event.Observer

	// Clock replaces the real clock in tests. Nil means the real one, or that of a guard.
	Clock clockwork.Clock
}

// Validate reports every problem, each as a *fault.FieldError.
func (c Config) Validate() error {
	problems := invalid.Problems{Owner: "breaker"}
	for _, count := range []struct {
		field     string
		n, normal int
	}{
		{"Failures", c.Failures, defaultFailures},
		{"Successes", c.Successes, defaultSuccesses},
		{"Probes", c.Probes, defaultProbes},
	} {
		if count.n < 0 {
			problems.Addf(count.field, "%d; want at least 1, or 0 for %d", count.n, count.normal)
		}
	}
	if c.Open < 0 {
		problems.Addf("Open", "%v; want a positive duration, or 0 for %v", c.Open, defaultOpen)
	}
	if c.MaxOpen < 0 {
		problems.Addf("MaxOpen", "%v; want a positive duration, or 0 for %v", c.MaxOpen, defaultMaxOpen)
	}
	if c.MaxOpen > 0 && c.Open > c.MaxOpen {
		problems.Addf("Open", "%v is longer than MaxOpen, %v", c.Open, c.MaxOpen)
	}
	return problems.Err()
}

// withDefaults returns c with its zero fields filled in. c must be valid.
func (c Config) withDefaults() Config {
	c.Failures = cmp.Or(c.Failures, defaultFailures)
	c.Successes = cmp.Or(c.Successes, defaultSuccesses)
	c.Probes = cmp.Or(c.Probes, defaultProbes)
	switch {
	case c.Open == 0 && c.MaxOpen == 0:
		c.Open, c.MaxOpen = defaultOpen, defaultMaxOpen
	case c.Open == 0:
		c.Open = min(defaultOpen, c.MaxOpen)
	case c.MaxOpen == 0:
		c.MaxOpen = max(defaultMaxOpen, c.Open)
	}
	if c.Classify == nil {
		c.Classify = DefaultClassify
	}
	return c
}
