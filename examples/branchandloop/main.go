// Branch and loop: an approval flow with three ways out of one node, and a way back.
//
// A node picks what follows by the action it returns. Then is the usual way, On
// an edge for an action, End an action that ends the flow. A node that has edges
// must name all its actions, else the run fails and lists the known ones; a loop
// that no action leaves is found before the first step.
//
// A node without edges ends the flow, and that is no error: it may be meant. So a
// loop without its edge back stops after its first round. The report's
// Last says where a run ended: compare it with where it should.
//
//	go run ./examples/branchandloop
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// Expense is the state of one run.
type Expense struct {
	Amount int // in euros
	Cuts   int
	Log    []string
}

const (
	approve node.Action = "approve"
	revise  node.Action = "revise"
	reject  node.Action = "reject"
)

func review(_ context.Context, e *Expense) (node.Action, error) {
	switch {
	case e.Amount < 100:
		return approve, nil
	case e.Cuts < 3:
		return revise, nil
	default:
		return reject, nil
	}
}

func cut(_ context.Context, e *Expense) error {
	e.Cuts++
	e.Amount -= 30
	e.Log = append(e.Log, fmt.Sprintf("cut to %d", e.Amount))
	return nil
}

func pay(_ context.Context, e *Expense) error {
	e.Log = append(e.Log, "paid")
	return nil
}

// steps are the nodes of a flow. Each flow gets its own.
type steps struct{ review, cut, pay node.Node[*Expense] }

func newSteps() steps {
	return steps{node.Decide("review", review), node.Do("cut", cut), node.Do("pay", pay)}
}

func approval() *flow.Flow[*Expense] {
	n := newSteps()
	return flow.New("expense", n.review).
		On(n.review, approve, n.pay).
		On(n.review, revise, n.cut).
		On(n.cut, node.Next, n.review). // the way back
		End(n.review, reject).
		WithMaxSteps(20)
}

// forgotten has no way back from cut.
func forgotten() *flow.Flow[*Expense] {
	n := newSteps()
	return flow.New("expense", n.review).
		On(n.review, approve, n.pay).
		On(n.review, revise, n.cut).
		End(n.review, reject)
}

func show(f *flow.Flow[*Expense], amount int) {
	e := &Expense{Amount: amount}
	report, err := flow.Run(context.Background(), f, e)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("%d: %q, %d steps, ended after %s\n", amount, e.Log, report.Steps, report.Last)
}

func main() {
	for _, amount := range []int{80, 150, 400} {
		show(approval(), amount)
	}
	fmt.Println("without the way back:")
	show(forgotten(), 150)

	fmt.Println()
	fmt.Print(flow.Mermaid(approval())) // paste it into any Markdown that draws Mermaid
}
