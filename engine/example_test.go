package engine_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

type letter struct{ Text, Answer string }

// An engine walks through the parts of a flow, with the state as JSON.
func ExampleNew() {
	answer := node.One("answer",
		func(_ context.Context, l *letter) (string, error) { return "Thank you for " + l.Text, nil },
		func(l *letter, s string) { l.Answer = s })
	sign := node.Do("sign", func(_ context.Context, l *letter) error { l.Answer += "."; return nil })
	plan, err := engine.New(flow.New("letter", answer).Then(sign))
	if err != nil {
		fmt.Println(err)
		return
	}
	for part := range plan.Parts() {
		fmt.Println(part.Kind, part.Path)
	}
	state, err := plan.Encode(&letter{Text: "the flour"})
	fmt.Println(string(state), err)
	// Output:
	// flow letter
	// batch letter/answer
	// step letter/sign
	// {"Text":"the flour","Answer":""} <nil>
}
