package flow

import (
	"maps"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// Report is what came to pass in one Run.
type Report struct {
	Action   node.Action // what the node that was run returned, a flow that of its last node
	Last     string      // the last node that the flow went through; look here when it ended too soon
	Elapsed  time.Duration
	Steps    int64                    // nodes that flows went through, in all instances
	Nodes    map[string]NodeReport    // by the node's name: steps and batches; a node type of your own counts in Steps only
	Limiters map[string]LimiterReport // by the limiter's name
}

// NodeReport counts what the runs of one node did.
type NodeReport struct {
	Runs      int64
	Failures  int64 // runs that ended with an error
	Done      int64 // items
	Failed    int64 // items
	Abandoned int64 // items that had begun when the run was stopped
	Retries   int64 // failed attempts that were followed by another
}

// LimiterReport counts what one limiter met.
type LimiterReport struct {
	Hits       int64 // refusals, none of which failed an item by itself
	Cuts       int64 // times that its law lowered the window, also on the hits of a node inside
	Recoveries int64 // times that it raised it
	Closed     bool  // the quota was used up
}

// tally counts events.
type tally struct {
	mu       sync.Mutex // guards everything below
	flow     string     // the one that is run
	steps    int64
	last     string // the last node of flow
	nodes    map[string]NodeReport
	limiters map[string]LimiterReport
}

func newTally(flow string) *tally {
	return &tally{flow: flow, nodes: map[string]NodeReport{}, limiters: map[string]LimiterReport{}}
}

// Observe implements event.Observer.
func (t *tally) Observe(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, l := t.nodes[e.Source], t.limiters[e.Source]
	switch e.Kind {
	case event.FlowStep:
		t.steps++
		if e.Source == t.flow {
			t.last = e.Key
		}
		return
	case event.NodeFinished:
		n.Runs++
		if e.Err != nil {
			n.Failures++
		}
	case event.ItemDone:
		n.Done++
	case event.ItemFailed:
		n.Failed++
	case event.ItemAbandoned:
		n.Abandoned++
	case event.ItemRetry:
		n.Retries++
	case event.LimiterHit:
		l.Hits++
	case event.LimiterCut:
		l.Cuts++
	case event.LimiterRecovery:
		l.Recoveries++
	case event.LimiterClosed:
		l.Closed = true
	case event.FlowStarted, event.FlowFinished, event.NodeStarted:
		return
	default:
		return
	}
	if n != (NodeReport{}) {
		t.nodes[e.Source] = n
	}
	if l != (LimiterReport{}) {
		t.limiters[e.Source] = l
	}
}

func (t *tally) report(a node.Action, elapsed time.Duration) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Report{
		Action: a, Last: t.last, Elapsed: elapsed, Steps: t.steps,
		Nodes: maps.Clone(t.nodes), Limiters: maps.Clone(t.limiters),
	}
}
