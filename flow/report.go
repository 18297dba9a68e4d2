package flow

import (
	"time"

	"github.com/headrace/headrace/node"
)

// Report is the outcome of one Run. Its JSON is in docs/flows.md, with durations in seconds. New
// fields may be added, none is renamed.
type Report struct {
	Action   node.Action              // action: what the node that was run returned, a flow that of its last node
	Last     string                   // last: the last node that the flow went through; look here when it ended too soon
	Elapsed  time.Duration            // elapsed_s
	Steps    int64                    // steps: nodes that flows went through, in all instances
	Nodes    map[string]NodeReport    // nodes, by name: steps and batches; a node type of your own counts in Steps only
	Limiters map[string]LimiterReport // limiters, by name
	Series   *Series                  // series: over time; nil without WithSeries
}

// NodeReport counts what the runs of one node did.
type NodeReport struct {
	Runs      int64 `json:"runs"`
	Failures  int64 `json:"failures"`  // runs that ended with an error
	Done      int64 `json:"done"`      // items
	Failed    int64 `json:"failed"`    // items
	Resumed   int64 `json:"resumed"`   // items that an earlier run had done
	Stale     int64 `json:"stale"`     // those of them that it had done more than a day before
	Abandoned int64 `json:"abandoned"` // items that had begun when the run was stopped
	Retries   int64 `json:"retries"`   // failed attempts that were followed by another
}

// LimiterReport counts the events of one limiter.
type LimiterReport struct {
	Hits       int64 `json:"hits"`       // refusals, none of which failed an item by itself
	Cuts       int64 `json:"cuts"`       // decreases, also after refusals of an inner node
	Recoveries int64 `json:"recoveries"` // increases
	Closed     bool  `json:"closed"`     // the quota was used up
}
