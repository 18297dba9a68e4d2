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
	// Name names the breaker in errors and events. It may be empty.
	Name string

	// Failures is how many failures in a row open a closed breaker; any success
	// in between starts the count anew. 0 means 5.
	Failures int

	// Successes is how many probes have to succeed before a half-open breaker
	// closes. A single failure opens it again. 0 means 2.
	Successes int

	// Probes is how many probes may be under way at the same time. More of
	// them close the breaker sooner, but all of them meet a server that may
	// still be down. 0 means 1.
	Probes int

	// Open is how long the breaker stays open the first time. Each time that a
	// probe fails it is open twice as long as the time before, up to MaxOpen;
	// once it has closed it begins with Open again. 0 means 10 s, or MaxOpen
	// where that is shorter.
	Open time.Duration

	// MaxOpen is the longest that the breaker stays open. 0 means 60 s, or Open
	// where that is longer.
	MaxOpen time.Duration

	// Classify says what an error of a call means; nil means DefaultClassify.
	// It is asked about neither nil, which is a success, nor the errors of
	// calls whose context was cancelled. It must be safe for concurrent use.
	// If it panics the error is a failure.
	Classify func(err error) Outcome

	// Observer receives event.BreakerOpened, BreakerHalfOpen and BreakerClosed. Nil
	// means only the observers in the context of each call.
	Observer event.Observer

	// Clock replaces the real clock in tests. Nil means the real one.
	Clock clockwork.Clock
}

// Validate returns everything that is wrong with c, joined, each problem as a
// *fault.FieldError that names its field, or nil.
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
