package providertest

import (
	"errors"
	"math"
	"time"
)

// Limits are what the server allows; a request must pass all of them. The zero value of each part
// limits nothing.
//
// The rate-limit headers describe the tighter of Rate and Window: fewer requests remaining, then the
// longer refill. The limit is Burst or Max, the reset the time to a full refill. Token limits have
// headers of their own where the dialect has them. Concurrency has none.
//
// Token limits take at arrival what a request might use (Arrival.Reserved) and correct it to what it
// did use. A call that used more leaves a debt of up to a full bucket. A call that is not served is
// charged its prompt and what was streamed.
type Limits struct {
	// Concurrency is the maximum number of admitted calls in flight.
	Concurrency int
	// Rate refills continuously.
	Rate Bucket
	// Window refills all at once.
	Window FixedWindow
	// Tokens, InputTokens and OutputTokens count tokens. A request that reserves more than Burst is always
	// rejected. OpenAI has the first, Anthropic the others.
	Tokens       Bucket
	InputTokens  Bucket
	OutputTokens Bucket
}

// Bucket refills at PerSecond and holds at most Burst, with which it begins, as throttle.Bucket does:
// {PerSecond: 500.0 / 60, Burst: 500} is 500 per minute. Both are required. It counts requests or tokens.
// The interval 1/PerSecond is rounded up to whole nanoseconds.
type Bucket struct {
	PerSecond float64 // the rate in the long run; at most 1,000,000
	Burst     int     // what a full bucket holds; it must refill within 366 days
}

// FixedWindow admits Max requests in each window of length Per. The first starts with the server and
// they follow without a gap, so that twice Max may pass around a boundary.
type FixedWindow struct {
	Max int           // requests per window
	Per time.Duration // a window's length
}

// longest bounds Per and a bucket's full refill, so that no sum of durations
// overflows.
const longest = 366 * 24 * time.Hour

// fastest is the highest rate of a bucket, per second.
const fastest = 1e6

func (l Limits) validate() error {
	return errors.Join(
		notNegative("Limits.Concurrency", l.Concurrency),
		l.Rate.validate("Limits.Rate"),
		l.Window.validate(),
		l.Tokens.validate("Limits.Tokens"),
		l.InputTokens.validate("Limits.InputTokens"),
		l.OutputTokens.validate("Limits.OutputTokens"),
	)
}

func (b Bucket) validate(field string) error {
	if b == (Bucket{}) {
		return nil
	}
	var errs []error
	if !(b.PerSecond > 0 && b.PerSecond <= fastest) {
		errs = append(errs, &configError{Field: field + ".PerSecond", Problem: "must be positive and at most 1,000,000"})
	}
	switch {
	case b.Burst <= 0:
		errs = append(errs, &configError{Field: field + ".Burst", Problem: "must be positive"})
	case errs == nil && float64(b.Burst)/b.PerSecond > longest.Seconds():
		errs = append(errs, &configError{Field: field + ".PerSecond", Problem: "must refill Burst within 366 days"})
	}
	return errors.Join(errs...)
}

func (f FixedWindow) validate() error {
	if f == (FixedWindow{}) {
		return nil
	}
	var errs []error
	if f.Max <= 0 {
		errs = append(errs, &configError{Field: "Limits.Window.Max", Problem: "must be positive"})
	}
	if f.Per <= 0 || f.Per > longest {
		errs = append(errs, &configError{Field: "Limits.Window.Per", Problem: "must be positive and at most 366 days"})
	}
	return errors.Join(errs...)
}

// interval returns the time that one request takes to refill. The factor keeps the rounding
// error of PerSecond, as of 1/0.021, from adding a nanosecond.
func (b Bucket) interval() time.Duration {
	return time.Duration(math.Ceil(float64(time.Second) / b.PerSecond * (1 - 0x1p-50)))
}
