package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// tasks are the instruments for what executors tell of their tasks.
type tasks struct {
	ended, retries                   metric.Int64Counter
	duration, queued, waited, called metric.Float64Histogram
	names                            *memory[string, string] // of executors, by themselves
	labels                           *memory[task, *labels]
}

// newTasks has boundaries that are chosen by judgement, those of items: from a millisecond up to a quarter of an hour.
func newTasks(m *maker, maxNames int) *tasks {
	bounds := []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	waits := append([]float64{0}, bounds...)
	return &tasks{
		ended:    m.counter("headrace.executor.ended", "{task}", "Tasks that have ended, by state."),
		retries:  m.counter("headrace.executor.retries", "{retry}", "Attempts that failed and were followed by another."),
		duration: m.seconds("headrace.executor.task.duration", "Duration of tasks, with their wait for room.", bounds...),
		queued:   m.seconds("headrace.executor.task.queued", "Time of tasks in the queue.", waits...),
		waited:   m.seconds("headrace.executor.task.waited", "Time that tasks waited for limits and between attempts.", waits...),
		called:   m.seconds("headrace.executor.task.called", "Duration of the calls of tasks, all attempts.", bounds...),
		names:    newMemory(maxNames, itself), labels: newMemory(maxLabels, task.labels),
	}
}

func (t *tasks) observe(e event.Event) {
	ctx, about := context.Background(), task{name: e.Source, state: stateOf(e.Kind)}
	if _, kept := t.names.kept(about.name); !kept {
		about.name = other
	}
	if e.Err != nil {
		about.failure = failureType(e.Err)
	}
	l := t.labels.get(about)
	if about.state == "" {
		t.retries.Add(ctx, 1, l.add...)
		return
	}
	t.ended.Add(ctx, 1, l.add...)
	t.duration.Record(ctx, e.Wait.Seconds(), l.record...)
	if e.Task == nil {
		return
	}
	t.queued.Record(ctx, e.Task.Queued.Seconds(), l.record...)
	if e.Attempt > 0 {
		t.waited.Record(ctx, e.Task.Waited.Seconds(), l.record...)
		t.called.Record(ctx, e.Task.Called.Seconds(), l.record...)
	}
}

// stateOf is what a task came to; empty if e is no end of a task.
func stateOf(kind event.Kind) string {
	switch kind {
	case event.TaskCompleted:
		return "completed"
	case event.TaskFailed:
		return "failed"
	case event.TaskCancelled:
		return "cancelled"
	default:
		return ""
	}
}

// task is what measurements of tasks with the same attributes have in common.
type task struct {
	name    string // of the executor
	state   string // or empty
	failure string // or empty
}

func (t task) labels() *labels {
	attrs := append(make([]attribute.KeyValue, 0, 3), attribute.String("headrace.executor.name", t.name))
	if t.state != "" {
		attrs = append(attrs, attribute.String("headrace.task.state", t.state))
	}
	if t.failure != "" {
		attrs = append(attrs, attribute.String("error.type", t.failure))
	}
	return newLabels(attrs...)
}
