package main

import (
	"context"
	"strings"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// What follows is the flow of examples/tutorial/6nested, which a test compares.

// Catalogue is the state of the whole run.
type Catalogue struct{ Entries []Entry }

// Entry is the state of one text's flow.
type Entry struct {
	Text   tutorial.Text
	Notes  []string // one for each passage
	Line   string
	Rounds int
}

const tooLong node.Action = "too long"

// steps are what is done to an entry.
type steps struct{ model tutorial.Model }

func (s steps) note(ctx context.Context, passage string) (string, error) {
	return s.model.Ask(ctx, "Summarise this in one sentence.", passage)
}

func (s steps) write(ctx context.Context, e *Entry) (err error) {
	e.Line, err = s.model.Ask(ctx, "Summarise these notes in one sentence.", strings.Join(e.Notes, "\n"))
	return err
}

func (s steps) judge(ctx context.Context, e *Entry) (node.Action, error) {
	verdict, err := s.model.Ask(ctx, "Judge whether this is short enough for a card: yes or no.", e.Line)
	if err != nil {
		return node.Next, err
	}
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

func passages(e *Entry) []string { return strings.Split(e.Text.Body, "\n\n") }

func entries(*Catalogue) (all []Entry) {
	for _, t := range tutorial.Texts() {
		all = append(all, Entry{Text: t})
	}
	return all
}

// catalogue puts the levels together, from the inside out. All calls draw on one quota, so
// there is one guard.
func catalogue(model tutorial.Model, quota *guard.Guard) *node.Batch[*Catalogue, Entry, Entry] {
	s, again := steps{model}, retry.Policy{}
	notes := node.Each("notes", passages, s.note, func(e *Entry, notes []string) { e.Notes = notes }).
		WithParallel(3).Within(quota).WithRetry(again)
	write := node.Do("write", s.write).Within(quota).WithRetry(again)
	judge := node.Decide("judge", s.judge).Within(quota).WithRetry(again)
	shorten := node.Do("shorten", s.shorten).Within(quota).WithRetry(again)

	entry := flow.New("entry", notes).Then(write).Then(judge).
		On(judge, tooLong, shorten).
		On(shorten, node.Next, judge).
		End(judge, node.Next)

	return flow.Each("texts", entries, entry, func(c *Catalogue, done []Entry) { c.Entries = done }).
		WithParallel(3)
}
