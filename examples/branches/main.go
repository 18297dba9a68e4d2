// Branches: an approval flow with three ways out and a loop.
//
// A node picks what follows by the action it returns. On names an edge, End an
// action that ends the flow. A node that has edges must name all its actions,
// else the run fails and lists the known ones; a loop that no action leaves is
// found before the first step. A node without edges ends the flow: do not
// forget the way back of a loop. The report's Last says where a run ended.
//
//	go run ./examples/branches
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

func main() {
	reviewing := node.Func("review", review)
	cutting := node.Do("cut", cut)
	paying := node.Do("pay", pay)

	expense := flow.New("expense", reviewing).
		On(reviewing, approve, paying).
		On(reviewing, revise, cutting).
		On(cutting, node.Next, reviewing). // the way back
		End(reviewing, reject).
		WithMaxSteps(20)

	for _, amount := range []int{80, 150, 400} {
		e := &Expense{Amount: amount}
		report, err := flow.Run(context.Background(), expense, e)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%d: %q after %d steps, action %q\n", amount, e.Log, report.Steps, report.Action)
	}

	fmt.Println()
	fmt.Print(flow.Mermaid(expense)) // paste it into any Markdown that draws Mermaid
}
