package provider

import "time"

// Config is what a provider is like. The zero Config admits everything.
type Config struct {
	Cap      int      // calls in flight; 0: no cap
	Requests Bucket   // a token bucket of calls
	Tokens   Bucket   // one of tokens: a call reserves the most it may use and is settled at its end
	Minute   int      // calls per fixed minute, counted from the beginning of the world; 0: no such window
	Log      Log      // an exact sliding log of calls
	More     []Quota  // further limits on calls
	Errors   []Errors // rejections that no limit calls for
	Knee     int      // latency grows with calls in flight beyond this many; 0: never
	Overload int      // with this many in flight the next one is rejected; 0: never
	Shed     Manner   // how an overload rejects

	RefusalsCount bool    // a refused call costs one request of bucket and window all the same
	Debt          float64 // how far below zero that may drive the bucket

	Status     Status        // of a rejection by a limit
	RetryAfter RetryAfter    // what a refusal by a rate says
	Constant   time.Duration // what it says instead of the wait, whatever that is; 0: the wait
	Lie        float64       // what Retry-After is multiplied by; 0: it is the truth
	Headers    bool          // every answer tells the state of bucket, window and tokens
	Tale       Tale          // how headers differ from the truth
	Names      Names         // what refusals say of the limit
}

// Bucket is a token bucket; no rate, no bucket.
type Bucket struct {
	PerMinute float64
	Burst     float64
}

// Log admits Max calls in any interval of length Per; no Max, no log.
type Log struct {
	Max int
	Per time.Duration
}

// RetryAfter is how a provider tells when to come back.
type RetryAfter uint8

const (
	// Silent providers do not.
	Silent RetryAfter = iota
	// WholeSeconds are rounded up, as in the HTTP header.
	WholeSeconds
	// Exact is to the nanosecond.
	Exact
	// Sometimes is WholeSeconds in every other rejection, at random.
	Sometimes
)

// Names is which limits refusals name.
type Names uint8

const (
	// CapByHeaders names the cap, where there are headers, and nothing else.
	CapByHeaders Names = iota
	// Nothing is ever named.
	Nothing
	// Everything is named but bad luck; of two limits the one with the longer wait.
	Everything
	// RequestsOnly is what every refusal says, whatever refused.
	RequestsOnly
)

// Change is what happens to the limits of a provider at some time.
type Change struct {
	At     time.Duration
	Factor float64 // rates and windows are multiplied by it; 0: they stay
	Cap    int     // the new cap; 0: it stays
	Become *Config // another provider: only the calls in flight and Headers are kept; nil: it stays
}
