package flow

import (
	"time"

	"github.com/headrace/headrace/event"
)

// Series is how a run went over time: columns of equal length, one entry for each moment of At, zero
// for what did not exist yet. It has an entry every second and at most 600: when full, every second
// one is dropped and the interval doubles.
type Series struct {
	Interval time.Duration            // interval_s: between two moments; the last one is that of the run's end
	At       []time.Duration          // at_s: since the run began
	Nodes    map[string]NodeSeries    // nodes, by name: those that have items
	Limiters map[string]LimiterSeries // limiters, by name; those of one name are added up
}

// NodeSeries counts the items of a node up to each moment.
type NodeSeries struct {
	Done   []int64 `json:"done"` // those that were resumed among them
	Failed []int64 `json:"failed"`
}

// LimiterSeries is what a limiter did at each moment.
type LimiterSeries struct {
	Limit    []int     `json:"limit"`     // calls that may be in flight; 0: unbounded
	InFlight []int     `json:"in_flight"` // calls
	Waiting  []int     `json:"waiting"`   // calls
	Pace     []float64 `json:"pace"`      // requests per second that the controller has learned; 0 if none
	Rate     []float64 `json:"rate"`      // calls per second that were admitted since the moment before
	Hits     []int64   `json:"hits"`      // refusals since the run began
}

const (
	maxMoments   = 600
	seriesEvery  = time.Second
	requestsPace = "requests"
)

// recorder keeps the moments of a series. It is pure.
type recorder struct {
	interval time.Duration
	next     time.Duration // when the next one is due
	moments  []moment
}

type moment struct {
	at       time.Duration
	nodes    map[string]event.Items
	limiters map[string]event.LimiterProgress // only one pace is kept, in Pace
}

func newRecorder() *recorder { return &recorder{interval: seriesEvery} }

// record keeps p if a moment is due, or if it is the last.
func (r *recorder) record(p *event.Progress) {
	if p.Elapsed < r.next && !p.Final {
		return
	}
	if n := len(r.moments); n > 0 && r.moments[n-1].at == p.Elapsed {
		r.moments = r.moments[:n-1]
	}
	if len(r.moments) == maxMoments && r.halve(p.Elapsed) && !p.Final {
		return
	}
	r.moments = append(r.moments, momentOf(p))
	r.next = after(r.next, r.interval, p.Elapsed)
}

// halve drops every second moment; early reports that now is none any more.
func (r *recorder) halve(now time.Duration) (early bool) {
	kept := r.moments[:0]
	for i := 0; i < len(r.moments); i += 2 {
		kept = append(kept, r.moments[i])
	}
	clear(r.moments[len(kept):])
	r.moments = kept
	r.interval *= 2
	r.next = kept[len(kept)-1].at + r.interval
	return now < r.next
}

// after is the first time after now that lies a whole number of steps after t, which is not after now.
func after(t, step, now time.Duration) time.Duration {
	if now < t {
		return t
	}
	return now - (now-t)%step + step
}

func momentOf(p *event.Progress) moment {
	m := moment{at: p.Elapsed, nodes: map[string]event.Items{}, limiters: map[string]event.LimiterProgress{}}
	for _, n := range p.Nodes {
		if n.Ended() > 0 || n.Pending > 0 || n.Total > 0 {
			m.nodes[n.Name] = n.Items
		}
	}
	for _, l := range p.Limiters {
		sum, twice := m.limiters[l.Name]
		if !twice {
			sum.Hits = l.Hits // they are known by the name
		}
		sum.Limit += l.Limit
		sum.InFlight += l.InFlight
		sum.Waiting += l.Waiting
		sum.Calls += l.Calls
		if pace := l.Pace[requestsPace]; pace > 0 {
			sum.Pace = map[string]float64{requestsPace: sum.Pace[requestsPace] + pace}
		}
		m.limiters[l.Name] = sum
	}
	return m
}

// series puts the moments into columns.
func (r *recorder) series() *Series {
	s := &Series{Interval: r.interval, Nodes: map[string]NodeSeries{}, Limiters: map[string]LimiterSeries{}}
	nodes, limiters := map[string]bool{}, map[string]bool{}
	for _, m := range r.moments {
		s.At = append(s.At, m.at)
		for name := range m.nodes {
			nodes[name] = true
		}
		for name := range m.limiters {
			limiters[name] = true
		}
	}
	for name := range nodes {
		s.Nodes[name] = r.node(name)
	}
	for name := range limiters {
		s.Limiters[name] = r.limiter(name)
	}
	return s
}

func (r *recorder) node(name string) (s NodeSeries) {
	for _, m := range r.moments {
		n := m.nodes[name]
		s.Done = append(s.Done, n.Done+n.Resumed)
		s.Failed = append(s.Failed, n.Failed)
	}
	return s
}

func (r *recorder) limiter(name string) (s LimiterSeries) {
	var before mark
	for _, m := range r.moments {
		l := m.limiters[name]
		now := mark{m.at, l.Calls}
		s.Limit = append(s.Limit, l.Limit)
		s.InFlight = append(s.InFlight, l.InFlight)
		s.Waiting = append(s.Waiting, l.Waiting)
		s.Pace = append(s.Pace, l.Pace[requestsPace])
		s.Rate = append(s.Rate, between(before, now))
		s.Hits = append(s.Hits, l.Hits)
		before = now
	}
	return s
}
