package event

import "time"

// Kind says what happened. The set may grow: ignore kinds you do not know.
type Kind string

// What limiters tell. Source is the limiter's name.
const (
	// LimiterHit: the provider refused a call for rate. Wait is how long until
	// calls may go on (zero if the provider did not say), Err is the refusal. Key says
	// which limit it was: "requests", "tokens", "concurrency" or "unknown", or "overloaded" if the
	// service as a whole is full.
	// A burst of calls gives one hit each, and at most one cut.
	LimiterHit Kind = "limiter.hit"

	// LimiterCut: the limiter allows less than before. From and To are the
	// value that was cut, concurrency unless Reason says otherwise; Wait is
	// how long until calls may go on.
	LimiterCut Kind = "limiter.cut"

	// LimiterRecovery: the limiter allows more than before, From and To as in
	// LimiterCut. Wait is not used.
	LimiterRecovery Kind = "limiter.recovery"

	// LimiterGate: the law lets nobody go for Wait, because of a refusal.
	LimiterGate Kind = "limiter.gate"

	// LimiterProbe: the law sends, or allows, more than it knows to be taken,
	// to find out more. From and To are what it tries, as in LimiterCut.
	LimiterProbe Kind = "limiter.probe"

	// LimiterVerdict: what the law takes a refusal for, in Reason.
	LimiterVerdict Kind = "limiter.verdict"

	// LimiterClosed: the limiter admits nobody any more, because the provider
	// says that the quota or the money is gone, or that everybody has to wait
	// for longer than makes sense: then Wait is for how long. Err is what it said.
	LimiterClosed Kind = "limiter.closed"

	// LimiterReopened: a closing or a pause was ended by hand.
	LimiterReopened Kind = "limiter.reopened"

	// LimiterPaused: nobody is admitted for Wait.
	LimiterPaused Kind = "limiter.paused"

	// LimiterChanged: somebody set other limits; Reason gives them.
	LimiterChanged Kind = "limiter.changed"

	// LimiterWaited: a call that had to wait was served after Wait, with Err
	// if it was turned away. A throttle.Limiter tells it; those of adaptive, where there is
	// one for each call, tell a CallObserver and nobody else.
	LimiterWaited Kind = "limiter.waited"

	// LimiterStalePreset: the limiter starts from a preset that is older than a
	// year, which is told once in a process. Source is the name of the node or of
	// the registry's entry, Key the preset's ID, and Reason says how old it is and where to look.
	LimiterStalePreset Kind = "limiter.stale_preset"
)

// What circuit breakers tell. Source is the breaker's name; Err is the failure
// that opened the breaker, or nil.
const (
	// BreakerOpened: the breaker refuses every call for Wait.
	BreakerOpened Kind = "breaker.opened"
	// BreakerHalfOpen: the breaker lets the first probe through. Wait is not used.
	BreakerHalfOpen Kind = "breaker.half-open"
	// BreakerClosed: the breaker lets every call through again. Wait is not used.
	BreakerClosed Kind = "breaker.closed"
)

// What nodes tell. Source is the node's name.
const (
	// NodeStarted: a run of the node began.
	NodeStarted Kind = "node.started"

	// NodeFinished: a run of the node ended. Wait is how long it took, Err is
	// nil unless the run as a whole failed.
	NodeFinished Kind = "node.finished"

	// ItemDone: an item has its result. Attempt counts the attempts that were
	// made, Wait is how long the item took, waits between attempts included.
	ItemDone Kind = "item.done"

	// ItemFailed: an item failed for good with Err. Attempt and Wait are as in
	// ItemDone.
	ItemFailed Kind = "item.failed"

	// ItemRetry: attempt number Attempt ended with Err and the item goes again
	// in Wait.
	ItemRetry Kind = "item.retry"

	// ItemAbandoned: the run ended before this item, which had begun, did. It
	// is pending and not failed: a resumed run does it again. Wait is how long
	// it had been under way.
	ItemAbandoned Kind = "item.abandoned"

	// JournalLeftover: the journal has records of the node that no item of the
	// run was found for, so the input has changed. To is how many, and Reason says so. It is sent once, at the end of the run.
	JournalLeftover Kind = "journal.leftover"

	// JournalStale: a run has resumed results that are older than a day. To is how
	// many, Wait is the age of the oldest, and Reason says so. It is sent at the end of the run.
	JournalStale Kind = "journal.stale"
)

// What flows tell. Source is the flow's name. Index is that of the instance of the
// innermost flow.Batch around it, or NoIndex.
const (
	// FlowStarted: a run of the flow began.
	FlowStarted Kind = "flow.started"

	// FlowStep: the flow went through the node that Key names. Attempt is the
	// number of the step, from 1; Wait is how long the step took; Reason gives
	// the action that was taken; Err is the node's error.
	FlowStep Kind = "flow.step"

	// FlowFinished: a run of the flow ended. Wait is how long it took, Err is
	// nil unless it failed.
	FlowFinished Kind = "flow.finished"
)

// NoIndex is the Index of an event that concerns no item.
const NoIndex int64 = -1

// Event is one thing that happened. It is a value that nobody changes after it
// was sent; an observer may keep it. Which of the optional fields are used is
// written at each [Kind].
type Event struct {
	// Time is when it happened, by the clock of the one who tells.
	Time time.Time
	// Kind says what happened.
	Kind Kind
	// Source is the name of the limiter, breaker, node, flow, executor or service that tells.
	Source string
	// Index is the position of the item, from 0, or NoIndex. Mind that the
	// zero Event has Index 0, which is an item: use New.
	Index int64
	// Key is the item's content key, in a FlowStep the node's name, in a LimiterHit the
	// limit; may be empty. It must never be a secret.
	Key string
	// Attempt counts attempts from 1, the first included; 0 where there is none.
	Attempt int
	// Wait is a length of time: how long until it goes on, or how long it took.
	Wait time.Duration
	// From and To are a value before and after a change.
	From, To float64
	// Reason is one sentence for people; its wording is not part of the API.
	Reason string
	// Err is the error that goes with it, or nil.
	Err error
	// Request is what a NetRequest tells besides, and nil for every other kind.
	Request *Request
	// Download is what a DownloadFetch tells besides, and nil for every other kind.
	Download *Download
	// Progress is what a FlowProgress tells besides, and nil for every other kind.
	Progress *Progress
	// Task is what the events of tasks tell besides, and nil for every other kind.
	Task *Task
	// Model is what a ModelStarted and a ModelFinished tell besides, and nil for every other kind.
	Model *Model
}

// New returns an event that concerns no item: Index is [NoIndex].
func New(now time.Time, kind Kind, source string) Event {
	return Event{Time: now, Kind: kind, Source: source, Index: NoIndex}
}
