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
	Requests int          `default:"1400" placeholder:"N" help:"Number of requests, at most. Default: ${default}."`
	Seed     uint64       `placeholder:"N" help:"Seed of the provider's random limits. Default: a new one for each run."`
	Keep     string       `placeholder:"FOLDER" help:"Keep the requests, results and journal in this new folder. Default: they are deleted."`
	Picture  string       `placeholder:"FILE" help:"Draw the run as an SVG picture."`
	Progress console.Mode `default:"auto" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
}

// Help is printed by --help after the list of flags.
func (*demoCommand) Help() string {
	return fmt.Sprintf(`Does the same as "headrace run", with a file of questions about the words of six public-domain texts. The provider is a separate process on this machine, "headrace provider". It picks a random limit of %s requests per second, changes it every %g seconds without announcing it, and answers %g %% of the requests with an error. At the end it reveals how many requests were possible. The demo takes about half a minute, and needs neither a key nor a network.

Examples:
  headrace demo
  headrace demo --seed 7
  headrace demo --keep demo
  headrace demo --picture demo.svg
  headrace demo --progress plain`, strings.Replace(demoHidden, "-", " to ", 1), demoMove.Seconds(), 100*demoFaults)
}

// The behaviour of the demo's provider.
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
	fmt.Fprintf(d.out, "%d requests to %s (process %d).\nIt hides its limit, and changes it during the run.\n", len(answers), child.base, child.pid())
	d.scene.Said = d.scene.lines()
	o, err := d.do(child.with(ctx))
	return d.close(context.WithoutCancel(ctx), o, err) // an interrupt ends the run, but not the report about it
}

// stage is the environment of one demo.
type stage struct {
	*demoCommand

	p       *Program
	run     *settings.Run
	child   *child
	answers map[string]string // the expected answers, by custom_id
	scene   scene
	out     io.Writer // standard output, and the scene
}

// folder returns the folder of the files, and a function that removes it.
func (c *demoCommand) folder(p *Program) (path string, clean func() error, err error) {
	if c.Keep != "" {
		if err := os.MkdirAll(filepath.Dir(c.Keep), 0o755); err != nil { //nolint:gosec // readable by every user that can read the folder
			return "", nil, fmt.Errorf("--keep: %w", err)
		}
		if err := os.Mkdir(c.Keep, 0o755); err != nil { //nolint:gosec // as above
			remedy := "name another folder"
			if errors.Is(err, os.ErrExist) {
				remedy = "the folder must not exist yet"
			}
			return "", nil, fmt.Errorf("--keep: %w: %s", err, remedy)
		}
		return c.Keep, func() error { return nil }, nil
	}
	path, err = os.MkdirTemp("", "headrace-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("the folder for the demo's files cannot be made: %w: set TMPDIR or --keep", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undo = func() { // after a second Ctrl-C
		for range 3 { // other goroutines still create files there
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

// do does what `headrace run` does.
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

// close prints the outcome, and what was possible.
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
	fmt.Fprintf(d.out, "By custom_id: %d of %d have the right answer; %d %s, %d twice, %d mixed up.\n",
		joined.Own, len(d.answers), joined.Lost, lost, joined.Twice, joined.Foreign)
	if d.Keep != "" {
		fmt.Fprintf(d.p.Stdout, "The results are in %s\n", d.run.Out)
	}
	if stop := (*run.StopError)(nil); errors.As(err, &stop) && stop.Reason == run.Unreachable {
		return d.child.unreachable()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "To repeat with the same limits: %s\n", d.scene.Command)
	if d.Picture != "" {
		if err := d.scene.draw(d.Picture, &l, &joined); err != nil {
			return err
		}
		fmt.Fprintf(d.p.Stdout, "The picture is in %s\n", d.Picture)
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
