package flowtest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/event"
)

// Event is an event and its time since the Record was made.
type Event struct {
	At time.Duration
	event.Event
}

// Events are events in the order in which they were sent.
type Events []Event

// Of returns the events of the limiter, node, flow or breaker of that name.
func (es Events) Of(source string) Events {
	return es.where(func(e Event) bool { return e.Source == source })
}

// Kinds returns the events of these kinds.
func (es Events) Kinds(kinds ...event.Kind) Events {
	return es.where(func(e Event) bool { return slices.Contains(kinds, e.Kind) })
}

func (es Events) where(keep func(Event) bool) Events {
	var kept Events
	for _, e := range es {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// String is the timeline of the events.
func (es Events) String() string {
	lines := make([]line, len(es))
	for i, e := range es {
		lines[i] = eventLine(e)
	}
	return render(lines)
}

// Events returns all events so far.
func (r *Record) Events() Events {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Hits returns the rate-limit responses that the limiter of that name received. A node without a guard
// has a limiter of its own name.
func (r *Record) Hits(limiter string) Events {
	return r.Events().Of(limiter).Kinds(event.LimiterHit)
}

// Cuts returns the decreases of the limiter of that name: From and To.
func (r *Record) Cuts(limiter string) Events {
	return r.Events().Of(limiter).Kinds(event.LimiterCut)
}

// Steps returns the names of the nodes that the flow of that name went through, over all instances:
// see StepsOf.
func (r *Record) Steps(flow string) []string {
	return steps(r.Events().Of(flow))
}

// StepsOf is Steps for one instance of a batch of flows, counted from 0. Retried steps are repeated.
func (r *Record) StepsOf(flow string, index int64) []string {
	return steps(r.Events().Of(flow).where(func(e Event) bool { return e.Index == index }))
}

func steps(of Events) (nodes []string) {
	for _, e := range of.Kinds(event.FlowStep) {
		nodes = append(nodes, e.Key)
	}
	return nodes
}
