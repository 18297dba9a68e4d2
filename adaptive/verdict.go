package adaptive

import "fmt"

// Verdict is what a response says about the limit.
type Verdict uint8

const (
	// Unclassified means the detector does not know; the next one is asked.
	Unclassified Verdict = iota
	// OK is a response that says nothing about rate, also an error.
	OK
	// Hit is a call rejected for rate or concurrency, unprocessed.
	Hit
	// Overloaded is a call rejected because the service is overloaded, unprocessed.
	Overloaded
	// Transient is a failure worth a retry. It says nothing about the limit,
	// unless Kind is KindOverload.
	Transient
	// Terminal is a quota or balance that is used up.
	Terminal
	// Unsent is a call that was never sent: its admission is undone.
	Unsent
)

var verdictNames = [...]string{"unclassified", "ok", "hit", "overloaded", "transient", "terminal", "unsent"}

// String returns the verdict in lower case.
func (v Verdict) String() string {
	if int(v) >= len(verdictNames) {
		return fmt.Sprintf("Verdict(%d)", uint8(v))
	}
	return verdictNames[v]
}

// refused reports whether the provider rejected the call unprocessed, so that it can be retried.
func (v Verdict) refused() bool { return v == Hit || v == Overloaded }

// Kind is the kind of limit that rejected a call.
type Kind uint8

const (
	// UnknownKind is a 429 that does not name its limit.
	UnknownKind Kind = iota
	// KindRequests is a limit on requests per time.
	KindRequests
	// KindTokens is a limit on tokens per time.
	KindTokens
	// KindConcurrency is a limit on calls in flight.
	KindConcurrency
	// KindOverload marks a Transient failure of a service that may be overloaded,
	// such as a 503 without Retry-After. The call may have been processed.
	KindOverload
)

var kindNames = [...]string{"unknown", "requests", "tokens", "concurrency", "overload"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}
