package flow

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// tally counts the events of a run.
type tally struct {
	flow  string // the one that is run
	began time.Time
	watch bool // it is watched before the end

	mu       sync.Mutex // guards everything below
	steps    int64
	last     string // the last node of flow
	nodes    map[string]*nodeTally
	met      []string // the names of nodes, in the order in which they began
	limiters map[string]LimiterReport
}

// nodeTally is what of a node is counted.
type nodeTally struct {
	NodeReport

	name    string
	first   time.Duration // since the run began, when the node did
	started int64         // runs
	told    int64         // runs of which it is known how many items they have
	total   int64         // items of those
	begun   *atomic.Int64 // items; nil if not recorded
}

func newTally(flow string, began time.Time, watch bool) *tally {
	return &tally{flow: flow, began: began, watch: watch, nodes: map[string]*nodeTally{}, limiters: map[string]LimiterReport{}}
}

// Observe implements event.Observer.
func (t *tally) Observe(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case event.FlowStep:
		t.steps++
		if e.Source == t.flow {
			t.last = e.Key
		}
	case event.NodeStarted, event.NodeFinished, event.NodeInput,
		event.ItemDone, event.ItemResumed, event.ItemFailed, event.ItemAbandoned, event.ItemRetry, event.JournalStale:
		t.nodeLocked(e.Source).count(e)
	case event.LimiterHit, event.LimiterCut, event.LimiterRecovery, event.LimiterClosed:
		l := t.limiters[e.Source]
		l.count(e.Kind)
		t.limiters[e.Source] = l
	default:
	}
}

// ItemCounter gives package emit the counter of the items that the node begins with.
func (t *tally) ItemCounter(name string) *atomic.Int64 {
	if !t.watch {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodeLocked(name)
	if n.begun == nil {
		n.begun = new(atomic.Int64)
	}
	return n.begun
}

func (t *tally) nodeLocked(name string) *nodeTally {
	n := t.nodes[name]
	if n == nil {
		n = &nodeTally{name: name, first: time.Since(t.began)}
		t.nodes[name] = n
		t.met = append(t.met, name)
	}
	return n
}

func (n *nodeTally) count(e event.Event) {
	switch e.Kind {
	case event.NodeStarted:
		n.started++
	case event.NodeInput:
		n.told++
		n.total += int64(e.To)
	case event.NodeFinished:
		n.Runs++
		if e.Err != nil {
			n.Failures++
		}
	case event.ItemDone:
		n.Done++
	case event.ItemResumed:
		n.Resumed++
	case event.ItemFailed:
		n.Failed++
	case event.ItemAbandoned:
		n.Abandoned++
	case event.ItemRetry:
		n.Retries++
	case event.JournalStale:
		n.Stale += int64(e.To)
	default:
	}
}

func (l *LimiterReport) count(kind event.Kind) {
	switch kind {
	case event.LimiterHit:
		l.Hits++
	case event.LimiterCut:
		l.Cuts++
	case event.LimiterRecovery:
		l.Recoveries++
	case event.LimiterClosed:
		l.Closed = true
	default:
	}
}

// items is what is known of a node's items, without their speed.
func (n *nodeTally) items() event.Items {
	i := event.Items{Done: n.Done, Resumed: n.Resumed, Failed: n.Failed, Abandoned: n.Abandoned, Retries: n.Retries}
	if n.begun != nil {
		i.Pending = max(0, n.begun.Load()-i.Ended())
	}
	if n.told > 0 && n.told >= n.started {
		i.Total = max(n.total, i.Ended()+i.Pending)
	}
	return i
}

// look returns copies of what is counted: nodes in the order in which they began.
func (t *tally) look() (nodes []nodeTally, limiters map[string]LimiterReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range t.met {
		nodes = append(nodes, *t.nodes[name])
	}
	return nodes, maps.Clone(t.limiters)
}

func (t *tally) report(a node.Action, elapsed time.Duration) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Report{
		Action: a, Last: t.last, Elapsed: elapsed, Steps: t.steps,
		Nodes: map[string]NodeReport{}, Limiters: maps.Clone(t.limiters),
	}
	for name, n := range t.nodes {
		if n.NodeReport != (NodeReport{}) {
			r.Nodes[name] = n.NodeReport
		}
	}
	return r
}
