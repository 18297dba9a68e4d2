package event

import "time"

// Kind says what happened. More kinds may be added: ignore unknown ones.
type Kind string

// Limiters. Source is the limiter's name.
const (
	// LimiterHit: the provider refused a call for rate with Err. Wait is the time
	// that it asked for, or 0. Key is the limit: "requests", "tokens", "concurrency",
	// "unknown", or "overloaded" if the service as a whole is overloaded. Each
	// refused call is a hit; a burst of them is at most one cut.
	LimiterHit Kind = "limiter.hit"

	// LimiterCut: the limiter allows less, To instead of From: calls in flight,
	// unless Reason says otherwise. Wait is how long it admits no call.
	LimiterCut Kind = "limiter.cut"

	// LimiterRecovery: the limiter allows more; From and To as in LimiterCut.
	LimiterRecovery Kind = "limiter.recovery"

	// LimiterGate: the controller admits no call for Wait, because of a refusal.
	LimiterGate Kind = "limiter.gate"

	// LimiterProbe: the controller tries more than it knows to be allowed. From
	// and To as in LimiterCut.
	LimiterProbe Kind = "limiter.probe"

	// LimiterVerdict: how the controller interprets a refusal, in Reason.
	LimiterVerdict Kind = "limiter.verdict"

	// LimiterClosed: the limiter admits no more calls, because the provider reports with
	// Err that a quota or the credit is used up, or asks for a wait, Wait, of more than 10
	// minutes, or refuses all calls. Emitted once, however many calls are refused until
	// LimiterReopened.
	LimiterClosed Kind = "limiter.closed"

	// LimiterReopened: a closed or paused limiter was reopened by the program, or a
	// call has found that the provider admits again.
	LimiterReopened Kind = "limiter.reopened"

	// LimiterPaused: no call is admitted for Wait.
	LimiterPaused Kind = "limiter.paused"

	// LimiterChanged: the program set other limits, which Reason lists; or a control law
	// panicked with Err and was replaced; or another process of a group leads; or an
	// engine could not set the rate of its task queue, Key, with Err.
	LimiterChanged Kind = "limiter.changed"

	// LimiterWaited: a call waited for Wait and was admitted, or rejected with Err. A
	// throttle.Limiter emits it for each wait, a guard at most once in ten seconds, and
	// not to a [CallObserver], which receives each call.
	LimiterWaited Kind = "limiter.waited"

	// LimiterStalePreset: a limiter starts from a preset, Key, that is older than a
	// year. Source is the node or the entry of the registry. Emitted once in a process.
	LimiterStalePreset Kind = "limiter.stale_preset"
)

// Circuit breakers. Source is the breaker's name, Err the failure that opened it, or nil.
const (
	// BreakerOpened: the breaker rejects every call for Wait.
	BreakerOpened Kind = "breaker.opened"
	// BreakerHalfOpen: the breaker admits the first probe.
	BreakerHalfOpen Kind = "breaker.half-open"
	// BreakerClosed: the breaker admits every call again.
	BreakerClosed Kind = "breaker.closed"
)

// Nodes. Source is the node's name.
const (
	// NodeStarted: a run of the node began.
	NodeStarted Kind = "node.started"

	// NodeFinished: a run of the node ended after Wait, with Err if the run as a
	// whole failed.
	NodeFinished Kind = "node.finished"

	// ItemDone: an item has its result, after Attempt attempts and Wait, which
	// includes the waits between attempts.
	ItemDone Kind = "item.done"

	// ItemFailed: an item failed for good with Err. Attempt and Wait as in ItemDone.
	ItemFailed Kind = "item.failed"

	// ItemRetry: attempt number Attempt failed with Err; the next one is in Wait.
	ItemRetry Kind = "item.retry"

	// ItemAbandoned: the run ended before this item, Wait after it had begun. It
	// is pending, not failed: a resumed run repeats it.
	ItemAbandoned Kind = "item.abandoned"

	// JournalLeftover: To records of the node match no item of the run, so the
	// input has changed. Emitted once, at the end of the run.
	JournalLeftover Kind = "journal.leftover"

	// JournalStale: To resumed results are older than a day; Wait is the age of the
	// oldest. Emitted at the end of the run.
	JournalStale Kind = "journal.stale"
)

// Flows. Source is the flow's name, Index the instance of the innermost
// flow.Batch around it, or NoIndex.
const (
	// FlowStarted: a run of the flow began.
	FlowStarted Kind = "flow.started"

	// FlowStep: step number Attempt, through node Key, ended after Wait, with
	// the action in Reason or with Err.
	FlowStep Kind = "flow.step"

	// FlowFinished: a run of the flow ended after Wait, with Err if it failed.
	FlowFinished Kind = "flow.finished"
)

// NoIndex is the Index of an event that concerns no item.
const NoIndex int64 = -1

// Event is one thing that happened. It is immutable, and observers may keep it.
// Each [Kind] documents which of the optional fields it uses.
type Event struct {
	// Time is when it happened, by the emitter's clock.
	Time time.Time
	// Kind says what happened.
	Kind Kind
	// Source is the name of the limiter, node, flow or other emitter.
	Source string
	// Index is the position of the item, from 0, or NoIndex, which New sets. The zero
	// Event names item 0.
	Index int64
	// Key is the item's key, or what the Kind says. It must not be a secret.
	Key string
	// Attempt counts attempts from 1; 0 means none.
	Attempt int
	// Wait is a duration: until work continues, or that something took.
	Wait time.Duration
	// From and To are a value before and after a change.
	From, To float64
	// Reason is one sentence for people; its wording may change.
	Reason string
	// Err is an error, or nil.
	Err error
	// Request is set for NetRequest.
	Request *Request
	// Download is set for DownloadFetch.
	Download *Download
	// Progress is set for FlowProgress.
	Progress *Progress
	// Task is set for the events of executors.
	Task *Task
	// Model is set for ModelStarted and ModelFinished.
	Model *Model
}

// New returns an event with Index [NoIndex].
func New(now time.Time, kind Kind, source string) Event {
	return Event{Time: now, Kind: kind, Source: source, Index: NoIndex}
}
