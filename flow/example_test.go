package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// letter is the shared state of the examples.
type letter struct {
	Text   string
	Drafts int
}

func write(_ context.Context, l *letter) error {
	l.Drafts++
	l.Text = fmt.Sprintf("Dear reader (draft %d)", l.Drafts)
	return nil
}

func Example() {
	f := flow.New("letter", node.Do("write", write)).
		Then(node.Do("sign", func(_ context.Context, l *letter) error {
			l.Text += ", yours"
			return nil
		}))
	l := &letter{}
	_, err := flow.Run(context.Background(), f, l)
	fmt.Println(l.Text, err)
	// Output:
	// Dear reader (draft 1), yours <nil>
}

func ExampleFlow_On() {
	draft := node.Do("draft", write)
	review := node.Decide("review", func(_ context.Context, l *letter) (node.Action, error) {
		if l.Drafts < 3 {
			return "revise", nil
		}
		return "approve", nil
	})
	f := flow.New("letter", draft).
		Then(review).
		On(review, "revise", draft). // the way back
		End(review, "approve").
		WithMaxSteps(20)
	l := &letter{}
	report, err := flow.Run(context.Background(), f, l)
	fmt.Println(l.Text, report.Action, report.Steps, err)
	// Output:
	// Dear reader (draft 3) approve 6 <nil>
}

// A node that has edges must name every action that it returns.
func ExampleActionError() {
	review := node.Decide("review", func(context.Context, *letter) (node.Action, error) { return "aprove", nil })
	f := flow.New("letter", review).End(review, "approve").On(review, "revise", node.Do("write", write))

	_, err := flow.Run(context.Background(), f, &letter{})
	var unknown *flow.ActionError
	fmt.Println(errors.As(err, &unknown), err)
	// Output:
	// true flow "letter": node "review" returned the action "aprove", known are "approve", "revise": add an edge with On, or End
}

// The last action of an inner flow picks the way on in the outer one.
func ExampleFlow_nested() {
	check := node.Decide("check", func(_ context.Context, l *letter) (node.Action, error) {
		if strings.Contains(l.Text, "Dear") {
			return "polite", nil
		}
		return "rude", nil
	})
	writing := flow.New("writing", node.Do("write", write)).Then(check).End(check, "polite").End(check, "rude")
	mail := flow.New("mail", writing).
		On(writing, "polite", node.Do("send", func(_ context.Context, l *letter) error {
			fmt.Println("sent:", l.Text)
			return nil
		})).
		On(writing, "rude", node.Do("burn", func(context.Context, *letter) error { return nil }))
	_, err := flow.Run(context.Background(), mail, &letter{})
	fmt.Println(err)
	// Output:
	// sent: Dear reader (draft 1)
	// <nil>
}

// A flow for every city, three at a time. Each instance works on a city of its own.
func ExampleBatch() {
	type city struct {
		Name  string
		Shout string
	}
	type atlas struct{ Cities []string }

	upper := node.Do("upper", func(_ context.Context, c *city) error {
		c.Shout = strings.ToUpper(c.Name)
		return nil
	})
	mark := node.Do("mark", func(_ context.Context, c *city) error {
		c.Shout += "!"
		return nil
	})
	perCity := flow.New("city", upper).Then(mark)

	cities := flow.Batch("cities",
		func(_ context.Context, a *atlas) (iter.Seq2[city, error], error) {
			return func(yield func(city, error) bool) {
				for _, name := range a.Cities {
					if !yield(city{Name: name}, nil) {
						return
					}
				}
			}, nil
		},
		perCity,
		func(_ context.Context, a *atlas, r *node.Report[city, city]) (node.Action, error) {
			for i, c := range r.Values() {
				a.Cities[i] = c.Shout
			}
			return node.Next, r.Err()
		}).WithParallel(3)

	a := &atlas{Cities: []string{"Oslo", "Lima", "Cairo", "Perth"}}
	_, err := flow.Run(context.Background(), cities, a)
	fmt.Println(a.Cities, err)
	// Output:
	// [OSLO! LIMA! CAIRO! PERTH!] <nil>
}

// The report tells what came to pass, whether or not the run succeeded.
func ExampleRun() {
	lengths := node.BatchFunc("lengths",
		func(context.Context, *letter) (iter.Seq2[string, error], error) {
			return node.Slice([]string{"one", "", "three"}), nil
		},
		func(_ context.Context, word string) (int, error) {
			if word == "" {
				return 0, errors.New("no word")
			}
			return len(word), nil
		}, nil)
	report, err := flow.Run(context.Background(), flow.New("count", lengths), &letter{})
	fmt.Println(err)
	done := report.Nodes["lengths"]
	fmt.Println(report.Steps, "step,", done.Done, "items done,", done.Failed, "failed")
	// Output:
	// flow "count": node "lengths": 1 of 3 items failed; first: item 1: no word
	// 1 step, 2 items done, 1 failed
}

func ExampleWithObserver() {
	f := flow.New("letter", node.Do("write", write)).Then(node.Do("sign", func(context.Context, *letter) error { return nil }))
	watch := event.Func(func(e event.Event) {
		if e.Kind == event.FlowStep {
			fmt.Println("step", e.Attempt, e.Key)
		}
	})
	_, err := flow.Run(context.Background(), f, &letter{}, flow.WithObserver(watch))
	fmt.Println(err)
	// Output:
	// step 1 write
	// step 2 sign
	// <nil>
}

func ExampleMermaid() {
	draft, review := node.Do("draft", write), node.Do("review", write)
	fmt.Print(flow.Mermaid(flow.New("letter", draft).Then(review).On(review, "revise", draft).End(review, "approve")))
	// Output:
	// flowchart TD
	//     subgraph n1["letter"]
	//         n2["draft"]
	//         n3["review"]
	//         n2 --> n3
	//         n3 -->|"revise"| n2
	//         n4(("end"))
	//         n3 -->|"approve"| n4
	//     end
}
