package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/demo"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
)

type demoCommand struct {
	Requests int          `default:"1200" placeholder:"N" help:"How many requests there are, at most. Default: ${default}."`
	Seed     uint64       `placeholder:"N" help:"What the provider's limits are drawn from. Default: another one each time."`
	Keep     string       `placeholder:"FOLDER" help:"Keep requests, results and journal in a new folder. Default: nothing is left behind."`
	Progress console.Mode `default:"auto" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
}

// Help is what --help says behind the list of flags.
func (*demoCommand) Help() string {
	return `It does what "headrace run" does, with a file of questions about the words of six texts in the public domain. The provider is a process of its own on this machine, "headrace provider": it draws a limit of 30 to 70 requests a second at random, moves it every 8 seconds and says nothing about it, and 2 % of its answers are errors. In the end it reveals what was possible. It takes half a minute or so, and needs neither key nor network.

Examples:
  headrace demo
  headrace demo --seed 7
  headrace demo --keep demo
  headrace demo --progress plain`
}

// What the provider of the demo is.
const (
	demoHidden = "30-70"
	demoMove   = 8 * time.Second
	demoFaults = "0.02"
)

// Run is called by kong.
func (c *demoCommand) Run(ctx context.Context, p *Program) (err error) {
	if c.Requests < 1 {
		return &settings.Error{Flag: "--requests", Problem: fmt.Sprintf("%d is below 1", c.Requests)}
	}
	for c.Seed == 0 {
		c.Seed = rand.Uint64N(100_000) //nolint:gosec // nothing secret is drawn
	}
	folder, clean, err := c.folder(p)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	defer func() { err = errors.Join(err, clean()) }()
	file := filepath.Join(folder, "requests.jsonl")
	answers, err := c.write(file)
	if err != nil {
		return err
	}
	child, err := p.provider(ctx, "--hidden", demoHidden, "--move", demoMove.String(), "--faults", demoFaults, "--seed", strconv.FormatUint(c.Seed, 10))
	if err != nil {
		return err
	}
	defer child.end()
	s, err := settings.Resolve(settings.Flags{
		Requests: file, BaseURL: child.base, MaxAttempts: 6, MaxWait: time.Minute, Timeout: time.Minute, Grace: 10 * time.Second,
		LogLevel: "error", Progress: c.Progress,
	}, func(string) string { return "" })
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%d requests to %s, which is process %d.\nIt hides its limit, and moves it on the way.\n", len(answers), child.base, child.pid())
	o, err := c.do(child.with(ctx), p, s)
	return c.close(context.WithoutCancel(ctx), p, s, o, child, answers, err) // an interrupt ends the run, and not the account of it
}

// folder returns where the files are, and what removes it.
func (c *demoCommand) folder(p *Program) (path string, clean func() error, err error) {
	if c.Keep != "" {
		if err := os.MkdirAll(filepath.Dir(c.Keep), 0o755); err != nil { //nolint:gosec // for whoever may read the folder
			return "", nil, fmt.Errorf("--keep: %w", err)
		}
		if err := os.Mkdir(c.Keep, 0o755); err != nil { //nolint:gosec // as above
			return "", nil, fmt.Errorf("--keep: %w: a new folder is wanted", err)
		}
		return c.Keep, func() error { return nil }, nil
	}
	path, err = os.MkdirTemp("", "headrace-demo-")
	if err != nil {
		return "", nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undo = func() { _ = os.RemoveAll(path) } // after a second Ctrl-C
	return path, func() error { return os.RemoveAll(path) }, nil
}

func (c *demoCommand) write(path string) (answers map[string]string, err error) {
	f, err := os.Create(path) //nolint:gosec // in the folder of the demo
	if err != nil {
		return nil, err
	}
	answers, err = demo.Write(f, c.Requests)
	return answers, errors.Join(err, f.Close())
}

// do is `headrace run`.
func (c *demoCommand) do(ctx context.Context, p *Program, s *settings.Run) (*run.Outcome, error) {
	shown, err := p.display(c.Progress)
	if err != nil {
		return nil, err
	}
	defer p.hide()
	p.mu.Lock()
	p.grace = stopping(s.Grace)
	p.mu.Unlock()
	j := &run.Job{Run: s, Display: shown, Log: logger(s, shown.Writer()), Agent: "headrace/" + version()}
	if _, err := j.Scan(ctx); err != nil {
		return &run.Outcome{}, err
	}
	return j.Do(ctx)
}

// close tells what became of it, and what was possible.
func (c *demoCommand) close(ctx context.Context, p *Program, s *settings.Run, o *run.Outcome, child *child, answers map[string]string, err error) error {
	if o == nil {
		return err
	}
	fmt.Fprintln(p.Stdout, summary(o))
	if l, askErr := child.ledger(ctx); askErr == nil {
		reveal(p.Stdout, &l)
	} else if err == nil {
		err = askErr
	}
	joined, joinErr := c.join(s.Out, answers)
	if joinErr != nil {
		return errors.Join(err, joinErr)
	}
	lost := "lost"
	if err != nil {
		lost = "not done"
	}
	fmt.Fprintf(p.Stdout, "By custom_id: %d of %d have their own answer; %d %s, %d twice, %d mixed up.\n",
		joined.Own, len(answers), joined.Lost, lost, joined.Twice, joined.Foreign)
	if c.Keep != "" {
		fmt.Fprintf(p.Stdout, "Look at them: %s\n", s.Out)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "The same limits again: headrace demo --seed %d\n", c.Seed)
	if !joined.OK() {
		return errFailed
	}
	return nil
}

func (c *demoCommand) join(results string, answers map[string]string) (demo.Joined, error) {
	f, err := os.Open(results) //nolint:gosec // of the demo
	if errors.Is(err, os.ErrNotExist) {
		return demo.Joined{Lost: len(answers)}, nil
	}
	if err != nil {
		return demo.Joined{}, err
	}
	joined, err := demo.Join(f, answers)
	return joined, errors.Join(err, f.Close())
}
