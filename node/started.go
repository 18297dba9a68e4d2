package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// span is a run of a node between the events of its begin and its end.
type span struct {
	to    event.Observer // nil: the run sends no events
	node  string
	began time.Time
	end   func(event.Event) // of its trace
}

// started sends the event of a run's begin. It returns the context to run under.
func (s *settings) started(ctx context.Context) (inner context.Context, run span) {
	o := event.From(ctx)
	if o == nil {
		return ctx, span{}
	}
	run = span{to: o, node: s.name, began: emit.Now(o)}
	e := event.New(run.began, event.NodeStarted, s.name)
	emit.Send(o, e)
	inner, run.end = emit.Trace(ctx, e)
	return inner, run
}

// finished sends the event of the run's end.
func (s *span) finished(err error) {
	if s.to == nil {
		return
	}
	e := event.New(emit.Now(s.to), event.NodeFinished, s.node)
	e.Wait, e.Err = e.Time.Sub(s.began), err
	s.end(e)
	emit.Send(s.to, e)
}
