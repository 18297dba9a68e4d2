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

// Policy says how often and at what distance a failing call is repeated. The
// zero value is three attempts, the second after about half a second and the
// third after about a second more.
//
// A Policy is a value without state. It may be copied, and used by any number
// of goroutines as long as nobody changes it or the slice in Except.
type Policy struct {
	// MaxAttempts is how often a call is made at most, the first attempt
	// included: 1 means that nothing is retried. 0 means 3.
	MaxAttempts int

	// Initial is the delay before the second attempt. 0 means 500 ms, or Max
	// where that is shorter.
	Initial time.Duration

	// Max is the longest delay: no delay exceeds it, jitter included. 0 means
	// 30 s, or Initial where that is longer.
	Max time.Duration

	// Multiplier is by how much each delay is longer than the one before, until
	// Max is reached; 1 keeps them equal. 0 means 2.
	Multiplier float64

	// Jitter spreads the delays, so that calls which failed together do not
	// come back together: a delay of d is drawn evenly from d*(1-Jitter) to
	// d*(1+Jitter). What would exceed Max is mirrored at Max, so that the
	// delays do not gather there. It is less than 1; 0 means 0.5.
	Jitter float64

	// NoJitter makes the delays exact, for tests.
	NoJitter bool

	// Retryable says whether an error is worth another attempt; nil means
	// DefaultRetryable. It is not asked about nil, about what Permanent marked
	// and about what Except names, which are never retried. It must be safe for
	// concurrent use. If it panics the error is not retried.
	Retryable func(err error) bool

	// Except lists errors that are never retried, compared by errors.Is.
	Except []error
}

// Validate returns everything that is wrong with p, joined, each problem as a
// *fault.FieldError that names its field, or nil.
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
