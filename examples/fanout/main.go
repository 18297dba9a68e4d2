// Fan-out and join: different steps of one flow at the same time, and a step that
// is paid for once.
//
// Two checks of an article do not need each other, so flow.Parallel runs them at
// the same time. Each writes to a field of its own. If one failed, the other
// would begin no new call.
//
// node.One and node.Each record their results in a journal. The first run fails
// behind the join; the second one finds plan and facts there, and only the plain
// step calls again.
//
//	go run ./examples/fanout
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// Article is the state.
type Article struct {
	Text  string
	Plan  string   // written by plan
	Facts []string // written by facts
	Tone  string   // written by tone
}

// model stands for the provider, and counts its answers.
type model struct{ answers atomic.Int64 }

func (m *model) ask(_ context.Context, task, text string) (string, error) {
	m.answers.Add(1)
	return task + ": " + text, nil
}

// review is a plan, two checks at the same time, and the mail.
func review(m *model, j journal.Journal, send func(context.Context, *Article) error) *flow.Flow[*Article] {
	plan := node.One("plan",
		func(ctx context.Context, a *Article) (string, error) { return m.ask(ctx, "plan", a.Text) },
		func(a *Article, plan string) { a.Plan = plan }).WithJournal(j)

	facts := node.Each("facts",
		func(a *Article) []string { return strings.SplitAfter(a.Text, ". ") },
		func(ctx context.Context, sentence string) (string, error) { return m.ask(ctx, "true", sentence) },
		func(a *Article, facts []string) { a.Facts = facts }).WithParallel(4).WithJournal(j)
	tone := node.Do("tone", func(ctx context.Context, a *Article) (err error) {
		a.Tone, err = m.ask(ctx, "friendly", a.Text)
		return err
	})

	return flow.New("review", plan).
		Then(flow.Parallel("checks", facts, tone)).
		Then(node.Do("send", send))
}

func main() {
	const text = "A mill needs a fall of water. The headrace leads it to the wheel."
	m, j := &model{}, journal.NewMemory()

	_, err := flow.Run(context.Background(), review(m, j, func(context.Context, *Article) error {
		return errors.New("the post office is closed")
	}), &Article{Text: text})
	fmt.Println(err)
	before := m.answers.Swap(0)

	again := review(m, j, func(context.Context, *Article) error { return nil })
	a := &Article{Text: text}
	report, err := flow.Run(context.Background(), again, a)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(a.Plan)
	fmt.Println(len(a.Facts), "facts, and", a.Tone)
	fmt.Println(before, "calls in the first run;", m.answers.Load(), "in the second:",
		report.Nodes["plan"].Resumed, "plan and", report.Nodes["facts"].Resumed, "facts were in the journal")
	fmt.Print(flow.Mermaid(again))
}
