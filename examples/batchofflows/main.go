// Batch of flows: a flow of several steps for every item, many at the same time.
//
// flow.Each runs a flow once for every ticket. Each instance works on a Ticket
// of its own, which has its parameters, and in which the steps leave its result.
// A retry begins at the first step with a fresh copy, so that nothing of the
// failed attempt is left over.
//
//	go run ./examples/batchofflows
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

const inbox = `The wheel stands still!
What does a sack of flour cost?
WIN A FREE MILL
Your gate is stuck!`

// State is what the flow around the batch works on.
type State struct {
	Inbox   string
	Tickets []Ticket
}

// Ticket is what one instance works on: its parameters and its result in one.
type Ticket struct {
	Text  string
	Steps []string
	Reply string
}

// Clone is there because Ticket has a slice: an assignment would share it.
func (t Ticket) Clone() Ticket {
	t.Steps = slices.Clone(t.Steps)
	return t
}

const (
	urgent node.Action = "urgent"
	spam   node.Action = "spam"
)

// classify stands for a call of a model, as the other steps do.
func classify(_ context.Context, t *Ticket) (node.Action, error) {
	t.Steps = append(t.Steps, "classify")
	switch {
	case strings.HasSuffix(t.Text, "!"):
		return urgent, nil
	case t.Text == strings.ToUpper(t.Text):
		return spam, nil
	default:
		return node.Next, nil
	}
}

// helpers calls a helper, and gets no answer the first time.
type helpers struct{ calls atomic.Int64 }

func (h *helpers) call(_ context.Context, t *Ticket) error {
	t.Steps = append(t.Steps, "call")
	if h.calls.Add(1) == 1 {
		return errors.New("nobody answers")
	}
	return nil
}

func answer(_ context.Context, t *Ticket) error {
	t.Steps = append(t.Steps, "answer")
	t.Reply = "About: " + t.Text
	return nil
}

func main() {
	classifying, calling, answering := node.Decide("classify", classify), node.Do("call", new(helpers).call), node.Do("answer", answer)
	ticket := flow.New("ticket", classifying).Then(answering).
		On(classifying, urgent, calling).On(calling, node.Next, answering).
		End(classifying, spam)

	tickets := flow.Each("tickets",
		func(s *State) (all []Ticket) {
			for line := range strings.SplitSeq(s.Inbox, "\n") {
				all = append(all, Ticket{Text: line})
			}
			return all
		},
		ticket,
		func(s *State, done []Ticket) { s.Tickets = done }). // in the order of the inbox
		WithParallel(3).                                     // instances at a time
		WithLimits(throttle.Limits{Concurrency: 2}).         // of which so many may run: limits count instances here
		WithRetry(retry.Policy{Initial: time.Millisecond})   // of the whole instance

	s := &State{Inbox: inbox}
	report, err := flow.Run(context.Background(), tickets, s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, t := range s.Tickets {
		fmt.Printf("%q %s %q\n", t.Text, t.Steps, t.Reply)
	}
	n := report.Nodes["tickets"]
	fmt.Println(n.Done, "done,", n.Retries, "retry,", report.Steps, "steps in all")
}
