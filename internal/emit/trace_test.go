package emit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// tracer records its calls, and marks contexts with its name.
type tracer struct {
	name   string
	kinds  []event.Kind
	silent bool // it has no end to report
	panics bool
	log    *log
}

type log struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

type marks struct{}

func (t *tracer) Observe(e event.Event) { t.log.add(t.name + " " + string(e.Kind)) }

func (t *tracer) Traces(kind event.Kind) bool { return slices.Contains(t.kinds, kind) }

func (t *tracer) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	if t.panics {
		panic("tracer")
	}
	t.log.add(t.name + " begin " + string(begin.Kind))
	before, _ := ctx.Value(marks{}).(string)
	ctx = context.WithValue(ctx, marks{}, before+t.name)
	if t.silent {
		return ctx, nil
	}
	return ctx, func(e event.Event) { t.log.add(t.name + " end " + string(e.Kind)) }
}

func (t *tracer) Note(ctx context.Context, e event.Event) {
	if t.panics {
		panic("tracer")
	}
	marked, _ := ctx.Value(marks{}).(string)
	t.log.add(t.name + " note " + string(e.Kind) + " under " + marked)
}

func started() event.Event { return event.New(time.Time{}, event.NodeStarted, "n") }

func finished() event.Event { return event.New(time.Time{}, event.NodeFinished, "n") }

func TestTraceGoesThroughAllWhoWant(t *testing.T) {
	l := &log{}
	of := func(name string, kinds ...event.Kind) *tracer { return &tracer{name: name, kinds: kinds, log: l} }
	silent := of("s", event.NodeStarted)
	silent.silent = true
	broken := of("b", event.NodeStarted)
	broken.panics = true
	ctx := event.With(t.Context(), event.Tee(of("1", event.NodeStarted), event.Func(func(event.Event) {}), broken, silent))
	ctx = event.With(ctx, event.Tee(of("2", event.NodeStarted), of("other", event.FlowStarted)))

	inner, end := emit.Trace(ctx, started())
	assert.Equal(t, "1s2", inner.Value(marks{}))
	end(finished())
	end(finished())
	assert.Equal(t, []string{
		"1 begin node.started", "s begin node.started", "2 begin node.started",
		"2 end node.finished", "1 end node.finished",
	}, l.lines)
}

func TestTraceWithoutTracers(t *testing.T) {
	for _, o := range []event.Observer{nil, event.Func(func(event.Event) {}), event.Tee(event.Func(func(event.Event) {})), &tracer{log: &log{}}} {
		ctx := event.With(t.Context(), o)
		inner, end := emit.Trace(ctx, started())
		assert.Equal(t, ctx, inner)
		end(finished())
		assert.Nil(t, emit.TracersOf(o, event.NodeStarted))
	}
}

type silentlyBroken struct{ tracer }

func (*silentlyBroken) Traces(event.Kind) bool { panic("tracer") }

type badContext struct{ tracer }

func (*badContext) Traces(event.Kind) bool { return true }

func (*badContext) Trace(context.Context, event.Event) (context.Context, func(event.Event)) {
	return nil, func(event.Event) { panic("end") }
}

func TestTraceSurvivesWhatTracersDo(t *testing.T) {
	assert.Nil(t, emit.TracersOf(&silentlyBroken{}, event.NodeStarted))
	ctx := event.With(t.Context(), event.Tee(&badContext{}))
	inner, end := emit.Trace(ctx, started())
	assert.Equal(t, ctx, inner)
	assert.NotPanics(t, func() { end(finished()) })
}

func TestTellTellsTracersWhere(t *testing.T) {
	l := &log{}
	broken := &tracer{name: "b", panics: true, log: &log{}}
	ctx := event.With(t.Context(), event.Tee(broken, &tracer{name: "t", kinds: []event.Kind{event.NodeStarted}, log: l}))
	inner, _ := emit.TracersOf(event.From(ctx), event.NodeStarted).Begin(ctx, started())
	emit.Tell(inner, event.From(inner), event.New(time.Time{}, event.ItemRetry, "n"))
	emit.Tell(inner, &tracer{name: "alone", log: l}, event.New(time.Time{}, event.LimiterHit, "n"))
	emit.Tell(t.Context(), event.From(t.Context()), started())
	assert.Equal(t, []string{
		"t begin node.started", "t item.retry", "t note item.retry under t", "alone limiter.hit", "alone note limiter.hit under t",
	}, l.lines)
}

func TestInside(t *testing.T) {
	assert.False(t, emit.IsInside(t.Context()))
	assert.True(t, emit.IsInside(context.WithValue(emit.Inside(t.Context()), marks{}, "")))
}

func TestNobodyPaysForTracers(t *testing.T) {
	ctx := event.With(t.Context(), event.Tee(event.Func(func(event.Event) {}), event.Func(func(event.Event) {})))
	e := started()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, end := emit.Trace(ctx, e)
		end(e)
		emit.Tell(ctx, event.From(ctx), e)
		if emit.WantsCalls(event.From(ctx)) {
			t.Fail()
		}
	}))
}
