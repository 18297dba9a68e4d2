package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// started sends the event of a run's begin. It returns the context to run under
// and the function that sends the event of its end.
func (s *settings) started(ctx context.Context) (inner context.Context, finished func(err error)) {
	o := event.From(ctx)
	if o == nil {
		return ctx, func(error) {}
	}
	began := time.Now()
	e := event.New(began, event.NodeStarted, s.name)
	emit.Send(o, e)
	inner, end := emit.Trace(ctx, e)
	return inner, func(err error) {
		e := event.New(time.Now(), event.NodeFinished, s.name)
		e.Wait, e.Err = e.Time.Sub(began), err
		end(e)
		emit.Send(o, e)
	}
}
