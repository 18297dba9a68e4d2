package providertest

import (
	"errors"
	"time"
)

// Limits are what the server allows. Each part is optional, its zero value
// limits nothing, and a request must pass all of them.
//
// The rate-limit headers describe the tighter of Rate and Window: the one with
// fewer requests remaining, then the one that takes longer to refill. The limit
// is a bucket's Burst or a window's Max; the reset is the time to a full refill.
// Limits on tokens have headers of their own where the dialect has them.
// Concurrency is in no header.
//
// Limits on tokens take at a request's arrival what it might use, and settle to
// what it did use when it is done: a call that used less gives back, one that
// used more leaves a debt of up to a full bucket. What is reserved depends on
// the route and the [Dialect]; see [Arrival.Reserved]. A call that is not served
// is charged its prompt and what was streamed of its answer.
type Limits struct {
	// Concurrency is how many admitted calls may be in flight.
	Concurrency int
	// Rate refills continuously.
	Rate TokenBucket
	// Window refills all at once.
	Window FixedWindow
	// Tokens, InputTokens and OutputTokens count tokens instead of requests:
	// Max per Per, Burst in a full bucket. A request that reserves more than
	// Burst is refused for ever. OpenAI has the first, Anthropic the others.
	Tokens       TokenBucket
	InputTokens  TokenBucket
	OutputTokens TokenBucket
}

// TokenBucket admits Burst requests at once and Max per Per in the long run. It
// starts full. 500 requests per minute is {Max: 500, Per: time.Minute}; one
// every two seconds is {Max: 1, Per: 2 * time.Second}.
//
// The time between two requests, Per/Max, is rounded up to whole nanoseconds,
// so the bucket is never faster than it says.
type TokenBucket struct {
	Max   int           // requests per Per; at most a million per second
	Per   time.Duration // the time in which Max requests are refilled
	Burst int           // requests a full bucket holds; 0 means Max
}

// FixedWindow admits Max requests in each of a row of windows that are Per long.
// The first begins when the server is created and they follow each other without
// a gap, so twice Max may pass around the boundary of two.
type FixedWindow struct {
	Max int           // requests per window
	Per time.Duration // a window's length
}

// longest bounds Per and a bucket's full refill, so that no sum of durations
// overflows.
const longest = 366 * 24 * time.Hour

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

func (t TokenBucket) validate(field string) error {
	if t == (TokenBucket{}) {
		return nil
	}
	sound := errors.Join(
		validateRate(field, t.Max, t.Per),
		notNegative(field+".Burst", t.Burst),
	)
	switch {
	case sound != nil:
		return sound
	case time.Duration(t.Max) > t.Per/time.Microsecond:
		return &ConfigError{Field: field + ".Max", Problem: "must not exceed one per microsecond"}
	case time.Duration(t.burst()) > longest/t.interval():
		return &ConfigError{Field: field + ".Burst", Problem: "must refill within 366 days"}
	}
	return nil
}

func (f FixedWindow) validate() error {
	if f == (FixedWindow{}) {
		return nil
	}
	return validateRate("Limits.Window", f.Max, f.Per)
}

// validateRate checks a limit that is in use: both its fields must be set.
func validateRate(field string, most int, per time.Duration) error {
	var errs []error
	if most <= 0 {
		errs = append(errs, &ConfigError{Field: field + ".Max", Problem: "must be positive"})
	}
	if per <= 0 || per > longest {
		errs = append(errs, &ConfigError{Field: field + ".Per", Problem: "must be positive and at most 366 days"})
	}
	return errors.Join(errs...)
}

// burst returns the size of a full bucket.
func (t TokenBucket) burst() int {
	if t.Burst == 0 {
		return t.Max
	}
	return t.Burst
}

// interval returns the time that one request takes to refill.
func (t TokenBucket) interval() time.Duration {
	most := time.Duration(t.Max)
	return (t.Per + most - 1) / most
}
