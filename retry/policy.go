package retry

import (
	"math"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// The defaults of a Policy.
const (
	defaultMaxAttempts = 3
	defaultInitial     = 500 * time.Millisecond
	defaultMax         = 30 * time.Second
	defaultMultiplier  = 2
	defaultJitter      = 0.5
)

// Policy says how often and after what delays a failed call is repeated. The zero value
// makes three attempts, with delays of about half a second and one second. It is
// safe for concurrent use as long as it and Except are not changed.
type Policy struct {
	// MaxAttempts is the maximum of attempts, including the first. 0 means 3.
	MaxAttempts int

	// Initial is the delay before the second attempt. 0 means 500 ms, or Max if that is shorter.
	Initial time.Duration

	// Max is the longest delay, jitter included. 0 means 30 s, or Initial if that is longer.
	Max time.Duration

	// Multiplier is the growth from each delay to the next, at least 1. 0 means 2.
	Multiplier float64

	// Jitter draws a delay of d evenly from d*(1-Jitter) to d*(1+Jitter), mirrored at
	// Max. It must be less than 1; 0 means 0.5.
	Jitter float64

	// NoJitter makes the delays exact, for tests.
	NoJitter bool

	// Retryable decides whether an error is retried; nil means DefaultRetryable. It is not
	// called for nil, errors marked by Permanent and those in Except. It must be safe
	// for concurrent use. If it panics, the error is not retried.
	Retryable func(err error) bool

	// Except lists errors that are never retried, matched by errors.Is.
	Except []error
}

// Validate reports every problem, each as a *fault.FieldError.
func (p Policy) Validate() error {
	problems := invalid.Problems{Owner: "retry"}
	if p.MaxAttempts < 0 {
		problems.Addf("MaxAttempts", "%d; want at least 1, or 0 for %d", p.MaxAttempts, defaultMaxAttempts)
	}
	if p.Initial < 0 {
		problems.Addf("Initial", "%v; want a positive duration, or 0 for %v", p.Initial, defaultInitial)
	}
	if p.Max < 0 {
		problems.Addf("Max", "%v; want a positive duration, or 0 for %v", p.Max, defaultMax)
	}
	if p.Max > 0 && p.Initial > p.Max {
		problems.Addf("Initial", "%v is longer than Max, %v", p.Initial, p.Max)
	}
	if m := p.Multiplier; m != 0 && (math.IsNaN(m) || math.IsInf(m, 0) || m < 1) {
		problems.Addf("Multiplier", "%v; want a finite number of at least 1, or 0 for %v", p.Multiplier, defaultMultiplier)
	}
	if math.IsNaN(p.Jitter) || p.Jitter < 0 || p.Jitter >= 1 {
		problems.Addf("Jitter", "%v; want 0 < Jitter < 1, or 0 for %v", p.Jitter, defaultJitter)
	}
	if p.NoJitter && p.Jitter != 0 {
		problems.Addf("NoJitter", "contradicts Jitter, %v; leave one of them out", p.Jitter)
	}
	for i, err := range p.Except {
		if err == nil {
			problems.Addf("Except["+strconv.Itoa(i)+"]", "nil; want an error")
		}
	}
	return problems.Err()
}

// withDefaults returns p with its zero fields filled in. p must be valid.
func (p Policy) withDefaults() Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaultMaxAttempts
	}
	switch {
	case p.Initial == 0 && p.Max == 0:
		p.Initial, p.Max = defaultInitial, defaultMax
	case p.Initial == 0:
		p.Initial = min(defaultInitial, p.Max)
	case p.Max == 0:
		p.Max = max(defaultMax, p.Initial)
	}
	if p.Multiplier == 0 {
		p.Multiplier = defaultMultiplier
	}
	if p.Jitter == 0 && !p.NoJitter {
		p.Jitter = defaultJitter
	}
	return p
}
