package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/demo"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
)

type demoCommand struct {
	Requests int          `default:"1400" placeholder:"N" help:"How many requests there are, at most. Default: ${default}."`
	Seed     uint64       `placeholder:"N" help:"What the provider's limits are drawn from. Default: another one each time."`
	Keep     string       `placeholder:"FOLDER" help:"Keep requests, results and journal in a new folder. Default: nothing is left behind."`
	Picture  string       `placeholder:"FILE" help:"Draw what happened, as SVG."`
	Progress console.Mode `default:"auto" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
}

// Help is what --help says behind the list of flags.
func (*demoCommand) Help() string {
	return fmt.Sprintf(`It does what "headrace run" does, with a file of questions about the words of six texts in the public domain. The provider is a process of its own on this machine, "headrace provider": it draws a limit of %s requests a second at random, moves it every %g seconds and says nothing about it, and %g %% of its answers are errors. In the end it reveals what was possible. It takes half a minute or so, and needs neither key nor network.

Examples:
  headrace demo
  headrace demo --seed 7
  headrace demo --keep demo
  headrace demo --picture demo.svg
  headrace demo --progress plain`, strings.Replace(demoHidden, "-", " to ", 1), demoMove.Seconds(), 100*demoFaults)
}

// What the provider of the demo is.
const (
	demoHidden = "30-70"
	demoMove   = 14 * time.Second
	demoFaults = 0.02
)

// Run is called by kong.
func (c *demoCommand) Run(ctx context.Context, p *Program) (err error) {
	if c.Requests < 1 {
		return &settings.Error{Flag: "--requests", Problem: fmt.Sprintf("%d is below 1", c.Requests)}
	}
	if err := writable(c.Picture, "picture"); err != nil {
		return err
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
	child, err := p.provider(ctx, "--hidden", demoHidden, "--move", demoMove.String(), "--faults", fmt.Sprint(demoFaults), "--seed", strconv.FormatUint(c.Seed, 10))
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
	d := &stage{demoCommand: c, p: p, run: s, child: child, answers: answers}
	d.scene.Command, d.scene.Requests = fmt.Sprintf("headrace demo --seed %d", c.Seed), len(answers)
	d.out = d.scene.tee(p.Stdout)
	fmt.Fprintf(d.out, "%d requests to %s, which is process %d.\nIt hides its limit, and moves it on the way.\n", len(answers), child.base, child.pid())
	d.scene.Said = d.scene.lines()
	o, err := d.do(child.with(ctx))
	return d.close(context.WithoutCancel(ctx), o, err) // an interrupt ends the run, and not the account of it
}

// stage is where one demo plays.
type stage struct {
	*demoCommand

	p       *Program
	run     *settings.Run
	child   *child
	answers map[string]string // that are due, by custom_id
	scene   scene
	out     io.Writer // standard output, and the scene
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
		return "", nil, fmt.Errorf("there is no folder for the files of the demo: %w: TMPDIR or --keep names one", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undo = func() { // after a second Ctrl-C
		for range 3 { // others still make files there
			if os.RemoveAll(path) == nil {
				break
			}
		}
	}
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
func (d *stage) do(ctx context.Context) (*run.Outcome, error) {
	shown, err := d.p.display(d.Progress)
	if err != nil {
		return nil, err
	}
	defer d.p.hide()
	d.p.mu.Lock()
	d.p.grace, d.p.calls = stopping(d.run.Grace), d.run.Grace
	d.p.mu.Unlock()
	j := &run.Job{Run: d.run, Display: shown, Watch: d.scene.watch, Log: logger(d.run, shown.Writer()), Agent: "headrace/" + version()}
	if _, err := j.Scan(ctx); err != nil {
		return &run.Outcome{}, err
	}
	return j.Do(ctx)
}

// close tells what became of it, and what was possible.
func (d *stage) close(ctx context.Context, o *run.Outcome, err error) error {
	if o == nil {
		return err
	}
	fmt.Fprintln(d.out, summary(o))
	l, askErr := d.child.ledger(ctx)
	switch {
	case askErr == nil && l.Arrivals > 0:
		reveal(d.out, &l)
	case askErr != nil && err == nil:
		err = askErr
	}
	joined, joinErr := d.join()
	if joinErr != nil {
		return errors.Join(err, joinErr)
	}
	lost := "lost"
	if err != nil {
		lost = "left"
	}
	fmt.Fprintf(d.out, "By custom_id: %d of %d have their own answer; %d %s, %d twice, %d mixed up.\n",
		joined.Own, len(d.answers), joined.Lost, lost, joined.Twice, joined.Foreign)
	if d.Keep != "" {
		fmt.Fprintf(d.p.Stdout, "Look at them: %s\n", d.run.Out)
	}
	if stop := (*run.StopError)(nil); errors.As(err, &stop) && stop.Reason == run.Unreachable {
		return d.child.unreachable()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "The same limits again: %s\n", d.scene.Command)
	if d.Picture != "" {
		if err := d.scene.draw(d.Picture, &l, &joined); err != nil {
			return err
		}
		fmt.Fprintf(d.p.Stdout, "The picture: %s\n", d.Picture)
	}
	if !joined.OK() {
		return errFailed
	}
	return nil
}

func (d *stage) join() (demo.Joined, error) {
	f, err := os.Open(d.run.Out)
	if errors.Is(err, os.ErrNotExist) {
		return demo.Joined{Lost: len(d.answers)}, nil
	}
	if err != nil {
		return demo.Joined{}, err
	}
	joined, err := demo.Join(f, d.answers)
	return joined, errors.Join(err, f.Close())
}
