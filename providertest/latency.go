package providertest

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// Latency is how long admitted calls take: [Fixed], [Uniform] or [LogNormal]. For any other, set
// Fault.Delay and Fault.Admit.
type Latency interface {
	// draw returns the latency of one call; below zero means zero. Every call gets a generator of its own.
	draw(r *rand.Rand) time.Duration
}

// Fixed is the same latency for every call, as in Fixed(50 * time.Millisecond).
type Fixed time.Duration

// Draw returns f.
func (f Fixed) draw(*rand.Rand) time.Duration { return time.Duration(f) }

func (f Fixed) validate() error { return notNegative("Latency", f) }

// Uniform is evenly distributed from Min to Max, both included.
type Uniform struct{ Min, Max time.Duration }

// Draw returns a latency from Min to Max.
func (u Uniform) draw(r *rand.Rand) time.Duration {
	if u.Max <= u.Min {
		return u.Min
	}
	return u.Min + time.Duration(r.Int64N(int64(u.Max-u.Min)+1))
}

func (u Uniform) validate() error {
	err := notNegative("Latency.Min", u.Min)
	if u.Max < u.Min || u.Max > longest {
		return errors.Join(err, &configError{Field: "Latency.Max", Problem: "must be at least Min and at most 366 days"})
	}
	return err
}

// LogNormal has a long tail, as model calls have.
type LogNormal struct {
	Median time.Duration
	// Sigma is the standard deviation of the logarithm. At 0.5, one call in twenty takes more than 2.3
	// times Median.
	Sigma float64
	// Max cuts the tail off; 0 means ten times Median.
	Max time.Duration
}

// Draw returns a latency from 0 to Max.
func (l LogNormal) draw(r *rand.Rand) time.Duration {
	most := l.Max
	if most == 0 {
		most = 10 * l.Median
	}
	drawn := float64(l.Median) * math.Exp(l.Sigma*r.NormFloat64())
	return time.Duration(min(drawn, float64(most)))
}

func (l LogNormal) validate() error {
	var errs []error
	if l.Median <= 0 || l.Median > longest {
		errs = append(errs, &configError{Field: "Latency.Median", Problem: "must be positive and at most 366 days"})
	}
	if !(l.Sigma >= 0 && l.Sigma <= 10) { // written so that NaN fails
		errs = append(errs, &configError{Field: "Latency.Sigma", Problem: "must be from 0 to 10"})
	}
	if l.Max != 0 && (l.Max < max(l.Median, 1) || l.Max > longest) {
		errs = append(errs, &configError{Field: "Latency.Max", Problem: "must be 0, or at least Median and at most 366 days"})
	}
	return errors.Join(errs...)
}

// validateLatency checks a latency of this package; others are taken as they are.
func validateLatency(l Latency) error {
	v, ok := l.(interface{ validate() error })
	if !ok {
		return nil
	}
	err, bad := guard("Latency", v.validate)
	if bad != nil { // a nil pointer to one of ours
		return &configError{Field: "Latency", Problem: "must not be a nil pointer"}
	}
	return err
}

// draw returns the latency of the n-th admitted call. A generator for each call,
// and not one for all, makes it independent of which goroutine comes first.
func drawLatency(l Latency, seed, n uint64) time.Duration {
	const golden = 0x9e3779b97f4a7c15                    // spreads neighbouring n over all 64 bits
	return l.draw(rand.New(rand.NewPCG(seed, n*golden))) //nolint:gosec // a simulation, no secret
}
