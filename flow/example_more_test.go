package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// The error of a run says where it happened; errors.Is sees the node's own.
func ExampleStepError() {
	errNoInk := errors.New("no ink")
	f := flow.New("letter", node.Do("write", write)).
		Then(node.Do("sign", func(context.Context, *letter) error { return errNoInk }))
	_, err := flow.Run(context.Background(), f, &letter{})
	if step, ok := errors.AsType[*flow.StepError](err); ok {
		fmt.Println(step.Flow, step.Node, step.Step, step.Err)
	}
	fmt.Println(errors.Is(err, errNoInk))
	// Output:
	// letter sign 2 no ink
	// true
}

// The reviewer is never satisfied: the bound ends the loop.
func ExampleStepsError() {
	draft := node.Do("draft", write)
	review := node.Decide("review", func(context.Context, *letter) (node.Action, error) { return "revise", nil })
	f := flow.New("letter", draft).Then(review).
		On(review, "revise", draft).
		End(review, "approve").
		WithMaxSteps(6)
	l := &letter{}
	_, err := flow.Run(context.Background(), f, l)
	var steps *flow.StepsError
	fmt.Println(errors.As(err, &steps), steps.Max, "steps, next would be", steps.Node)
	fmt.Println(l.Drafts, "drafts")
	// Output:
	// true 6 steps, next would be draft
	// 3 drafts
}

// All problems of a graph and of its nodes are reported together, before
// anything runs.
func ExampleFlow_Validate() {
	draft := node.Do("draft", write)
	review := node.Do("review", write).With(guard.Policy{Timeout: -time.Second})
	lost := node.Do("lost", write)
	f := flow.New("letter", draft).
		Then(review).
		On(draft, node.Next, review). // Then has added it
		On(review, "revise", nil).
		On(lost, "found", draft) // nothing leads to lost
	err := f.Validate()
	fmt.Println(err)
	var field *fault.FieldError
	fmt.Println(errors.As(err, &field), field.Field)
	// Output:
	// flow "letter": On: node "draft" already has an edge for the action Next
	// flow "letter": On: to: the node is nil
	// flow "letter": node "lost": no edge leads to it from "draft", where the flow begins
	// node "review": policy: guard "review": Timeout: -1s is negative: use 0 for no timeout
	// true On
}

// Last is the first thing to look at when a flow ended sooner than was meant.
func ExampleReport() {
	check := node.Decide("check", func(_ context.Context, l *letter) (node.Action, error) {
		if l.Text == "" {
			return "empty", nil
		}
		return node.Next, nil
	})
	f := flow.New("letter", check).
		Then(node.Do("send", func(context.Context, *letter) error { return nil })).
		End(check, "empty")
	report, err := flow.Run(context.Background(), f, &letter{})
	fmt.Println(err)
	fmt.Printf("%q %q %d\n", report.Last, report.Action, report.Steps)
	// Output:
	// <nil>
	// "check" "empty" 1
}

// Rate-limit responses fail nothing. The report counts them by the name of the guard.
func ExampleLimiterReport() {
	post, err := guard.New(guard.Policy{Name: "post office", Law: adaptive.AIMD{Initial: 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	refused := false
	send := node.Do("send", func(context.Context, *letter) error {
		if !refused {
			refused = true
			return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
		}
		return nil
	}).Within(post)
	report, err := flow.Run(context.Background(), flow.New("letter", send), &letter{})
	met := report.Limiters["post office"]
	fmt.Println(err, met.Hits, met.Cuts, met.Closed)
	fmt.Println(report.Nodes["send"].Failures, "failures")
	// Output:
	// <nil> 1 1 false
	// 0 failures
}
