package run

import (
	"errors"
	"fmt"
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

// Outcome is what became of the requests.
type Outcome struct {
	Total   int64 // lines, as far as they were read
	Done    int64 // now
	Resumed int64 // by an earlier process
	Failed  int64 // now or before; bad lines too
	Waiting int64 // begun and not finished, or refused for too long: for the next process
	Before  int64 // records that the journal had at the start
	Changed int64 // requests that are done and ask for something else by now
	Left    int64 // results of requests that are not in the file any more
	LeftOut bool  // those are not in the files any more either
	Stale   int64 // results of earlier processes that are older than a day

	Elapsed time.Duration
	Flow    *flow.Report

	input  error // that ended the requests early
	reason error // of the first that waits
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
			return
		}
		o.Waiting++
		if o.reason == nil && (r.State == node.Failed || adaptive.Refused(r.Err)) {
			o.reason = r.Err
		}
	}
}

// waits reports whether r was not worked on: the next process has another chance.
func waits(r *results.Result) bool {
	return r.State == node.Pending || r.State == node.Failed && errors.Is(r.Err, throttle.ErrLimited)
}

// changed tells of a request that is done and asks for something else by now.
func (j *Job) changed(q requests.Request) {
	if j.changes.Add(1) <= mostTold {
		j.say(fmt.Sprintf("%s:%d: custom_id %q was done for another request, whose result stays: give it a new custom_id, or begin anew with --fresh",
			j.Requests, q.Line, q.ID))
	}
}

// mostTold is how many changed requests are told one by one.
const mostTold = 10

// finish completes the outcome.
func (j *Job) finish() {
	o := &j.outcome
	o.Changed, o.Left, o.Stale = j.changes.Load(), j.left.Load(), j.stale.Load()
	o.LeftOut = j.lines != nil || j.files != nil && j.files.Rewritten()
	o.Total = o.Done + o.Resumed + o.Failed + o.Waiting
	if j.scan != nil {
		o.Waiting += max(0, j.scan.Lines-o.Total)
		o.Total = max(o.Total, j.scan.Lines)
	}
}

// plainer is err in words for who has never heard of nodes.
func (j *Job) plainer(err error) error {
	version, sink, many := (*journal.VersionError)(nil), (*node.SinkError)(nil), (*node.TooManyFailuresError)(nil)
	usage, kept, held := (*UsageError)(nil), (*node.JournalError)(nil), (*journal.HeldError)(nil)
	switch {
	case err == nil:
		return j.outcome.input
	case errors.As(err, &usage):
		return usage
	case errors.As(err, &version):
		return usagef("the results in %s were made with other settings (%s; now %s): --fresh begins anew, or give another --out",
			j.Out, version.Recorded, version.Wanted)
	case errors.As(err, &held):
		return j.busy(held)
	case errors.As(err, &many):
		return &StopError{Failures, fmt.Sprintf("stopped after %d failures, as --max-failures says; the last: %v", many.Failures, results.FailureOf(many.Last))}
	case errors.Is(err, syscall.EPIPE):
		return errors.New("nobody reads the results any more")
	case errors.As(err, &sink):
		return fmt.Errorf("the results cannot be written: %w", sink.Err)
	case errors.As(err, &kept):
		return fmt.Errorf("the journal %s cannot go on: %w", j.Journal, plainKept(kept.Err))
	case adaptive.Refused(err): // the outcome says it
		return j.outcome.input
	}
	return err
}

// busy is err, which another process that does the same is the reason of, in plain words.
func (j *Job) busy(err *journal.HeldError) error {
	since := err.Lease.Since.Local().Format(time.DateTime)
	if err.Lost {
		return fmt.Errorf("another process has taken over the results in %s: %s, at %s", j.Out, err.Lease.Owner, since)
	}
	text := fmt.Sprintf("the results in %s are being made by another process: %s, since %s: wait for it, stop it, or give another --out",
		j.Out, err.Lease.Owner, since)
	if !err.Lapses.IsZero() {
		text += fmt.Sprintf(" (if it is dead, try again after %s)", err.Lapses.Local().Format(time.TimeOnly))
	}
	return usagef("%s", text)
}

// WhyWaiting is what the provider has said to the first request that was refused for too long.
func (o *Outcome) WhyWaiting() error { return o.reason }
