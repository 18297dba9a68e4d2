package emit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// journal records the observers and their events, in order; not safe for concurrent use.
type journal []string

func (j *journal) as(name string) event.Observer {
	return event.Func(func(e event.Event) { *j = append(*j, name+":"+e.Source) })
}

func panicking() event.Observer {
	return event.Func(func(event.Event) { panic("observer") })
}

func of(source string) event.Event { return event.Event{Source: source} }

func TestSendSurvivesAnyObserver(t *testing.T) {
	var j journal
	assert.NotPanics(t, func() {
		emit.Send(nil, of("a"))
		emit.Send(event.Func(nil), of("b"))
		emit.Send(panicking(), of("c"))
		emit.Send((*event.Buffer)(nil), of("d"))
		emit.Send(j.as("x"), of("e"))
	})
	assert.Equal(t, journal{"x:e"}, j)
}

func TestTellUnderADoneContext(t *testing.T) {
	var j journal
	ctx, cancel := context.WithCancel(event.With(t.Context(), j.as("a")))
	cancel()
	emit.Tell(ctx, event.From(ctx), of("1"))
	assert.Equal(t, journal{"a:1"}, j)
}

func TestTellSurvivesAPanic(t *testing.T) {
	var j journal
	ctx := event.With(event.With(t.Context(), panicking()), j.as("a"))
	assert.NotPanics(t, func() { emit.Tell(ctx, event.From(ctx), of("1")) })
	assert.Equal(t, journal{"a:1"}, j)
}
