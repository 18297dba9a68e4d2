package flowtest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/event"
)

// Event is an event and when it was told, since the Record was made.
type Event struct {
	At time.Duration
	event.Event
}

// Events are events in the order in which they were told.
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

// Hits returns the refusals that the limiter of that name has heard of. That of a
// node that is within no guard has the node's name.
func (r *Record) Hits(limiter string) Events {
	return r.Events().Of(limiter).Kinds(event.LimiterHit)
}

// Cuts returns how the limiter of that name has lowered what it allows: From and To.
func (r *Record) Cuts(limiter string) Events {
	return r.Events().Of(limiter).Kinds(event.LimiterCut)
}

// Retries returns the failed attempts of the node of that name that were
// followed by another: Attempt, Wait and Err.
func (r *Record) Retries(node string) Events {
	return r.Events().Of(node).Kinds(event.ItemRetry)
}

// Steps returns the names of the nodes that the flow of that name went through. The instances of a
// batch of flows are mixed as they ran: see StepsOf.
func (r *Record) Steps(flow string) []string {
	return steps(r.Events().Of(flow))
}

// StepsOf is Steps for instance number index of a batch of flows, from 0, as flow.Batch got them.
// What ran again, for WithRetry or in another batch around, is there again.
func (r *Record) StepsOf(flow string, index int64) []string {
	return steps(r.Events().Of(flow).where(func(e Event) bool { return e.Index == index }))
}

func steps(of Events) (nodes []string) {
	for _, e := range of.Kinds(event.FlowStep) {
		nodes = append(nodes, e.Key)
	}
	return nodes
}
