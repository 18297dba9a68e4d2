// Resume: the same, and it goes on where it was killed.
//
//	go run ./examples/tutorial/7resume
//	go run ./examples/tutorial/7resume -fresh -kill 20 # killed by itself, as by kill -9, at the 20th answer
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlitestore"
)

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

func (s steps) write(ctx context.Context, e *Entry) (line string, err error) {
	return s.model.Ask(ctx, "Summarise these notes in one sentence.", strings.Join(e.Notes, "\n"))
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

// version is what the results depend on besides the texts. Change it with the prompts and the model.
const version = "fake, 1"

// catalogue puts the levels together, from the inside out.
func catalogue(model tutorial.Model, quota *guard.Guard, j journal.Journal) *node.Batch[*Catalogue, Entry, Entry] {
	s, again := steps{model}, retry.Policy{}
	notes := node.Each("notes", passages, s.note, func(e *Entry, notes []string) { e.Notes = notes }).
		WithParallel(3).Within(quota).WithRetry(again).
		WithJournal(j).
		WithVersion(version)
	write := node.One("write", s.write, func(e *Entry, line string) { e.Line = line }).
		Within(quota).WithRetry(again).
		WithJournal(j).
		WithVersion(version)
	judge := node.Decide("judge", s.judge).Within(quota).WithRetry(again)
	shorten := node.Do("shorten", s.shorten).Within(quota).WithRetry(again)

	entry := flow.New("entry", notes).Then(write).Then(judge).
		On(judge, tooLong, shorten).
		On(shorten, node.Next, judge).
		End(judge, node.Next)

	return flow.Each("texts", entries, entry, func(c *Catalogue, done []Entry) { c.Entries = done }).
		WithParallel(3).
		WithJournal(j).
		WithKey(func(e Entry) string { return e.Text.Title }). // identifies the item in the journal
		WithVersion(version)
}

// mortal is a model that counts its answers, and takes the process with it at one of them.
type mortal struct {
	tutorial.Model

	answers atomic.Int64
	last    int64
}

func (m *mortal) Ask(ctx context.Context, task, text string) (string, error) {
	answer, err := m.Model.Ask(ctx, task, text)
	if err == nil && m.answers.Add(1) == m.last {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
			select {} // nothing more happens in this process
		}
	}
	return answer, err
}

// settings are the flags.
type settings struct {
	journal string
	fresh   bool
	kill    int64
}

func run(ctx context.Context, s settings) (err error) {
	model, err := fake.New(providertest.Config{Limits: providertest.Limits{Concurrency: 4}})
	if err != nil {
		return err
	}
	defer model.Close()
	counted := &mortal{Model: model, last: s.kill}
	quota, err := guard.New(guard.Policy{Name: "model"})
	if err != nil {
		return err
	}

	j, err := sqlitestore.OpenJournal(s.journal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if s.fresh {
		if err := j.Forget(ctx, "cards"); err != nil {
			return err
		}
	}

	c := &Catalogue{}
	report, err := flow.Run(ctx, catalogue(counted, quota, j), c, flow.WithRun("cards"))
	if err != nil {
		return err
	}
	for _, e := range c.Entries {
		fmt.Printf("%s: %s (%d rounds)\n", e.Text.Title, e.Line, e.Rounds)
	}
	for _, name := range []string{"texts", "notes"} {
		n := report.Nodes[name]
		fmt.Println(name+":", n.Resumed, "from the journal,", n.Done, "done now")
	}
	fmt.Println("answers now:", counted.answers.Load())
	return nil
}

func main() {
	var s settings
	flag.StringVar(&s.journal, "journal", filepath.Join(os.TempDir(), "headrace-tutorial.db"), "the `file` that keeps what is done")
	flag.BoolVar(&s.fresh, "fresh", false, "forget what is done, and begin anew")
	flag.Int64Var(&s.kill, "kill", 0, "kill the process at so many `answers`; 0: never")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills at once
	if err := run(ctx, s); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
