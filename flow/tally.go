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

	steps atomic.Int64
	nodes sync.Map // of *nodeTally, by name

	mu       sync.Mutex   // guards everything below, and additions to nodes
	last     string       // the last node of flow
	met      []*nodeTally // in the order in which they began
	limiters map[string]LimiterReport
}

// nodeTally is what of a node is counted.
type nodeTally struct {
	name  string
	first time.Duration                // since the run began, when the node did
	begun atomic.Pointer[atomic.Int64] // items; nil if not recorded

	started, told, total                                             atomic.Int64 // runs; those with a known number of items; these items
	runs, failures, done, failed, resumed, stale, abandoned, retries atomic.Int64 // as in NodeReport
}

// nodeCount is a copy of a nodeTally at one moment.
type nodeCount struct {
	NodeReport

	name    string
	first   time.Duration
	started int64
	told    int64
	total   int64
	begun   int64 // items; negative if not recorded
}

func newTally(flow string, began time.Time, watch bool) *tally {
	return &tally{flow: flow, began: began, watch: watch, limiters: map[string]LimiterReport{}}
}

// Timeless tells package emit that events need no time.
func (t *tally) Timeless() {}

// Observe implements event.Observer. It takes no lock for the events of nodes and items, which come from all workers.
func (t *tally) Observe(e event.Event) {
	switch e.Kind {
	case event.FlowStep:
		t.steps.Add(1)
		if e.Source == t.flow {
			t.mu.Lock()
			t.last = e.Key
			t.mu.Unlock()
		}
	case event.NodeStarted, event.NodeFinished, event.NodeInput,
		event.ItemDone, event.ItemResumed, event.ItemFailed, event.ItemAbandoned, event.ItemRetry, event.JournalStale:
		t.node(e.Source).count(&e)
	case event.LimiterHit, event.LimiterCut, event.LimiterRecovery, event.LimiterClosed:
		t.mu.Lock()
		defer t.mu.Unlock()
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
	n := t.node(name)
	n.begun.CompareAndSwap(nil, new(atomic.Int64))
	return n.begun.Load()
}

func (t *tally) node(name string) *nodeTally {
	if n, ok := t.nodes.Load(name); ok {
		return n.(*nodeTally) //nolint:forcetypeassert // nothing else is in there
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.nodes.LoadOrStore(name, &nodeTally{name: name, first: time.Since(t.began)})
	of := n.(*nodeTally) //nolint:forcetypeassert // nothing else is in there
	if !known {
		t.met = append(t.met, of)
	}
	return of
}

func (n *nodeTally) count(e *event.Event) {
	switch e.Kind {
	case event.NodeStarted:
		n.started.Add(1)
	case event.NodeInput:
		n.told.Add(1)
		n.total.Add(int64(e.To))
	case event.NodeFinished:
		n.runs.Add(1)
		if e.Err != nil {
			n.failures.Add(1)
		}
	case event.ItemDone:
		n.done.Add(1)
	case event.ItemResumed:
		n.resumed.Add(1)
	case event.ItemFailed:
		n.failed.Add(1)
	case event.ItemAbandoned:
		n.abandoned.Add(1)
	case event.ItemRetry:
		n.retries.Add(1)
	case event.JournalStale:
		n.stale.Add(int64(e.To))
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

// look copies what is counted. What is counted later is read first, so that no more has ended than begun.
func (n *nodeTally) look() nodeCount {
	c := nodeCount{
		NodeReport: NodeReport{
			Failures: n.failures.Load(), Runs: n.runs.Load(), Done: n.done.Load(), Failed: n.failed.Load(),
			Resumed: n.resumed.Load(), Stale: n.stale.Load(), Abandoned: n.abandoned.Load(), Retries: n.retries.Load(),
		},
		name: n.name, first: n.first, told: n.told.Load(), total: n.total.Load(), started: n.started.Load(), begun: -1,
	}
	if begun := n.begun.Load(); begun != nil {
		c.begun = begun.Load()
	}
	return c
}

// items is what is known of a node's items, without their speed.
func (n *nodeCount) items() event.Items {
	i := event.Items{Done: n.Done, Resumed: n.Resumed, Failed: n.Failed, Abandoned: n.Abandoned, Retries: n.Retries}
	if n.begun >= 0 {
		i.Pending = max(0, n.begun-i.Ended())
	}
	if n.told > 0 && n.told >= n.started {
		i.Total = max(n.total, i.Ended()+i.Pending)
	}
	return i
}

// look returns copies of what is counted: nodes in the order in which they began.
func (t *tally) look() (nodes []nodeCount, limiters map[string]LimiterReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.met {
		nodes = append(nodes, n.look())
	}
	return nodes, maps.Clone(t.limiters)
}

func (t *tally) report(a node.Action, elapsed time.Duration) *Report {
	nodes, limiters := t.look()
	r := &Report{Action: a, Elapsed: elapsed, Steps: t.steps.Load(), Nodes: map[string]NodeReport{}, Limiters: limiters}
	t.mu.Lock()
	r.Last = t.last
	t.mu.Unlock()
	for _, n := range nodes {
		if n.NodeReport != (NodeReport{}) {
			r.Nodes[n.name] = n.NodeReport
		}
	}
	return r
}
