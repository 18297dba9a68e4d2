package providertest

import (
	"iter"
	"time"
)

// Arrival is one request that has arrived.
type Arrival struct {
	// Seq numbers the arrivals from 1, in the order the limits judged them.
	Seq int64
	// At is when the limits judged it.
	At time.Time
	// Done is when its answer was ready or it was abandoned; zero before.
	Done time.Time
	// See [Request]. A malformed request only has a Path, and the Key of its header.
	Key   string
	Path  string
	Model string
	// Attempt counts the arrivals with the same Key, from 1; 0 without a key.
	Attempt int
	// Reserved is what the token limits took at its arrival, or would have taken. Input is the prompt and
	// Output MaxTokens. Total is the larger of the two for OpenAI, Groq and dialects not named here, their
	// sum for Azure, Anthropic and Mistral, and the prompt for Gemini.
	Reserved Tokens
	// Used is what they took in the end, for an admitted call that is done.
	Used Tokens
	// Status is that of the answer; 0 before it, and if the client went away first.
	Status int
	// Admitted reports whether the limits admitted it.
	Admitted bool
	// Refused is the limit that rejected it: "rate", "window", "concurrency", "tokens", "input tokens",
	// "output tokens", or "too large" if a full token limit is too small; of several, the one with the
	// longest wait. Empty means none.
	Refused string
	// Faulted reports whether Config.Fault answered, or panicked.
	Faulted bool
	// InFlight is how many admitted calls were in flight just after it arrived,
	// itself included if it was admitted.
	InFlight int
	// Aborted reports whether it was admitted and not served: its client went away, the server was closed
	// (Status 503), Reply panicked (500), or its Fault broke the answer off (200, or 0 before the header).
	Aborted bool
}

// Served reports whether it was admitted and answered in full. Whether the client read the answer is
// unknown.
func (a Arrival) Served() bool { return a.Admitted && !a.Aborted && !a.Done.IsZero() }

// Counts sums up a [Ledger]. At any time
//
//	Arrivals = Admitted + Refused + Faulted + Invalid
//	Admitted = Served + Aborted + InFlight
type Counts struct {
	Arrivals int // all requests, also those to an unknown route
	Admitted int // by the limits
	Refused  int // answered 429 by the limits
	Faulted  int // answered by Config.Fault
	Invalid  int // 400, 404, 405 or 413; 500 if Config.KeyOf panicked
	Served   int // admitted and answered in full
	Aborted  int // admitted and never served
	InFlight int // admitted and not yet done

	PeakInFlight int // the maximum so far
}

// Ledger is an immutable snapshot of all arrivals at a [Server], in their order. It is safe for
// concurrent use.
type Ledger struct {
	Counts
	arrivals []Arrival
}

// All yields the arrivals in order.
func (l Ledger) All() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		for _, a := range l.arrivals {
			if !yield(a) {
				return
			}
		}
	}
}

// byKey returns how many times each key was served. A key that arrived and was
// never served is there with 0; requests without a key are left out.
func (l Ledger) byKey() map[string]int {
	served := make(map[string]int)
	for _, a := range l.arrivals {
		switch {
		case a.Key == "":
		case a.Served():
			served[a.Key]++
		default:
			served[a.Key] += 0
		}
	}
	return served
}
