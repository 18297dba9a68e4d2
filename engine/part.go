package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/headrace/headrace/guard"
)

// Kind is what an engine does with a part.
type Kind uint8

// Kinds of parts.
const (
	Step  Kind = iota // one function over the state: Run
	Batch             // a function over many items, or with one part Inside a flow over many: Items
	Flow              // the parts Inside one after the other, by Follow
	Fork              // the parts Inside at the same time, over one state
)

var kindNames = [...]string{"step", "batch", "flow", "fork"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Part is a node of a flow without its type parameters: states, items and results are JSON. It must
// not be changed. Its functions may be called concurrently, and call code of the user: a panic is
// returned as an error.
type Part struct {
	Kind Kind
	Name string
	Path string // the names from the outermost node on, with slashes between; unique in the plan

	// Inside are the nodes of a Flow, the first one first, and of a Fork. A Batch has the node that runs
	// for each item, if it is a batch of flows.
	Inside []*Part
	// Edges are those of a Flow.
	Edges []Edge
	// MaxSteps bounds how many nodes a run of a Flow goes through.
	MaxSteps int
	// Follow returns the index of the successor in Inside, or -1 at the end of the Flow. An action
	// without an edge is a *flow.ActionError. It is a pure function.
	Follow func(from int, action string) (to int, err error)

	// Guard returns the guard of the calls of a Step or Batch.
	Guard func() *guard.Guard
	// Run makes one attempt at a Step.
	Run func(ctx context.Context, state []byte, p guard.Progress) Outcome
	// Items are those of a Batch.
	Items *Items

	// Types names the types of state, items and results, as far as there are any.
	Types string
	// Encode returns the JSON of a state, or an error if it would come back different.
	Encode func(state any) ([]byte, error)

	check func() error
}

// Edge leads from one part inside a Flow to another, or to the end.
type Edge struct {
	From   int // index in Inside
	Action string
	To     int // index in Inside; -1: the end
}

// Outcome is the result of one attempt at a Step.
type Outcome struct {
	Action string
	State  []byte // the state after it

	Again bool           // the attempt has to be repeated, after Next.Delay
	Next  guard.Progress // for that
	Err   error          // why there is no State
}

// Items are the work of a Batch.
type Items struct {
	// Parallel is how many items may be worked on at a time, by all machines.
	Parallel int
	// MostFailures is how many failed items do not stop the batch; negative: any number.
	MostFailures int64
	// List calls yield with each item of the state, or with the error that stands for one.
	List func(ctx context.Context, state []byte, yield func(item []byte, err error) error) error
	// Attempt makes one attempt at an item that is not a flow.
	Attempt func(ctx context.Context, index int64, item []byte, p guard.Progress) ItemOutcome
	// Settle returns the result of an item for which the flow Inside ended with
	// err. It calls the fallback.
	Settle func(ctx context.Context, index int64, item, out []byte, err error) Result
	// Finish stores the results in the state. stopped is why some are missing,
	// or nil.
	Finish func(ctx context.Context, state []byte, results iter.Seq[Result], stopped error) (action string, after []byte, err error)
}

// ItemOutcome is the result of one attempt at an item.
type ItemOutcome struct {
	Again bool           // the attempt has to be repeated, after Next.Delay
	Next  guard.Progress // for that
	Cause error          // why
	Result
}

// States of a Result.
const (
	Done    = "done"
	Failed  = "failed"
	Pending = "pending" // the provider or the store of the limits does not accept the item, or the run was stopped: it may be called again
)

// Result is the outcome of an item.
type Result struct {
	Index    int64           `json:"index"`
	Key      string          `json:"key,omitempty"`
	In       json.RawMessage `json:"in,omitempty"`
	Out      json.RawMessage `json:"out,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	State    string          `json:"state"`
	Err      *RemoteError    `json:"err,omitempty"`
}
