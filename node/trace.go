package node

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// traces tracks the items of a run for item tracers. Each item's end is reported exactly once: items that are open when the run
// ends are reported then.
type traces struct {
	items *emit.Tracers

	mu     sync.Mutex // guards open, closed
	open   map[int64]func(event.Event)
	closed bool
}

// traced returns ctx with the trace of the items, and the tracers of items, if there are any.
func traced(ctx context.Context, o event.Observer) (inner context.Context, items *traces, attempts *emit.Tracers) {
	if o == nil {
		return ctx, nil, nil
	}
	attempts = emit.TracersOf(o, event.AttemptStarted)
	if t := emit.TracersOf(o, event.ItemStarted); t != nil {
		items = &traces{items: t, open: map[int64]func(event.Event){}}
	}
	if items != nil || attempts != nil || emit.TracersOf(o, event.NodeStarted) != nil {
		ctx = emit.Inside(ctx)
	}
	return ctx, items, attempts
}

// begin returns the context for the item of that index; nil if it is that of the run.
func (t *traces) begin(ctx context.Context, node string, index int64) context.Context {
	if t == nil {
		return nil
	}
	e := event.New(time.Now(), event.ItemStarted, node)
	e.Index = index
	ctx, end := t.items.Begin(ctx, e)
	t.mu.Lock()
	late := t.closed
	if !late {
		t.open[index] = end
	}
	t.mu.Unlock()
	if late {
		e.Kind = event.ItemAbandoned
		end(e)
	}
	return ctx
}

// end reports an item's end.
func (t *traces) end(e event.Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	end := t.open[e.Index]
	delete(t.open, e.Index)
	t.mu.Unlock()
	if end != nil {
		end(e)
	}
}

// close ends what is still open, for the run is over.
func (t *traces) close(node string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	left := t.open
	t.open, t.closed = nil, true
	t.mu.Unlock()
	for index, end := range left {
		e := event.New(time.Now(), event.ItemAbandoned, node)
		e.Index = index
		end(e)
	}
}

// tracedAttempt reports the beginning of attempt n. index is that of the item, or NoIndex.
func (s *settings) tracedAttempt(
	ctx context.Context, to *emit.Tracers, index int64, n int,
) (inner context.Context, ended func(err error)) {
	if to == nil {
		return ctx, nil
	}
	e := event.New(time.Now(), event.AttemptStarted, s.name)
	e.Index, e.Attempt = index, n
	inner, end := to.Begin(ctx, e)
	return inner, func(err error) {
		last := event.New(time.Now(), event.AttemptFinished, s.name)
		last.Index, last.Attempt, last.Wait, last.Err = index, n, last.Time.Sub(e.Time), err
		end(last)
	}
}
