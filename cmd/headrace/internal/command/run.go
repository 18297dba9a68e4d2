package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// headroom is how much garbage may be left, in bytes, before it is collected: a run uses a few MB, and without it
// as many bytes of garbage would be enough for a collection.
const headroom = 32 << 20

type runCommand struct {
	settings.Flags `embed:""`
}

// Help is printed by --help after the list of flags.
func (*runCommand) Help() string {
	return `Each line is a request in the format of OpenAI's Batch API or, with --format anthropic, of Anthropic's Message Batches. Results have the format of the same API. Results and failures are written as they arrive, each exactly once, however often the process is stopped or killed. Run the same command again, without --fresh, to resume. Flags can also be set in the environment, such as HEADRACE_RPM, and in a file: see --config and docs/cli.md.

Examples:
  headrace run requests.jsonl
  headrace run requests.jsonl --preset openai/tier1
  headrace run requests.jsonl --base-url http://localhost:8000/v1
  headrace run requests.jsonl --limit "50/s, 200k tokens/min"
  headrace run requests.jsonl --retry-failed
  headrace run requests.jsonl --dry-run --preset openai/tier1
  zcat all.jsonl.gz | headrace run - --out - | jq .custom_id

` + exits
}

// Run is called by kong.
func (c *runCommand) Run(ctx context.Context, p *Program) error {
	defer runtime.KeepAlive(make([]byte, headroom)) // never touched, so that it counts for the collector only
	c.ConfigFile, c.Stdin, c.Stdout = p.given.path, info(p.Stdin), info(p.Stdout)
	s, err := settings.Resolve(c.Flags, p.Getenv)
	if err := errors.Join(err, s.Present(), p.canPrint(s)); err != nil {
		return err
	}
	if err := writable(s.Report, "report"); err != nil {
		return err
	}
	shown, err := p.display(s.Progress)
	if err != nil {
		return err
	}
	defer p.hide()
	j := &run.Job{
		Run: s, Stdin: p.Stdin, Stdout: p.Stdout, Display: shown, Log: logger(s, shown.Writer()), Agent: "headrace/" + version(),
	}
	if s.DryRun {
		return c.dry(ctx, p, j)
	}
	if s.Requests == requests.Stdin && terminal.Is(p.Stdin) {
		fmt.Fprintf(shown.Writer(), "headrace: reading requests from the terminal, one JSON object per line; press %s to finish\n", endOfInput())
	}
	p.begin(s, true)
	scan, err := j.Scan(ctx)
	if err != nil {
		return p.interrupted(err, s)
	}
	if scan != nil {
		fmt.Fprintf(terminal.Writer(shown.Writer()), "%s to %s\n", plural(scan.Lines, "request"), s.Base.Host)
	}
	outcome, err := j.Do(ctx)
	p.hide()
	return p.close(terminal.Writer(p.Stderr), s, outcome, err)
}

// canPrint checks that results on standard output are not lost.
func (p *Program) canPrint(s *settings.Run) error {
	if out, ok := p.Stdout.(*told); !ok || !out.lost() || s.Out != results.Stdout || s.DryRun {
		return nil
	}
	return &settings.Error{Flag: "--out", Problem: "standard output is closed, or is the null device: name a file (/dev/null discards the results)"}
}

// endOfInput returns the keys that end the input of a terminal.
func endOfInput() string {
	if runtime.GOOS == "windows" {
		return "Ctrl-Z and Enter"
	}
	return "Ctrl-D"
}

// info describes the file behind a stream; nil if the stream is not a file.
func info(stream any) os.FileInfo {
	f, ok := stream.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}

func logger(s *settings.Run, to io.Writer) *slog.Logger {
	return logTo(terminal.Writer(to), s.LogLevel, s.LogFormat)
}

