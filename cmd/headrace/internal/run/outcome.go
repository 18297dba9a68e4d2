package run

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Outcome counts what became of the requests.
type Outcome struct {
	Total   int64 // lines, as far as they were read
	Done    int64 // now
	Resumed int64 // by an earlier process
	Failed  int64 // now or before; bad lines too
	Waiting int64 // started and not finished, or rate-limited for too long; left for the next process
	Before  int64 // records that the journal had at the start
	Changed int64 // done requests that have changed since
	BadLine int64 // failures of lines that are not requests
	Left    int64 // results and failures of requests that are not in the file any more
	LeftBad int64 // the failures among them
	LeftOut bool  // the files no longer contain those either
	Stale   int64 // results of earlier processes that are older than a day
	Behind  int64 // results of earlier processes that the file lacks, because it is being written again and the run has ended early
	Edited  bool  // the file of requests has changed since it was scanned

	Elapsed time.Duration
	Flow    *flow.Report

	input  error // that ended the requests early
	reason error // of the first request that waits
	causes causes
}

func (o *Outcome) count(r *results.Result) {
	switch r.State {
	case node.Done:
		o.Done++
	case node.Resumed:
		o.Resumed++
	case node.Failed, node.Pending:
		if !waits(r) {
			o.Failed++
			f := results.FailureOf(r.Err)
			o.causes.count(f)
			if f.Code == results.BadLine {
				o.BadLine++
			}
			return
		}
		o.Waiting++
		if o.reason == nil && (r.State == node.Failed || adaptive.Refused(r.Err)) {
			o.reason = r.Err
		}
	}
}

// waits reports whether r is left for the next run: it is unfinished, or the limiter never admitted it.
func waits(r *results.Result) bool {
	return r.State == node.Pending || r.State == node.Failed && unsent(r.Err)
}

// unsent reports whether err is the limiter's refusal of a request that was never sent. A request that does not fit the limits of the run
// itself is not handed to the limiter, so a limit that it does not fit was set during the run. A request that was sent, and then no longer
// fitted, is recorded as failed.
func unsent(err error) bool {
	return (errors.Is(err, throttle.ErrLimited) || errors.Is(err, throttle.ErrCost)) && !errors.As(err, new(*results.RequestError))
}

// changed reports a request that is done and has changed since.
func (j *Job) changed(q requests.Request) {
	if j.changes.Add(1) <= mostTold {
		j.say(fmt.Sprintf("%s:%d: custom_id %q already has the result of a different request, which is kept: use a new custom_id, or start over with --fresh",
			j.Requests, q.Line, q.ID))
	}
}

// mostTold is the number of changed requests that are reported one by one.
const mostTold = 10

// finish completes the outcome.
func (j *Job) finish() {
	o := &j.outcome
	o.Changed, o.Stale = j.changes.Load(), j.stale.Load()
	if n := j.left.Load(); n > 0 { // requests that were begun and not finished have neither a result nor a failure
		done := min(n, max(0, j.doneBefore-o.Resumed))
		o.LeftBad = min(n-done, max(0, j.failedBefore-j.journal.failed.Load()))
		o.Left = done + o.LeftBad
	}
	rewritten := j.lines != nil || j.files != nil && j.files.Rewritten()
	o.LeftOut = rewritten || j.lacking >= o.Left
	if rewritten && j.left.Load() == 0 { // otherwise all requests were looked up
		o.Behind = max(0, j.doneBefore-o.Resumed)
	}
	o.Total = o.Done + o.Resumed + o.Failed + o.Waiting
	if now, err := os.Stat(j.Requests); err == nil && j.scanned != nil {
		o.Edited = now.Size() != j.scanned.Size() || !now.ModTime().Equal(j.scanned.ModTime())
	}
	if j.scan != nil {
		o.Waiting += max(0, j.scan.Lines-o.Total)
		o.Total = max(o.Total, j.scan.Lines)
	}
}

// plainer rewords err without terms of the library such as node.
func (j *Job) plainer(err error) error {
	version, sink, many := (*journal.VersionError)(nil), (*node.SinkError)(nil), (*node.TooManyFailuresError)(nil)
	usage, kept, held := (*UsageError)(nil), (*node.JournalError)(nil), (*journal.HeldError)(nil)
	why := (*StopError)(nil)
	switch {
	case err == nil:
		return j.outcome.input
	case errors.As(err, &usage):
		return usage
	case errors.As(err, &why):
		return why
	case errors.As(err, &version):
		return usagef("the results in %s were made with other settings (%s; now %s): use --fresh to start over, or another --out",
			j.Out, version.Recorded, version.Wanted)
	case errors.As(err, &held):
		return j.busy(held)
	case errors.As(err, &many):
		return &StopError{Failures, fmt.Sprintf("stopped after %d failures because of --max-failures; the last one: %v", many.Failures, results.FailureOf(many.Last))}
	case errors.Is(err, syscall.EPIPE):
		return errors.New("the reader of the results has closed the pipe")
	case errors.As(err, &sink):
		return fmt.Errorf("the results cannot be written: %w", sink.Err)
	case errors.As(err, &kept):
		return fmt.Errorf("the journal %s failed: %w", j.Journal, plainKept(kept.Err))
	case adaptive.Refused(err): // the outcome shows it
		return j.outcome.input
	}
	return err
}

// busy rewords an error that is caused by another process with the same results.
func (j *Job) busy(err *journal.HeldError) error {
	since := err.Lease.Since.Local().Format(time.DateTime)
	if err.Lost {
		return fmt.Errorf("another process has taken over the results in %s: %s, at %s", j.Out, err.Lease.Owner, since)
	}
	text := fmt.Sprintf("the results in %s are being written by another process: %s, since %s: wait for it, stop it, or use another --out",
		j.Out, err.Lease.Owner, since)
	if !err.Lapses.IsZero() {
		text += fmt.Sprintf(" (if it is dead, try again after %s)", err.Lapses.Local().Format(time.TimeOnly))
	}
	return usagef("%s", text)
}

// WhyWaiting returns the provider's response to the first request that was rate-limited for too long.
func (o *Outcome) WhyWaiting() error { return o.reason }

// Causes returns the reasons of the failures, the most frequent one first.
func (o *Outcome) Causes() []Cause { return o.causes.sorted() }
