package providertest

import (
	"iter"
	"time"
)

// Arrival is what became of one request.
type Arrival struct {
	// Seq numbers the arrivals from 1, in the order the limits judged them.
	Seq int64
	// At is the instant that the limits judged.
	At time.Time
	// Done is when its answer was ready to write, or the request was given up;
	// zero while it is in progress.
	Done time.Time
	// Key, Path, Model and PromptTokens are the request's; see [Request]. A
	// malformed request has only its Path and the Key of its header.
	Key          string
	Path         string
	Model        string
	PromptTokens int
	// Attempt counts the arrivals with the same Key, from 1; 0 without a key.
	Attempt int
	// Reserved is what the limits on tokens took at its arrival, or would have
	// taken of one that was refused: Input is the prompt and Output the
	// request's MaxTokens. Total is the larger of the two for OpenAI, Groq and
	// where no other is named, their sum for Azure, Anthropic and Mistral, and
	// the prompt alone for Gemini.
	Reserved Tokens
	// Used is what they took in the end, of an admitted call that is done.
	Used Tokens
	// Status is the HTTP status of the answer; 0 while there is none, and for
	// ever if the client went away first.
	Status int
	// Admitted says that the limits let it in.
	Admitted bool
	// Refused is the limit that did not.
	Refused Refusal
	// Faulted says that Config.Fault answered, or panicked.
	Faulted bool
	// InFlight is how many admitted calls were in flight just after it arrived,
	// itself included if it was admitted.
	InFlight int
	// Aborted says that it was admitted but not served: its client went away,
	// the server was closed (Status 503), Reply or Latency panicked (500), or
	// its Fault broke off the answer (200, or 0 before the header).
	Aborted bool
}

// Served reports whether it was admitted and answered in full. The answer was
// handed to the connection; whether the client read it, no server can know.
func (a Arrival) Served() bool { return a.Admitted && !a.Aborted && !a.Done.IsZero() }

// Counts sums up a [Ledger]. At any time
//
//	Arrivals = Admitted + Refused + Faulted + Invalid
//	Admitted = Served + Aborted + InFlight
type Counts struct {
	Arrivals int // every request, also those to an unknown route
	Admitted int // let in by the limits
	Refused  int // answered 429 by the limits
	Faulted  int // answered by Config.Fault
	Invalid  int // malformed: 400, 404, 405 or 413; or Config.Key panicked: 500
	Served   int // admitted and answered in full
	Aborted  int // admitted and never served
	InFlight int // admitted and not yet done

	PeakInFlight int // the most there ever were in flight
}

// Ledger is a snapshot of everything that has arrived at a [Server], in the
// order of arrival. It does not change and is safe for concurrent use.
type Ledger struct {
	Counts
	arrivals []Arrival
}

// All yields every arrival in order.
func (l Ledger) All() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		for _, a := range l.arrivals {
			if !yield(a) {
				return
			}
		}
	}
}

// ByKey returns how many times each key was served. A key that arrived and was
// never served is there with 0; requests without a key are left out.
func (l Ledger) ByKey() map[string]int {
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
