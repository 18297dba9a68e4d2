package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
)

// started sends the event of a run's begin, and returns what sends that of its end.
func (s *settings) started(ctx context.Context) (finished func(err error)) {
	o := event.From(ctx)
	if o == nil {
		return func(error) {}
	}
	began := time.Now()
	s.tellStale(o, began)
	event.Send(o, event.New(began, event.NodeStarted, s.name))
	return func(err error) {
		e := event.New(time.Now(), event.NodeFinished, s.name)
		e.Wait, e.Err = e.Time.Sub(began), err
		event.Send(o, e)
	}
}
