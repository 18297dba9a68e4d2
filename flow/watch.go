package flow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/throttle"
)

// watch looks at a run from time to time, from one goroutine.
type watch struct {
	node     any // what is run
	tally    *tally
	observer event.Observer
	viewers  []*viewer
	recorder *recorder // nil: no series
	more     []*guard.Guard

	outline *outline
	speeds  map[string]*speed
	all     *speed                 // of the run as a whole
	calls   map[*guard.Guard]int64 // that were admitted before the run began

	stop chan time.Duration // how long the run took
	gone chan struct{}
}

// watched begins to watch the run of node n; nil if there is no watcher.
func watched(n any, t *tally, o event.Observer, set *runSettings) *watch {
	if !set.watches() {
		return nil
	}
	w := &watch{
		node: n, tally: t, observer: o, viewers: set.viewers, more: set.guards,
		outline: outlined(n), speeds: map[string]*speed{}, calls: map[*guard.Guard]int64{},
		stop: make(chan time.Duration), gone: make(chan struct{}),
	}
	for _, g := range slices.Concat(guardsIn(n, all), w.more) {
		w.calls[g] = g.Stats().Admitted
	}
	if set.series {
		w.recorder = newRecorder()
	}
	for _, v := range w.viewers {
		v.start()
	}
	go w.run(0)
	return w
}

// end shows the last snapshot of a run that took so long, and returns the series.
func (w *watch) end(elapsed time.Duration) *Series {
	if w == nil {
		return nil
	}
	w.stop <- elapsed
	<-w.gone
	for _, v := range w.viewers {
		v.end()
	}
	if w.recorder == nil {
		return nil
	}
	return w.recorder.series()
}

// run looks until the run ends, from now on.
func (w *watch) run(now time.Duration) {
	ended := false
	defer func() {
		if ended {
			close(w.gone)
		} else { // an observer has ended the goroutine
			go w.run(time.Since(w.tally.began))
		}
	}()
	w.look(now, false)
	next := after(seriesEvery, seriesEvery, now)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due := next
		for _, v := range w.viewers {
			due = min(due, v.next)
		}
		timer.Reset(due - time.Since(w.tally.began))
		select {
		case elapsed := <-w.stop:
			ended = true
			w.look(elapsed, true)
			return
		case <-timer.C:
		}
		now := time.Since(w.tally.began)
		w.look(now, false)
		next = after(next, seriesEvery, now)
	}
}

// look takes a snapshot and passes it to the watchers that are due.
func (w *watch) look(now time.Duration, final bool) {
	p := w.snapshot(now, final)
	if w.recorder != nil {
		w.recorder.record(p)
	}
	told := false
	for _, v := range w.viewers {
		if now < v.next && !final {
			continue
		}
		v.next = after(v.next, v.every, now)
		if !told {
			told = true
			e := event.New(p.Time, event.FlowProgress, p.Name)
			e.Wait, e.Progress = p.Elapsed, p
			emit.Send(w.observer, e)
		}
		v.offer(p)
	}
}

func (w *watch) snapshot(now time.Duration, final bool) *event.Progress {
	nodes, met := w.tally.look()
	p := &event.Progress{Time: w.tally.began.Add(now), Name: w.tally.flow, Elapsed: now, Final: final}
	known := true
	for i := range nodes {
		n := &nodes[i]
		np := event.NodeProgress{Name: n.name, Running: n.started - n.Runs, Runs: n.Runs, Failures: n.Failures, Items: n.items()}
		if w.speeds[n.name] == nil {
			w.speeds[n.name] = newSpeed(n.first)
		}
		w.speeds[n.name].judge(now, &np.Items)
		p.Nodes = append(p.Nodes, np)
		if !w.outline.counts(n.name) {
			continue
		}
		if w.all == nil {
			w.all = newSpeed(n.first)
		}
		hasItems := w.outline.nodes[n.name].batch || np.Ended()+np.Pending+n.told > 0
		known = known && (np.Total > 0 || n.told > 0 || !hasItems)
		add(&p.Items, &np.Items)
	}
	if !known {
		p.Items.Total = 0
	}
	if w.all != nil {
		w.all.judge(now, &p.Items)
	}
	slices.SortStableFunc(p.Nodes, func(a, b event.NodeProgress) int { return cmp.Compare(w.order(a.Name), w.order(b.Name)) })
	p.Limiters = w.lookAtLimiters(met)
	return p
}

// order is the place of a node among the others.
func (w *watch) order(name string) int {
	if at, known := w.outline.nodes[name]; known {
		return at.order
	}
	return len(w.outline.names)
}

// judge puts rate and ETA into i, which is what is known at that time. What was
// resumed took no time and says nothing about the rest.
func (s *speed) judge(at time.Duration, i *event.Items) {
	count := i.Done + i.Failed
	i.Rate = s.rate(at, count)
	if i.Total > 0 {
		i.ETA = s.eta(at, count, i.Total-i.Ended())
	}
	s.observe(at, count)
}

func add(sum, i *event.Items) {
	sum.Total += i.Total
	sum.Pending += i.Pending
	sum.Done += i.Done
	sum.Resumed += i.Resumed
	sum.Failed += i.Failed
	sum.Abandoned += i.Abandoned
	sum.Retries += i.Retries
}

// guards lists those of the nodes, and those that were named, each once.
func (w *watch) guards() []*guard.Guard {
	all := guardsIn(w.node, bounds)
	for _, g := range w.more {
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// lookAtLimiters looks at those that can be looked at, and adds those that are
// only known by their events.
func (w *watch) lookAtLimiters(met map[string]LimiterReport) (all []event.LimiterProgress) {
	known := map[string]bool{}
	for _, g := range w.guards() {
		known[g.Name()] = true
		p := inspect(g, met[g.Name()])
		p.Calls = max(0, p.Calls-w.calls[g])
		all = append(all, p)
	}
	for _, name := range slices.Sorted(maps.Keys(met)) {
		if m := met[name]; !known[name] {
			all = append(all, event.LimiterProgress{Name: name, Hits: m.Hits, Cuts: m.Cuts, Closed: m.Closed})
		}
	}
	return all
}

func inspect(g *guard.Guard, met LimiterReport) event.LimiterProgress {
	s := g.Stats()
	if g.Learner() != g {
		s.View = adaptive.View{} // of the learner, which is looked at as well
	}
	p := event.LimiterProgress{
		Name: g.Name(), Live: true, Limit: narrower(s.View.Concurrency, s.Limits.Concurrency),
		InFlight: s.InFlight, Waiting: s.Waiting, Calls: s.Admitted,
		Hits: met.Hits, Cuts: met.Cuts, Closed: met.Closed, Why: s.Why,
	}
	for u, pace := range s.View.Pace {
		if pace > 0 {
			if p.Pace == nil {
				p.Pace = map[string]float64{}
			}
			p.Pace[throttle.Unit(u).String()] = pace
		}
	}
	return p
}

// narrower is the smaller of two bounds, of which 0 means none.
func narrower(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
