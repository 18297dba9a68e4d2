package providertest

import (
	"errors"
	"time"
)

// Config describes a [Server]. The zero value is a provider without limits that
// answers at once with a short extract of the prompt.
//
// Reply, Fault, KeyOf and Latency are called from many goroutines at a time, never
// under a lock of the server. One that panics turns its request into a 500 whose
// message carries the panic's value. They must not call [Server.Close].
type Config struct {
	// Limits are the hidden limits at the start; [Server.SetLimits] changes
	// them. The zero value limits nothing.
	Limits Limits

	// RefusalsCount makes refused requests spend the rate budget too, as some
	// providers do: a refusal takes up to one request out of the token bucket,
	// never below empty, and counts in the window. Tokens it takes none. A client that hammers
	// faster than the bucket refills is then never admitted. The default takes
	// nothing for a refusal.
	RefusalsCount bool

	// RetryAfter is what a refusal for rate says about waiting. The default,
	// [NoRetryAfter], is silence.
	RetryAfter RetryAfter

	// Headers adds the rate-limit fields of the Dialect to answers and refusals;
	// see [Limits] for what they describe. Those of a stream are from its
	// beginning, before it is settled.
	Headers bool

	// Dialect is the language of errors and rate-limit fields. The default,
	// [ByRoute], is Anthropic's on /v1/messages and OpenAI's elsewhere.
	Dialect Dialect

	// KeyOf names the item that a request is for, where that is in no header
	// that is read by default; see [Request.Key]. It sees every well-formed
	// request, with the key of the header if it has one.
	KeyOf func(Request) string

	// Latency is how long an admitted call takes, until the first event of one
	// that is streamed; nil answers at once.
	Latency Latency

	// Pace is the time between two events of a stream. The default sends them
	// all at once.
	Pace time.Duration

	// RefusalLatency is how long a refusal takes. It holds no concurrency slot.
	// The default is at once.
	RefusalLatency time.Duration

	// Seed fixes the latencies: the n-th admitted call of a server always takes
	// the same time under the same Seed.
	Seed uint64

	// Reply makes an admitted request's answer, after its latency; nil means
	// [Extract]. A reply longer than the request's MaxTokens is cut there and
	// finishes with "length" or "max_tokens". Embeddings have no reply.
	Reply func(Request) string

	// Fault, when set, sees every well-formed request before the limits do.
	// What it returns is the answer, and the limits are left untouched, unless
	// it says [Fault.Admit]; nil lets the request pass.
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

// ConfigError names one field of a [Config] or of [Limits] that cannot be used.
// [New] and [Server.SetLimits] join one for every problem; errors.As finds the
// first.
type ConfigError struct {
	Field   string // the field's path, such as "Limits.Rate.Burst"
	Problem string // what is wrong with the value and what would be right
}

// Error returns "providertest: field: problem".
func (e *ConfigError) Error() string { return "providertest: " + e.Field + ": " + e.Problem }

// notNegative refuses a value below zero.
func notNegative[N ~int | ~int64](field string, n N) error {
	if n < 0 {
		return &ConfigError{Field: field, Problem: "must not be negative"}
	}
	return nil
}
