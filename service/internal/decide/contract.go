// Package decide decides checks over a quota.Store: which rule applies, whether it
// admits the check, and what the answer reports. REST and gRPC are two spellings of it.
package decide

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// Bounds on what one request may ask for.
const (
	MaxTokens    = 100_000     // of a check
	MaxTogether  = 32          // checks of one CheckAll or Acquire
	MaxBatch     = 1000        // checks of one Batch
	MaxName      = 256         // bytes of a scope or a resource
	MaxID        = 1024        // bytes of an identifier
	MaxActual    = 100_000_000 // tokens of a Settle, for each check
	MaxWait      = time.Minute // of an Acquire
	MaxMeta      = 64          // entries of Metadata
	DefaultScope = "user"
)

// Never is the RetryAfter of a refused check that no waiting will admit, such as one of
// a used-up one-shot quota.
const Never = throttle.Forever

// Check is one question: may this identifier use so many tokens of a resource?
type Check struct {
	Scope      string // empty means DefaultScope
	Identifier string // empty: Metadata has it, under the name of the scope
	Resource   string
	Tokens     int64 // 0 means 1; at most MaxTokens
	Metadata   map[string]string
	DryRun     bool // take nothing
}

// Reason is why an answer is weaker than promised; empty if it is not.
type Reason string

// The reasons.
const (
	StorageUnavailable Reason = "storage_unavailable"
	BreakerOpen        Reason = "breaker_open"
	ClockSkew          Reason = "clock_skew"
	ConfigError        Reason = "config_error"
)

// Result is the answer to a Check.
type Result struct {
	Check                    // with its defaults and its identifier filled in
	Rule       string        // the name of the rule that applies
	Allowed    bool          // of this limit alone
	Remaining  int64         // tokens that are left, of the tightest window; never negative
	Capacity   int64         // of the tightest window
	Windows    []Window      // all of them, for headers
	RetryAfter time.Duration // 0 if allowed; Never if waiting does not help
	ResetAt    time.Time     // when the tightest window is full again; zero if never
	Permit     string        // settles or cancels the check; empty if nothing was taken
	Degraded   Reason
}

// Window is one window of a rule, in the terms of the RateLimit header fields.
type Window struct {
	Name     string
	Quota    int64         // q
	Per      time.Duration // w; 0 if it never refills
	Left     int64         // r; never negative
	ResetsIn time.Duration // t
}

// All is the answer to CheckAll and Acquire: everything was taken, or nothing.
type All struct {
	Allowed    bool
	Results    []Result // in the order of the checks, without Permit
	Blocking   int      // the check that has to wait longest, or -1
	Tightest   int      // the check with the smallest share of its capacity left, or -1
	RetryAfter time.Duration
	Permit     string
	Degraded   Reason
}

// Outcome is the answer to one check of a Batch.
type Outcome struct {
	Result
	Err error
}

// State is the state of the breaker in front of the store: closed, open or half_open.
type State string

// Health is how the service is.
type Health struct {
	Status         string // healthy, degraded or unhealthy
	StoreReachable bool   // the last answer of the store was one
	Breaker        State
	RetryAfter     time.Duration // of an open breaker
	Jumps          int64         // of the clock of the store
	Skewed         time.Duration // how long checks are refused because of the clock of the store
	Latency        time.Duration // of the last probe
	Reason         Reason
	Problem        string // of the configuration or the store; empty if there is none
}

// Bucket is what the store holds about one limit.
type Bucket struct {
	Scope, Identifier, Resource string
	Rule                        string
	Capacity, Remaining         int64
	Windows                     []Window
	ResetAt                     time.Time
	Degraded                    Reason
}