// logTo returns a logger with the level and the format of --log-level and --log-format.
func logTo(to io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // kong has checked it
	options := &slog.HandlerOptions{Level: least}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// begin sets what to print when a signal arrives.
func (p *Program) begin(s *settings.Run, scanning bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume = p.goOn(s)
	if scanning {
		p.grace, p.calls = stopping(s.Grace), s.Grace
	}
}

func stopping(grace time.Duration) string {
	return fmt.Sprintf("headrace: stopping; calls in flight have %s to finish (Ctrl-C again: stop at once)", grace)
}

// interrupted prints how to resume after a signal.
func (p *Program) interrupted(err error, s *settings.Run) error {
	if errors.Is(err, run.ErrInterrupted) {
		fmt.Fprintln(terminal.Writer(p.Stderr), p.goOn(s))
	}
	return err
}

// close prints the outcome, and returns the error that the process ends with.
func (p *Program) close(to io.Writer, s *settings.Run, o *run.Outcome, err error) error {
	if errors.As(err, new(*run.UsageError)) {
		return err
	}
	fmt.Fprintln(to, summary(o))
	if reportErr := writeReport(s, o, err); reportErr != nil {
		err = errors.Join(err, reportErr)
	}
	stop, _ := errors.AsType[*run.StopError](err)
	left := o.Waiting > 0 || err != nil
	tellInput(to, s, o, err)
	if left && o.Behind > 0 {
		fmt.Fprintf(to, "%s recorded in %s, but not written again to %s yet: the next run writes them\n", plural(o.Behind, "result"), s.Journal, s.Out)
	}
	if o.Done+o.Resumed > 0 && s.Out != "-" {
		fmt.Fprintln(to, "results:  "+s.Out)
	}
	if o.Failed > 0 {
		fmt.Fprintln(to, "failures: "+s.Errors)
	}
	if all := o.Causes(); stop == nil || stop.Reason != run.Systematic || len(all) > 1 { // the error gives the one cause
		tellCauses(to, all)
	}
	if why := o.WhyWaiting(); why != nil && err == nil {
		fmt.Fprintf(to, "%s left for later; the first one because of: %s\n", plural(o.Waiting, "request"), said(why, s.MaxWait))
		if hit := (*adaptive.RateLimitHit)(nil); errors.As(why, &hit) {
			tellWait(to, hit.SentAt, asked(why, hit), s.MaxWait)
		}
	}
	if err != nil && !errors.Is(err, run.ErrInterrupted) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(to, "headrace:", line)
		}
	}
	p.tellNext(to, s, o, err, left)
	switch {
	case errors.Is(err, run.ErrInterrupted):
		return err
	case stop != nil && stop.Reason == run.Systematic:
		return errSystematic
	case err == nil && o.WhyWaiting() != nil && o.Failed+o.Changed == 0:
		return errLater
	case left || o.Failed > 0 || o.Changed > 0:
		return errFailed
	}
	return nil
}

// tellInput prints what is notable about the file of requests and about results of earlier runs.
func tellInput(to io.Writer, s *settings.Run, o *run.Outcome, err error) {
	if o.Total == 0 && err == nil {
		fmt.Fprintf(to, "%s has no requests: each is a JSON object in a line of its own\n", inputName(s.Requests))
	}
	if o.Edited {
		fmt.Fprintf(to, "%s changed during the run: lines that were added may not have been sent\n", s.Requests)
	}
	if o.Stale > 0 {
		fmt.Fprintf(to, "%s older than a day (--fresh sends their requests again)\n", plural(o.Stale, "resumed result"))
	}
	if o.Changed > 0 {
		fmt.Fprintf(to, "%s of requests that have changed since (kept: use new custom_ids, or start over with --fresh)\n", plural(o.Changed, "result"))
	}
	tellLeft(to, o.Left-o.LeftBad, "result", s.Requests, s.Out, "--fresh leaves them out", o.LeftOut)
	tellLeft(to, o.LeftBad, "failure", s.Requests, s.Errors, "--retry-failed removes them from "+s.Errors, o.LeftOut)
}

// tellNext prints the command or the flag for what is left or has failed.
func (p *Program) tellNext(to io.Writer, s *settings.Run, o *run.Outcome, err error, left bool) {
	switch {
	case errors.Is(err, run.ErrJournalGone):
		fmt.Fprintln(to, "without it, the run cannot be resumed: if it was moved, put it back; if the requests were moved with it, name their new path; "+
			"otherwise start over with --fresh, which overwrites the results (move them away to keep them)")
	case left:
		var more []string
		if stop, ok := errors.AsType[*run.StopError](err); ok && !s.RetryFailed &&
			(stop.Reason == run.Failures || stop.Reason == run.Systematic && o.Failed > 0) {
			more = []string{"--retry-failed"} // these failures would also stop the next run, or their cause has been removed by then
		}
		fmt.Fprintln(to, p.goOn(s, more...))
	case o.Failed == 0 || s.Journal == "":
	case o.BadLine == o.Failed:
		fmt.Fprintln(to, "correct the invalid lines and use --retry-failed, which also removes their failures")
	case o.BadLine > 0:
		fmt.Fprintln(to, "correct the invalid lines and use --retry-failed, which also removes their failures and retries the others")
	default:
		fmt.Fprintln(to, "--retry-failed retries the failures")
	}
	if o.Edited && !left {
		fmt.Fprintln(to, p.goOn(s))
	}
}

const (
	mostPrinted  = 3  // causes of failures that are printed
	mostReported = 20 // causes of failures in a report
)

// tellCauses prints the most frequent causes of the failures.
func tellCauses(to io.Writer, all []run.Cause) {
	for i := range all[:min(len(all), mostPrinted)] {
		fmt.Fprintf(to, "  %s with %s\n", grouped(all[i].Count), &all[i])
	}
	var rest int64
	for i := mostPrinted; i < len(all); i++ {
		rest += all[i].Count
	}
	if rest > 0 {
		fmt.Fprintf(to, "  %s for other reasons\n", grouped(rest))
	}
}

// tellLeft prints of how many requests that are no longer in the file the journal has a result or failure.
func tellLeft(to io.Writer, n int64, what, from, file, remedy string, removed bool) {
	switch {
	case n == 0:
	case removed:
		fmt.Fprintf(to, "%s of requests that are no longer in %s: kept in the journal, but removed from %s\n", plural(n, what), inputName(from), file)
	default:
		fmt.Fprintf(to, "%s of requests that are no longer in %s (%s)\n", plural(n, what), inputName(from), remedy)
	}
}

