// Sequential batch: one item after the other, in the order of the input.
//
// A batch is sequential without WithParallel. Here the order
// matters: each booking needs the balance that the one before has left.
// FailFast stops at the first that fails, so that none is booked behind it;
// without it the batch goes on and reports every failure at the end.
//
//	go run ./examples/sequentialbatch
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// file is what the bank sends, a line for each booking, in cents.
const file = `
{"text": "rent", "cents": -80000}
{"text": "electricity", "cents": -9050}
{"text": "insurance", "cents": -45000}
{"text": "salary", "cents": 210000}
`

// Booking is an item.
type Booking struct {
	Text  string
	Cents int
}

// Statement is the state that the nodes of the flow share.
type Statement struct {
	File  string
	Lines []string
	Left  string
}

// Account is the service that Exec calls.
type Account struct{ cents int }

// Book is Exec: it sees one booking, and never the Statement.
func (a *Account) Book(_ context.Context, b Booking) (int, error) {
	if a.cents+b.Cents < 0 {
		return 0, fmt.Errorf("%s: %s is short of %s", b.Text, euros(a.cents), euros(-b.Cents))
	}
	a.cents += b.Cents
	return a.cents, nil
}

func euros(cents int) string { return fmt.Sprintf("%.2f", float64(cents)/100) }

// read is Prep: it lists the items.
func read(_ context.Context, s *Statement) (iter.Seq2[Booking, error], error) {
	return node.JSONL[Booking](bytes.NewReader([]byte(s.File))), nil
}

// write is Post: it puts the results into the state, also of a run that was
// stopped, and says by its error whether the flow goes on.
func write(_ context.Context, s *Statement, r *node.Report[Booking, int]) (node.Action, error) {
	for result := range r.All() {
		if result.State == node.Done {
			s.Lines = append(s.Lines, fmt.Sprintf("%-12s %10s %10s", result.In.Text, euros(result.In.Cents), euros(result.Out)))
		}
	}
	return node.Next, r.Err()
}

func statement(account *Account) node.Node[*Statement] {
	book := node.BatchFunc("book", read, account.Book, write).WithOnError(node.FailFast())
	balance := node.Do("balance", func(_ context.Context, s *Statement) error {
		s.Left = euros(account.cents)
		return nil
	})
	return flow.New("statement", book).Then(balance)
}

func main() {
	for _, cents := range []int{100_000, 200_000} {
		s := &Statement{File: file}
		_, err := flow.Run(context.Background(), statement(&Account{cents}), s)
		for _, line := range s.Lines {
			fmt.Println(line)
		}
		if failed, ok := errors.AsType[*node.BatchError](err); ok {
			fmt.Println("stopped:", failed.First[0])
			fmt.Println(failed.Counts.Done, "booked, and nothing behind it")
		} else if err != nil {
			fmt.Println(err)
			os.Exit(1)
		} else {
			fmt.Println("left:", s.Left)
		}
		fmt.Println()
	}
}
