package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlitestore"
)

// Job is one call of `headrace run`.
type Job struct {
	*settings.Run

	Stdin   io.Reader
	Stdout  io.Writer
	Display *console.Display
	Log     *slog.Logger
	Agent   string // of HTTP

	scan    *requests.Scan // nil: the requests can be read once only
	limiter *adaptive.Limiter
	journal *watched       // nil: there is none
	files   *results.Files // nil: the results go to lines
	lines   *results.Lines // nil: the results go to files
	outcome Outcome
	changes atomic.Int64 // requests that have changed
}

// say writes a line for people.
func (j *Job) say(text string) { fmt.Fprintln(j.Display.Writer(), text) }

// workers is how many requests are begun at the same time where nobody caps the calls
// in flight. It is what the law Measured lets at most: the limiter is the one to bound calls.
const workers = 200

// Scan reads the requests once, where that is possible, and takes the preset of their model.
func (j *Job) Scan(ctx context.Context) (*requests.Scan, error) {
	if !requests.Rereadable(j.Requests) {
		if _, err := os.Stat(j.Requests); err != nil && j.Requests != requests.Stdin {
			return nil, usagef("the requests cannot be read: %w", err)
		}
		return nil, nil
	}
	in, err := requests.Open(j.Requests, nil)
	if err != nil {
		return nil, usagef("the requests cannot be read: %w", err)
	}
	defer func() { _ = in.Close() }()
	if j.scan, err = requests.Of(ctx, in, j.Lines, j.Dialect); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, usagef("%s: %w", j.Requests, err)
	}
	j.takeModel()
	for _, p := range j.scan.Problems {
		j.say(fmt.Sprintf("%s:%d: %s", j.Requests, p.Line, p.Text))
	}
	if more := j.scan.Bad - int64(len(j.scan.Problems)); more > 0 {
		j.say(fmt.Sprintf("and %d more lines that cannot be sent", more))
	}
	if j.Strict && j.scan.Bad > 0 {
		return nil, usagef("%d of %d lines cannot be sent, and --strict wants all: nothing was sent", j.scan.Bad, j.scan.Lines)
	}
	return j.scan, nil
}

// takeModel replaces the preset of a tier by the row of the model that all requests name.
func (j *Job) takeModel() {
	provider, rest, _ := strings.Cut(string(j.Spec.Preset), "/")
	if len(j.scan.Models) != 1 || rest == "" || strings.Contains(rest, "/") {
		return
	}
	if row, ok := presets.ForModel(provider, rest, j.scan.Models[0]); ok {
		j.Spec.Preset = row.ID
	}
}