// inputName is path for people to read.
func inputName(path string) string {
	if path == requests.Stdin {
		return "standard input"
	}
	return path
}

// asked returns how long the provider asks to wait. A hit has at most a day of that.
func asked(why error, hit *adaptive.RateLimitHit) time.Duration {
	if f := (*results.RequestError)(nil); errors.As(why, &f) {
		return max(f.RetryAfter, hit.RetryAfter)
	}
	return hit.RetryAfter
}

// tellWait prints how long the provider asks to wait from sent on, if that is longer than the run waits.
func tellWait(to io.Writer, sent time.Time, asked, most time.Duration) {
	if asked <= most {
		return
	}
	then := "let the run wait with --max-wait " + (asked + time.Minute).Round(time.Minute).String()
	if asked >= reopening.MostSaid {
		then = "now, if the provider cannot mean that"
	}
	fmt.Fprintf(to, "the provider asks to wait for %s, until %s: resume then, or %s\n", reopening.Asked(asked), sent.Add(asked).Local().Format(time.DateTime), then)
}

// said returns why a request waits: the provider's message, if there is one. most is the longest wait.
func said(why error, most time.Duration) string {
	if errors.Is(why, throttle.ErrLimited) && !errors.As(why, new(*results.RequestError)) {
		return fmt.Sprintf("the limits do not admit it within %s (--max-wait)", most)
	}
	f := results.FailureOf(why)
	if f.StatusCode > 0 {
		return fmt.Sprintf("%s (%d)", f.Message, f.StatusCode)
	}
	return f.Message
}

func summary(o *run.Outcome) string {
	parts := []string{grouped(o.Done) + " done"}
	if o.Resumed > 0 {
		parts = append(parts, grouped(o.Resumed)+" done before")
	}
	parts = append(parts, grouped(o.Failed)+" failed")
	if o.Waiting > 0 {
		parts = append(parts, grouped(o.Waiting)+" left")
	}
	text := fmt.Sprintf("%s: %s, in %s", plural(o.Total, "request"), strings.Join(parts, ", "), tenths(o.Elapsed))
	if s := o.Elapsed.Seconds(); o.Done > 0 && s >= 1 {
		text += fmt.Sprintf(" (%.1f/s)", float64(o.Done)/s)
	}
	return text
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return grouped(n) + " " + word + "s"
}

// grouped returns n with commas, as the display shows it.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// tenths returns d in tenths of a second, and never in milliseconds.
func tenths(d time.Duration) string {
	if d = d.Round(time.Second / 10); d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.String()
}

// goOn returns the command that resumes the run, with more flags.
func (p *Program) goOn(s *settings.Run, more ...string) string {
	if s.Journal == "" {
		return "nothing was recorded: another run starts over (use --journal FILE to record)"
	}
	fresh, _, _ := p.given.value("fresh")
	text := "resume with: headrace " + strings.Join(append(again(p.Args, fresh != nil), more...), " ")
	if s.Requests == requests.Stdin {
		text += "   (with the same requests on standard input)"
	}
	return text
}

type report struct {
	Version  string           `json:"version"`
	Requests string           `json:"requests"`
	Results  string           `json:"results"`
	Failures string           `json:"failures"`
	Journal  string           `json:"journal,omitempty"`
	BaseURL  string           `json:"base_url"`
	Counts   map[string]int64 `json:"counts"`
	Causes   []run.Cause      `json:"causes,omitempty"` // of failures, the most frequent one first
	Elapsed  float64          `json:"elapsed_s"`
	Rate     float64          `json:"rate"` // done per second
	Stopped  string           `json:"stopped,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Run      json.RawMessage  `json:"run,omitempty"`
}

func writeReport(s *settings.Run, o *run.Outcome, err error) error {
	if s.Report == "" {
		return nil
	}
	r := report{
		Version: version(), Requests: s.Requests, Results: s.Out, Failures: s.Errors, Journal: s.Journal, BaseURL: s.Base.Redacted(),
		Counts: map[string]int64{
			"total": o.Total, "done": o.Done, "resumed": o.Resumed, "failed": o.Failed, "left": o.Waiting, "changed": o.Changed,
			"stale": o.Stale, "leftover": o.Left,
		},
		Elapsed: o.Elapsed.Seconds(),
	}
	r.Causes = o.Causes()
	r.Causes = r.Causes[:min(len(r.Causes), mostReported)]
	if r.Elapsed > 0 {
		r.Rate = float64(o.Done) / r.Elapsed
	}
	if err != nil {
		r.Stopped = err.Error()
	}
	if stop := (*run.StopError)(nil); errors.As(err, &stop) {
		r.Reason = string(stop.Reason)
	}
	if o.Flow != nil {
		text, encodeErr := json.Marshal(o.Flow)
		if encodeErr != nil {
			return encodeErr
		}
		r.Run = text
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(s.Report, append(text, '\n')); err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	return nil
}
