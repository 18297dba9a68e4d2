// Flow: several steps, of which one decides what follows.
//
//	go run ./examples/tutorial/5flow
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
)

// Entry is the state: a text, and the line that is to stand for it.
type Entry struct {
	Text   tutorial.Text
	Line   string
	Rounds int
}

const tooLong node.Action = "too long"

// steps are what is done to an entry.
type steps struct{ model tutorial.Model }

func (s steps) write(ctx context.Context, e *Entry) (err error) {
	e.Line, err = s.model.Ask(ctx, "Summarise this in one sentence.", e.Text.Body)
	return err
}

func (s steps) judge(ctx context.Context, e *Entry) (node.Action, error) {
	verdict, err := s.model.Ask(ctx, "Judge whether this is short enough for a card: yes or no.", e.Line)
	if err != nil {
		return node.Next, err
	}
	fmt.Printf("%s %q\n", verdict, e.Line)
	if strings.HasPrefix(strings.ToLower(verdict), "yes") || e.Rounds == 3 {
		return node.Next, nil
	}
	return tooLong, nil
}

func (s steps) shorten(ctx context.Context, e *Entry) error {
	line, err := s.model.Ask(ctx, "Shorten this.", e.Line)
	if err != nil {
		return err
	}
	e.Line, e.Rounds = line, e.Rounds+1 // at the end: a retry meets the entry as it was
	return nil
}

func entry(model tutorial.Model) *flow.Flow[*Entry] {
	s := steps{model}
	write, judge, shorten := node.Do("write", s.write), node.Decide("judge", s.judge), node.Do("shorten", s.shorten)
	return flow.New("entry", write).Then(judge).
		On(judge, tooLong, shorten).
		On(shorten, node.Next, judge). // the way back
		End(judge, node.Next)
}

func run(ctx context.Context) error {
	model, err := fake.New(providertest.Config{})
	if err != nil {
		return err
	}
	defer model.Close()

	f := entry(model)
	report, err := flow.Run(ctx, f, &Entry{Text: tutorial.Texts()[0]})
	if err != nil {
		return err
	}
	fmt.Println(report.Steps, "steps, ended after", report.Last)
	fmt.Print(flow.Mermaid(f))
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