// Do makes the calls. The outcome tells how far it came, with an error too.
func (j *Job) Do(ctx context.Context) (_ *Outcome, err error) {
	began := time.Now()
	defer func() {
		j.outcome.Elapsed = time.Since(began)
		j.finish()
	}()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	reg, name, err := j.Limiters()
	if err != nil {
		return &j.outcome, &UsageError{err}
	}
	j.limiter = reg.Get(name)
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
	in, err := requests.Open(j.Requests, j.Stdin)
	if err != nil {
		return &j.outcome, usagef("the requests cannot be read: %w", err)
	}
	defer func() { _ = in.Close() }()
	step := node.Do("run", func(ctx context.Context, _ *Job) error { return j.stream(ctx, batch, in) })
	options := []flow.RunOption{
		flow.WithRun(j.run()), flow.WithObserver(j.observer()), flow.WithLimiters(j.limiter),
		flow.WithProgress(j.show, j.every()),
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

// run is what the journal knows the results by.
func (j *Job) run() string { return filepath.Base(j.Out) }

// version is what results depend on besides the request.
func (j *Job) version() string {
	var headers strings.Builder
	_ = j.Headers.Write(&headers) // a builder fails never
	return fmt.Sprintf("%s %s headers %s", j.Lines, j.Base.Redacted(), short(headers.String())[:8])
}

// caller makes the client. Its proxies are those of the environment, as of other programs of the command line.
func (j *Job) caller(stop context.CancelCauseFunc) (*caller, error) {
	c := &caller{Run: j.Run, stop: stop, guard: guard{host: j.Base.Host, maxWait: j.MaxWait}}
	config := httpclient.Config{
		Service: j.Base.Host, UserAgent: j.Agent, NoIDs: true, FailOnRedirect: true,
		Timeouts: httpclient.Timeouts{Call: j.Timeout, Header: j.Timeout},
		Pool:     httpclient.Pool{MaxIdlePerHost: max(workers, j.Spec.Limits.Concurrency)},
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: j.Base}); err == nil && proxy != nil {
		config.Proxies = map[string]*url.URL{strings.ToLower(j.Base.Hostname()): proxy}
	}
	if !j.Key.IsZero() {
		sign := httpclient.Bearer(j.Key)
		if j.Auth != "" {
			sign = httpclient.HeaderAuth(j.Auth, j.Key)
		}
		config.Sign = httpclient.OnlyTo(j.Base.String(), sign)
		if key, err := j.Key.Reveal(); err == nil && key != "" {
			c.secrets = append(c.secrets, []byte(key))
		}
	}
	for name, values := range j.Headers {
		for _, v := range values {
			if v = strings.TrimPrefix(v, "Bearer "); settings.Secretive(name) && len(v) >= 8 {
				c.secrets = append(c.secrets, []byte(v))
			}
		}
	}
	var err error
	c.client, err = httpclient.New(config)
	return c, err
}

// open opens the journal and what is written to. Nothing is changed before all of it is this process's own.
func (j *Job) open(ctx context.Context) error {
	if j.Journal == "" {
		return j.openLines(true)
	}
	kept, err := sqlitestore.OpenJournal(j.Journal)
	if err != nil {
		return usagef("the journal cannot be used: %w", err)
	}
	j.journal = &watched{Journal: kept, opened: j.opened, differ: j.changed, asked: map[string][]expecting{}}
	if j.Ordered || !settings.Regular(j.Out) || j.Out == results.Stdout {
		err = j.openLines(false)
	} else if j.files, err = results.OpenFiles(j.Out, j.Errors); err != nil {
		err = &UsageError{err}
	}
	if err != nil {
		return err
	}
	if err := j.mine(ctx, kept); err != nil {
		return err
	}
	if j.Fresh {
		if err := kept.Forget(ctx, j.run()); err != nil {
			return usagef("the journal cannot be used: %w", err)
		}
	}
	return nil
}

// mine looks whether the results that are there are of a run that the journal knows: what somebody else has
// written is not emptied. Lines without a record are, which a process that was killed has left.
func (j *Job) mine(ctx context.Context, kept *sqlitestore.Journal) error {
	info, err := os.Stat(j.Out)
	if j.Fresh || err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	for known, err := range kept.Runs(ctx) {
		if err != nil {
			return usagef("the journal cannot be used: %w", err)
		}
		if known.Name == j.run() {
			return nil
		}
	}
	return usagef("%s is there, and the journal %s knows nothing of it: --fresh overwrites it, or give another --out", j.Out, j.Journal)
}

func (j *Job) openLines(begin bool) (err error) {
	if j.lines, err = results.OpenLines(j.Out, j.Errors, j.Stdout); err == nil && begin {
		err = j.lines.Begin()
	}
	if err != nil {
		return &UsageError{err}
	}
	return nil
}

// opened is told how far the run has come.
func (j *Job) opened(p journal.Progress) error {
	j.outcome.Before = p.Done + p.Failed
	if j.lines != nil {
		return j.lines.Begin()
	}
	if j.RetryFailed && p.Failed > 0 {
		j.files.Anew()
	}
	return nil
}

func (j *Job) close() error {
	var err error
	if j.files != nil {
		err = j.files.Close()
	}
	if j.lines != nil {
		err = errors.Join(err, j.lines.Close())
	}
	if j.journal != nil {
		err = errors.Join(err, j.journal.Close())
	}
	return err
}

type batch = node.Batch[node.None, requests.Request, results.Answer]

func (j *Job) batch(c *caller) *batch {
	parallel := workers
	if n := j.Spec.Limits.Concurrency; n > 0 {
		parallel = n
	}
	b := node.Map("requests", c.call).
		WithParallel(parallel).
		WithLimiter(j.limiter).
		WithRetry(retry.Policy{MaxAttempts: j.MaxAttempts, Except: []error{results.ErrUnsent}}).
		WithCost(c.cost).
		WithKey(func(q requests.Request) string { return q.Key() }).
		WithGrace(j.Grace)
	if j.MaxFailures != nil {
		b.WithOnError(node.MaxFailures(*j.MaxFailures))
	}
	if !j.Ordered {
		b.Unordered()
	}
	if j.journal != nil {
		b.WithJournal(j.journal).WithVersion(j.version()).Dedup() // which takes no memory, as ids differ
	}
	if j.files != nil {
		b.WithSink(j.files)
	}
	if j.RetryFailed {
		b.RetryFailed()
	}
	return b
}

// stream makes the calls of all requests, and counts what becomes of them.
func (j *Job) stream(ctx context.Context, b *batch, in io.Reader) error {
	if j.scan != nil {
		flow.Expect(ctx, b.Name(), int(j.scan.Lines))
	}
	for r, err := range b.Stream(ctx, j.input(ctx, in)) {
		if err != nil {
			return err
		}
		j.outcome.count(&r)
		if j.lines == nil || r.State == node.Pending || j.journal != nil && waits(&r) {
			continue
		}
		if err := j.lines.Write(&r); err != nil {
			return err
		}
	}
	return nil
}

// input is the requests, as they are begun.
func (j *Job) input(ctx context.Context, in io.Reader) iter.Seq2[requests.Request, error] {
	all := j.scan.Mark(requests.Read(in, j.Lines))
	if j.scan == nil {
		all = interruptible(ctx, all)
	}
	return func(yield func(requests.Request, error) bool) {
		for q, err := range all {
			if err != nil {
				j.outcome.input = err
				return
			}
			if j.journal != nil {
				j.journal.expect(&q)
			}
			if !yield(q, nil) {
				return
			}
		}
	}
}

// interruptible ends with ctx also while seq waits, as for somebody who types.
func interruptible(ctx context.Context, seq iter.Seq2[requests.Request, error]) iter.Seq2[requests.Request, error] {
	type read struct {
		q   requests.Request
		err error
	}
	return func(yield func(requests.Request, error) bool) {
		ctx, end := context.WithCancel(ctx)
		defer end()
		all := make(chan read)
		go func() {
			defer close(all)
			for q, err := range seq {
				select {
				case all <- read{q, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case one, ok := <-all:
				if !ok || !yield(one.q, one.err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// show shows the file as one thing: that there is a step around its requests is of no interest.
func (j *Job) show(p flow.Progress) {
	p.Nodes = nil
	p.Items.Abandoned = 0 // the next process does them
	if p.Name = filepath.Base(j.Requests); j.Requests == requests.Stdin {
		p.Name = "requests"
	}
	j.Display.Show(p)
}

// level is what somebody who does not watch has to hear of. To find the limit is the work, and no
// trouble; failures are in their file; why a run has ended is told at its end, and not for each request.
func level(e event.Event) slog.Level {
	switch e.Kind { //nolint:exhaustive // the others have their own
	case event.LimiterCut, event.LimiterHit, event.ItemFailed:
		return slog.LevelInfo
	case event.ItemAbandoned, event.NodeFinished, event.FlowFinished, event.NetRequest:
		return slog.LevelDebug
	}
	return event.DefaultLevel(e)
}

// every is the time between two snapshots.
func (j *Job) every() time.Duration {
	if j.Display.Mode() == console.TTY {
		return 250 * time.Millisecond
	}
	return time.Second
}

// observer shows and logs what happens. An error is told without the body of the answer.
func (j *Job) observer() event.Observer {
	log := event.Slog(j.Log, event.WithLevel(level))
	to := event.Tee(j.Display, log)
	return event.Func(func(e event.Event) {
		if e.Kind == event.FlowProgress {
			return // the display has it already
		}
		if f := (*results.RecordedError)(nil); errors.As(e.Err, &f) {
			e.Err = f.RequestError
		} else if known := (*node.RecordedError)(nil); errors.As(e.Err, &known) {
			e.Err = results.FailureOf(e.Err)
		}
		event.Send(to, e)
	})
}
