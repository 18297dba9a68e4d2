package providertest

import (
	"errors"
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
	Rate TokenBucket
	// Window refills all at once.
	Window FixedWindow
	// Tokens, InputTokens and OutputTokens count tokens. A request that reserves more than Burst is always
	// rejected. OpenAI has the first, Anthropic the others.
	Tokens       TokenBucket
	InputTokens  TokenBucket
	OutputTokens TokenBucket
}

// TokenBucket admits Burst requests at once and Max per Per in the long run, and starts full: {Max:
// 500, Per: time.Minute}. The interval Per/Max is rounded up to whole nanoseconds.
type TokenBucket struct {
	Max   int           // requests per Per; at most one per microsecond
	Per   time.Duration // the time to refill Max requests
	Burst int           // requests in a full bucket; 0 means Max
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
		return &configError{Field: field + ".Max", Problem: "must not exceed one per microsecond"}
	case time.Duration(t.burst()) > longest/t.interval():
		return &configError{Field: field + ".Burst", Problem: "must refill within 366 days"}
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
		errs = append(errs, &configError{Field: field + ".Max", Problem: "must be positive"})
	}
	if per <= 0 || per > longest {
		errs = append(errs, &configError{Field: field + ".Per", Problem: "must be positive and at most 366 days"})
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
