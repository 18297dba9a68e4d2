package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// Job is one call of `headrace run`.
type Job struct {
	*settings.Run

	Stdin   io.Reader
	Stdout  io.Writer
	Display *console.Display
	Watch   func(event.Progress) // receives what is displayed; may be nil
	Log     *slog.Logger
	Agent   string // of HTTP

	scan    *requests.Scan // nil if the requests can be read only once
	scanned os.FileInfo    // the file at that time; may be nil
	guard   *guard.Guard
	journal *watched       // nil if there is none
	files   *results.Files // nil if the results are written to lines
	lines   *results.Lines // nil if the results are written to files
	began   time.Time      // by the first process
	outcome Outcome
	changes atomic.Int64 // requests that have changed
	left    atomic.Int64 // records of requests that are no longer in the file, of unfinished ones too
	stale   atomic.Int64 // results that are older than a day
	unfit   atomic.Int64 // requests that did not fit a limit set during the run

	doneBefore, failedBefore int64 // results and failures that the journal had at the start
	lacking                  int64 // of them, those that the files do not contain, because their requests were no longer in the file
}

// say prints a line on standard error.
func (j *Job) say(text string) { fmt.Fprintln(terminal.Writer(j.Display.Writer()), text) }

// Do makes the calls. It also returns the outcome together with an error.
func (j *Job) Do(ctx context.Context) (_ *Outcome, err error) {
	j.began = time.Now()
	defer func(began time.Time) {
		j.outcome.Elapsed = time.Since(began)
		j.finish()
	}(j.began)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	leave, err := j.share(stop)
	if err != nil {
		return &j.outcome, &UsageError{err}
	}
	defer func() { err = errors.Join(err, leave()) }() // no more calls are made
	c, err := j.caller(stop)
	if err != nil {
		return &j.outcome, &UsageError{err}
	}
	defer c.client.Close()
	defer func() { err = errors.Join(err, j.close()) }()
	if err := j.open(ctx); err != nil {
		return &j.outcome, err
	}
	batch := j.batch(c)
	if err := batch.Validate(); err != nil {
		return &j.outcome, &UsageError{err}
	}
	in, err := unless(ctx, func() { j.waitsFor("to write to", j.Requests) }, func() (io.ReadCloser, error) { return requests.Open(j.Requests, j.Stdin) })
	if in != nil {
		defer func() { _ = in.Close() }()
	}
	if cause := context.Cause(ctx); cause != nil {
		return &j.outcome, cause
	}
	if err != nil {
		return &j.outcome, usagef("the requests cannot be read: %w", err)
	}
	page, err := j.page(ctx, stop)
	if err != nil {
		return &j.outcome, err
	}
	step := node.Do("run", func(ctx context.Context, _ *Job) error { return j.stream(ctx, batch, in, c.room, stop) })
	options := []flow.RunOption{
		flow.WithRun(j.run()), flow.WithObserver(j.observer()), flow.WithGuards(j.guard),
		flow.WithProgress(j.show, j.every()),
	}
	if page != nil {
		defer page.Close()
		options = append(options, flow.WithObserver(page))
	}
	if j.Report != "" {
		options = append(options, flow.WithSeries())
	}
	j.outcome.Flow, err = flow.Run(ctx, step, j, options...)
	if cause := context.Cause(ctx); cause != nil {
		return &j.outcome, cause
	}
	return &j.outcome, j.plainer(err)
}

// run identifies the results in the journal, by their path relative to its folder, so that both can be moved.
func (j *Job) run() string {
	if j.Journal == "" || j.Out == results.Stdout {
		return j.Out
	}
	journal, err := filepath.Abs(j.Journal)
	out, outErr := filepath.Abs(j.Out)
	path, relErr := filepath.Rel(filepath.Dir(journal), out)
	if errors.Join(err, outErr, relErr) != nil {
		return j.Out
	}
	return filepath.ToSlash(path)
}

// version covers the settings that results depend on besides the request.
func (j *Job) version() string {
	var headers strings.Builder
	_ = j.Headers.Write(&headers) // a strings.Builder never fails
	base := *j.Base
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/") // target leaves them out, too
	return fmt.Sprintf("%s %s headers %s", j.Lines, base.Redacted(), short(headers.String())[:8])
}
