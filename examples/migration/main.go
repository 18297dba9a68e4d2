// Migration: a pipeline as it might be written with PocketFlow, in Go.
//
// A model sorts reviews, a reply is drafted where one is due, and the kinds are
// counted. docs/migration.md shows the same in Python beside it. The provider
// refuses one call, which is waited out; one draft fails for good, and the
// fallback takes its place; one answer is no kind that the flow knows, which is
// an error of that review instead of its silent end. A second run with the same
// journal makes no call.
//
//	go run ./examples/migration
package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

const (
	praise    node.Action = "praise"
	question  node.Action = "question"
	complaint node.Action = "complaint"
)

// Review is one item: its parameters, and what the steps make of it.
type Review struct {
	Text  string
	Kind  node.Action
	Reply string
}

// Digest is the state of the whole flow.
type Digest struct {
	Reviews []Review
	Failed  []error
	Counts  map[node.Action]int
}

// model is the client, and what the steps do with it.
type model struct{ chat.Client }

func (m model) classify(ctx context.Context, r *Review) (node.Action, error) {
	kind, err := m.Complete(ctx, "classify "+r.Text, "Praise, question or complaint? One word. "+r.Text)
	if err != nil {
		return node.Next, err
	}
	r.Kind = node.Action(kind)
	return r.Kind, nil
}

func (m model) draft(ctx context.Context, r *Review) (err error) {
	r.Reply, err = m.Complete(ctx, "draft "+r.Text, "Answer in one sentence. "+r.Text)
	return err
}

func apologise(_ context.Context, r *Review, _ error) (node.Action, error) {
	r.Reply = "Somebody will call you."
	return node.Next, nil
}

func reviews(_ context.Context, d *Digest) (iter.Seq2[Review, error], error) {
	return node.Slice(d.Reviews), nil
}

func collect(_ context.Context, d *Digest, r *node.Report[Review, Review]) (node.Action, error) {
	d.Reviews = r.Values() // in the order of the input
	for failed := range r.Failed() {
		d.Failed = append(d.Failed, fmt.Errorf("%q: %w", failed.In.Text, failed.Err))
	}
	return node.Next, nil // or r.Err(), to fail if any review has
}

func count(_ context.Context, d *Digest) error {
	d.Counts = map[node.Action]int{}
	for _, r := range d.Reviews {
		if r.Kind != "" { // else it has failed, and is as it was
			d.Counts[r.Kind]++
		}
	}
	return nil
}

// digest puts the nodes together. Both that call the provider are within one
// guard, because they share its quota.
func digest(m model, provider *guard.Guard, j journal.Journal) *flow.Flow[*Digest] {
	policy := retry.Policy{MaxAttempts: 3, Initial: 10 * time.Millisecond}
	classify := node.Decide("classify", m.classify).Within(provider).WithRetry(policy)
	draft := node.Do("draft", m.draft).Within(provider).WithRetry(policy).WithFallback(apologise)
	review := flow.New("review", classify).
		On(classify, question, draft).
		On(classify, complaint, draft).
		End(classify, praise)
	each := flow.Batch("reviews", reviews, review, collect).WithParallel(4).WithJournal(j)
	return flow.New("digest", each).Then(node.Do("count", count))
}

// unread are the reviews as the night finds them.
func unread() (all []Review) {
	for _, text := range []string{
		"Fine flour.", "Do you grind spelt?", "The sack wasn't full.",
		"Quick and friendly.", "Good bread, but it was late.", "The door doesn't close.",
	} {
		all = append(all, Review{Text: text})
	}
	return all
}

func run(ctx context.Context) error {
	provider, err := service()
	if err != nil {
		return err
	}
	defer provider.Close()
	quota, err := guard.New(guard.Policy{Name: "provider"})
	if err != nil {
		return err
	}
	f := digest(model{chat.New(provider)}, quota, journal.NewMemory())

	d := &Digest{Reviews: unread()}
	report, err := flow.Run(ctx, f, d)
	if err != nil {
		return err
	}
	for _, r := range d.Reviews {
		fmt.Printf("%-10s%q %q\n", r.Kind, r.Text, r.Reply)
	}
	for _, err := range d.Failed {
		fmt.Println("failed:", err)
	}
	fmt.Println(d.Counts)
	sent := provider.Counts().Arrivals
	fmt.Printf("%d calls, %d refused, %d retries\n", sent, report.Limiters["provider"].Hits, report.Nodes["draft"].Retries)

	if report, err = flow.Run(ctx, f, &Digest{Reviews: unread()}); err != nil {
		return err
	}
	fmt.Printf("again: %d resumed, %d calls\n", report.Nodes["reviews"].Resumed, provider.Counts().Arrivals-sent)
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
