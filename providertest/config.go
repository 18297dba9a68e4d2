package providertest

import (
	"errors"
	"time"
)

// Config describes a [Server]. The zero value has no limits and answers at once with a short extract
// of the prompt.
//
// Reply, Fault and KeyOf are called concurrently, without a lock of the server, and must not call
// [Server.Close]. A panic turns the request into a 500 with the panic's value in its message.
type Config struct {
	// Limits are the limits at the start; [Server.SetLimits] changes them.
	Limits Limits

	// RefusalsCount makes rejected requests spend the request limits too: up to one request of the token
	// bucket, never below empty, and one of the window.
	RefusalsCount bool

	// RetryAfter is the advice in a 429. 0 sends none.
	RetryAfter RetryAfter

	// Headers adds the rate-limit fields of the Dialect to all answers; see [Limits]. Those of a stream
	// are from its start.
	Headers bool

	// Dialect is the format of errors and rate-limit fields.
	Dialect Dialect

	// KeyOf returns the item that a request is for, if it is not in a header; see [Request.Key]. It sees
	// every well-formed request.
	KeyOf func(Request) string

	// Latency is how long an admitted call takes, to the first event of a stream. Nil means no time.
	Latency Latency

	// Pace is the time between two events of a stream.
	Pace time.Duration

	// RefusalLatency is how long a rejection takes. It holds no concurrency slot.
	RefusalLatency time.Duration

	// Seed fixes the latency of the n-th admitted call.
	Seed uint64

	// Reply makes the answer of an admitted request, cut to its MaxTokens. Nil means [Extract].
	Reply func(Request) string

	// Fault sees every well-formed request before the limits do. If it returns nil the request passes;
	// otherwise the Fault is the answer, and the limits are untouched unless [Fault.Admit] is set.
	Fault func(Request) *Fault
}

// validate returns everything that is wrong with c, joined, or nil.
func (c Config) validate() error {
	return errors.Join(
		c.Limits.validate(),
		c.RetryAfter.validate(),
		c.Dialect.validate(),
		validateLatency(c.Latency),
		notNegative("Pace", c.Pace),
		notNegative("RefusalLatency", c.RefusalLatency),
	)
}

// configError names one field of a [Config] or of [Limits] that cannot be used.
// [New] and [Server.SetLimits] join one for every problem; errors.As finds the
// first.
type configError struct {
	Field   string // the field's path, such as "Limits.Rate.Burst"
	Problem string // what is wrong with the value and what would be right
}

// Error returns "providertest: field: problem".
func (e *configError) Error() string { return "providertest: " + e.Field + ": " + e.Problem }

// notNegative refuses a value below zero.
func notNegative[N ~int | ~int64](field string, n N) error {
	if n < 0 {
		return &configError{Field: field, Problem: "must not be negative"}
	}
	return nil
}
