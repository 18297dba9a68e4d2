package event

import (
	"log/slog"
	"time"
)

// What tells how far a run has come.
const (
	// ItemResumed: an item has the result that an earlier run recorded, done, and
	// nothing was called for it. Attempt counts the attempts of then.
	ItemResumed Kind = "item.resumed"

	// NodeInput: this run of the node will have To items. It is told at most once
	// for a run, after NodeStarted, and only where the number is known beforehand.
	NodeInput Kind = "node.input"

	// FlowProgress: how far the run has come, in Event.Progress. Source is the
	// name of what is run, Wait is how long it has been running.
	FlowProgress Kind = "flow.progress"
)

// Progress is a snapshot of a run that a [FlowProgress] tells. Nobody changes it
// after it was sent.
type Progress struct {
	// Time is when it was taken.
	Time time.Time
	// Name is that of the flow or node that is run.
	Name string
	// Elapsed is how long it has been running.
	Elapsed time.Duration
	// Final: the run is over, and this is the last snapshot of it.
	Final bool
	// Items sums up the nodes that are not themselves inside a batch: an instance
	// of a batch of flows is one item, whatever it does inside.
	Items Items
	// Nodes are those that have begun, in the order of the graph; those that it
	// does not show come last, in the order in which they began.
	Nodes []NodeProgress
	// Limiters are those of the nodes, in the order of the graph, and those that
	// were met otherwise, by name.
	Limiters []LimiterProgress
}

// NodeProgress is how far one node has come, in all its runs.
type NodeProgress struct {
	Name     string
	Running  int64 // runs that have begun and not ended
	Runs     int64 // runs that have ended
	Failures int64 // those of them that ended with an error
	Items          // of a batch; a step has none
}

// Items counts items.
type Items struct {
	// Total is how many there are, as far as runs have begun; 0 if that is not known.
	Total int64
	// Pending have begun and not ended.
	Pending int64
	// Done have their result, and Resumed that of an earlier run.
	Done, Resumed int64
	// Failed have failed for good.
	Failed int64
	// Abandoned had begun when their run was stopped.
	Abandoned int64
	// Retries are failed attempts that were followed by another.
	Retries int64
	// Rate is how many items a second were done or failed in the last minute, or
	// since the first began if that is less.
	Rate float64
	// ETA is how long the rest of Total takes at this rate, or, if nothing has ended
	// for a minute, at that of all the time until now. It is 0 if nothing is left, if Total
	// is not known, and in the first second.
	ETA time.Duration
}

// Ended is how many items have come to an end, also a bad one.
func (i *Items) Ended() int64 { return i.Done + i.Resumed + i.Failed + i.Abandoned }

// LimiterProgress is what a limiter does at the moment.
type LimiterProgress struct {
	Name string
	// Live: the limiter itself was looked at. Otherwise only its events are known,
	// and there is nothing but Hits, Cuts and Closed.
	Live bool
	// Limit is how many calls may be in flight, by the law and by hard caps; 0: unbounded.
	Limit int
	// Pace is what the law has learnt, in units per second by the name of the unit,
	// such as "requests"; without an entry for what it has not learnt.
	Pace map[string]float64
	// InFlight and Waiting are calls, of all who share the limiter.
	InFlight, Waiting int
	// Calls were let go since the run began, for whoever shares the limiter.
	Calls int64
	// Hits are refusals, and Cuts the times that the law lowered its window, in this run.
	Hits, Cuts int64
	// Closed: the quota was used up in this run.
	Closed bool
	// Why is one sentence for people on what it does and what holds it back. Its
	// wording is not part of the API.
	Why string
}

// attrs leaves out what is not known.
func (p *Progress) attrs(as []slog.Attr) []slog.Attr {
	as = append(as, slog.Bool("final", p.Final), slog.Int64("pending", p.Items.Pending), slog.Int64("done", p.Items.Done),
		slog.Int64("resumed", p.Items.Resumed), slog.Int64("failed", p.Items.Failed),
		slog.Int64("retries", p.Items.Retries), slog.Float64("rate", p.Items.Rate))
	if p.Items.Total != 0 {
		as = append(as, slog.Int64("total", p.Items.Total))
	}
	if p.Items.ETA != 0 {
		as = append(as, slog.Duration("eta", p.Items.ETA))
	}
	return as
}
