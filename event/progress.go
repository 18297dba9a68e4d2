package event

import (
	"log/slog"
	"time"
)

// Progress of a run.
const (
	// ItemResumed: an item has the result that an earlier run recorded, after Attempt
	// attempts. Nothing was called.
	ItemResumed Kind = "item.resumed"

	// NodeInput: this run of the node has To items. Emitted at most once, after
	// NodeStarted, and only if the number is known in advance.
	NodeInput Kind = "node.input"

	// FlowProgress: a snapshot, Event.Progress, after Wait. Source is the flow or node that is run.
	FlowProgress Kind = "flow.progress"
)

// Progress is a snapshot of a run. It is immutable.
type Progress struct {
	// Time is when the snapshot was taken.
	Time time.Time
	// Name is the flow or node that is run.
	Name string
	// Elapsed is the time since the run began.
	Elapsed time.Duration
	// Final marks the last snapshot, at the end of the run.
	Final bool
	// Items is the sum of the nodes outside of any batch: an instance of a batch
	// of flows is one item.
	Items Items
	// Nodes are those that have begun, in the order of the graph, then others in
	// the order in which they began.
	Nodes []NodeProgress
	// Limiters are those of the nodes, in the order of the graph, then others by name.
	Limiters []LimiterProgress
}

// NodeProgress sums up all runs of one node.
type NodeProgress struct {
	Name     string
	Running  int64 // runs in progress
	Runs     int64 // runs that have ended
	Failures int64 // runs that ended with an error
	Items          // of a batch
}

// Items counts items.
type Items struct {
	// Total is the number of items of the runs that have begun; 0 if unknown.
	Total int64
	// Pending items have begun and not ended.
	Pending int64
	// Done items have their result, Resumed items that of an earlier run.
	Done, Resumed int64
	// Failed items have failed for good.
	Failed int64
	// Abandoned items were in progress when their run was stopped.
	Abandoned int64
	// Retries are failed attempts that were repeated.
	Retries int64
	// Rate is the number of items a second that were done or failed in the last minute.
	Rate float64
	// ETA is the rest of Total at this rate, or at the average of the run if no item
	// ended for a minute; 0 if unknown or nothing is left.
	ETA time.Duration
}

// Ended counts items that have ended in any way.
func (i *Items) Ended() int64 { return i.Done + i.Resumed + i.Failed + i.Abandoned }

// LimiterProgress is the state of a limiter.
type LimiterProgress struct {
	Name string
	// Live says that the limiter itself was read. Otherwise only Hits, Cuts and
	// Closed are known, from events.
	Live bool
	// Limit is the concurrency limit, learned or configured; 0 means none.
	Limit int
	// Pace is the learned rate of each unit, such as "requests", per second.
	Pace map[string]float64
	// InFlight and Waiting are calls of all users of the limiter.
	InFlight, Waiting int
	// Calls is how many of them were admitted since the run began.
	Calls int64
	// Hits and Cuts count refusals and decreases in this run.
	Hits, Cuts int64
	// Closed says that the quota was used up in this run.
	Closed bool
	// Why is one sentence for people on what limits it; its wording may change.
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
		as = append(as, milliseconds("eta", p.Items.ETA))
	}
	return as
}
