package adaptive

import "fmt"

// Verdict is what one answer says about the limit.
type Verdict uint8

const (
	// Unclassified says nothing: the next detector is asked, at last the default one.
	Unclassified Verdict = iota
	// OK is an answer that has nothing to do with rate, a 400 as well as a success.
	OK
	// Hit is a refusal because of rate or concurrency: the call was not processed.
	Hit
	// Overloaded is a refusal because the service as a whole is full: the call was not processed.
	Overloaded
	// Transient is a failure that another attempt may cure; it teaches nothing about the limit.
	Transient
	// Terminal is a quota or a balance that is used up: no call will pass for a long time.
	Terminal
	// Unsent is a call that never reached the wire: its admission is undone.
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

// refused reports whether the provider turned the call away unprocessed, so that it can go again.
func (v Verdict) refused() bool { return v == Hit || v == Overloaded }

// Kind is which limit refused a call.
type Kind uint8

const (
	// UnknownKind is a refusal that did not say which limit it was.
	UnknownKind Kind = iota
	// KindRequests is a limit on requests per time.
	KindRequests
	// KindTokens is a limit on tokens per time.
	KindTokens
	// KindConcurrency is a limit on calls in flight.
	KindConcurrency
)

var kindNames = [...]string{"unknown", "requests", "tokens", "concurrency"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}
