package console

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
)

// counter makes snapshots from the events of nodes if there is no other source:
// node.Batch.All and Stream have no run around them. It counts until the display is closed.
type counter struct {
	name        string // of the first flow or node
	begun, last time.Time
	running     int64 // runs of nodes
	nodes       []*counted
	byName      map[string]*counted
	limiters    map[string]*event.LimiterProgress
	marks       []mark
	news        bool // something was counted since the last snapshot
}

// counted is one node.
type counted struct {
	event.NodeProgress
	outer   bool         // it began while no other one was running
	items   atomic.Int64 // that have begun
	started int64        // runs, of which
	told    int64        // have told how many items they have
	total   int64
}

// mark is how many items had been done or had failed at a time.
type mark struct {
	at    time.Time
	count int64
}

const (
	rateOver  = time.Minute
	markEvery = time.Second
)

func newCounter() *counter {
	return &counter{byName: map[string]*counted{}, limiters: map[string]*event.LimiterProgress{}}
}

func (c *counter) node(name string) *counted {
	n := c.byName[name]
	if n == nil {
		n = &counted{NodeProgress: event.NodeProgress{Name: name}}
		c.byName[name] = n
		c.nodes = append(c.nodes, n)
	}
	return n
}

func (c *counter) observe(e event.Event) {
	c.news = true
	switch e.Kind {
	case event.FlowStarted, event.NodeStarted, event.NodeInput, event.NodeFinished, event.ItemDone, event.ItemResumed,
		event.ItemFailed, event.ItemAbandoned, event.ItemRetry:
		if c.begun.IsZero() {
			c.begun, c.name = e.Time, e.Source
		}
		c.last = e.Time
		if e.Kind != event.FlowStarted {
			c.count(c.node(e.Source), &e)
		}
	case event.LimiterHit:
		c.limiter(e.Source).Hits++
	case event.LimiterCut:
		c.limiter(e.Source).Cuts++
	case event.LimiterClosed:
		l := c.limiter(e.Source)
		l.Closed, l.Why = true, e.Reason
	default:
	}
}

func (c *counter) limiter(name string) *event.LimiterProgress {
	l := c.limiters[name]
	if l == nil {
		l = &event.LimiterProgress{Name: name}
		c.limiters[name] = l
	}
	return l
}

func (c *counter) count(n *counted, e *event.Event) {
	switch e.Kind {
	case event.NodeStarted:
		n.outer = n.outer || c.running == 0
		n.started++
		n.Running++
		c.running++
	case event.NodeFinished:
		n.Running--
		n.Runs++
		c.running--
		if e.Err != nil {
			n.Failures++
		}
	case event.NodeInput:
		n.told++
		n.total += int64(e.To)
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
	default:
	}
}

// lasts is how long ago the first event was.
func (c *counter) lasts(now time.Time) time.Duration {
	if c.begun.IsZero() {
		return 0
	}
	return now.Sub(c.begun)
}

// idle: nothing runs, and all that was counted has been seen.
func (c *counter) idle() bool { return c.running == 0 && !c.news }

// snapshot is nil before the first event. ending: there is nothing more to come.
// While nothing runs its clock stands still.
func (c *counter) snapshot(now time.Time, ending bool) *event.Progress {
	if c.begun.IsZero() {
		return nil
	}
	if ending || c.running == 0 {
		now = c.last
	}
	c.news = false
	p := &event.Progress{Time: now, Name: c.name, Elapsed: max(0, now.Sub(c.begun)), Final: ending}
	known := true
	for _, n := range c.nodes {
		np := n.NodeProgress
		np.Pending = max(0, n.items.Load()-np.Ended())
		if n.told > 0 && n.told >= n.started {
			np.Total = max(n.total, np.Ended()+np.Pending)
		}
		p.Nodes = append(p.Nodes, np)
		if n.outer {
			known = known && (np.Total > 0 || n.told > 0 || np.Ended()+np.Pending == 0)
			p.Items.Total += np.Total
			p.Items.Pending += np.Pending
			p.Items.Done += np.Done
			p.Items.Resumed += np.Resumed
			p.Items.Failed += np.Failed
			p.Items.Abandoned += np.Abandoned
			p.Items.Retries += np.Retries
		}
	}
	if !known {
		p.Items.Total = 0
	}
	c.rate(now, &p.Items)
	if len(p.Nodes) == 1 {
		p.Nodes[0].Items = p.Items
	}
	for _, name := range slices.Sorted(maps.Keys(c.limiters)) {
		p.Limiters = append(p.Limiters, *c.limiters[name])
	}
	return p
}

// rate fills in how fast it goes: over the last minute, or since the begin.
func (c *counter) rate(now time.Time, i *event.Items) {
	if len(c.marks) == 0 {
		c.marks = append(c.marks, mark{at: c.begun})
	}
	for len(c.marks) > 1 && now.Sub(c.marks[1].at) >= rateOver {
		c.marks = c.marks[1:]
	}
	count := i.Done + i.Failed
	if over := now.Sub(c.marks[0].at); over > 0 {
		i.Rate = float64(count-c.marks[0].count) / over.Seconds()
	}
	if left := i.Total - i.Ended(); left > 0 && i.Rate > 0 && now.Sub(c.begun) >= time.Second {
		i.ETA = time.Duration(float64(left) / i.Rate * float64(time.Second))
	}
	if now.Sub(c.marks[len(c.marks)-1].at) >= markEvery {
		c.marks = append(c.marks, mark{now, count})
	}
}
