package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/telemetry"
)

func TestTasks(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	tell := func(kind event.Kind, name string, attempts int, err error) []string {
		e := event.New(time.Now(), kind, name)
		e.Wait, e.Err, e.Attempt = 9*time.Second, err, attempts
		e.Task = &event.Task{Task: 7, Queued: time.Second, Waited: 2 * time.Second, Called: 6 * time.Second}
		o.Observe(e)
		return r.taken()
	}
	for name, c := range map[string]struct{ got, want []string }{
		"completed": {tell(event.TaskCompleted, "x", 1, nil), []string{
			"headrace.executor.ended=1 headrace.executor.name=x headrace.task.state=completed",
			"headrace.executor.task.called=6 headrace.executor.name=x headrace.task.state=completed",
			"headrace.executor.task.duration=9 headrace.executor.name=x headrace.task.state=completed",
			"headrace.executor.task.queued=1 headrace.executor.name=x headrace.task.state=completed",
			"headrace.executor.task.waited=2 headrace.executor.name=x headrace.task.state=completed",
		}},
		"failed": {tell(event.TaskFailed, "x", 2, context.DeadlineExceeded)[:1], []string{
			"headrace.executor.ended=1 error.type=timeout headrace.executor.name=x headrace.task.state=failed",
		}},
		"cancelled before it was called": {tell(event.TaskCancelled, "y", 0, errors.New("secret")), []string{
			"headrace.executor.ended=1 error.type=*errors.errorString headrace.executor.name=_OTHER headrace.task.state=cancelled",
			"headrace.executor.task.duration=9 error.type=*errors.errorString headrace.executor.name=_OTHER headrace.task.state=cancelled",
			"headrace.executor.task.queued=1 error.type=*errors.errorString headrace.executor.name=_OTHER headrace.task.state=cancelled",
		}},
		"retry": {tell(event.TaskRetry, "x", 1, context.Canceled), []string{
			"headrace.executor.retries=1 error.type=canceled headrace.executor.name=x",
		}},
		"queued": {tell(event.TaskQueued, "x", 0, nil), nil},
	} {
		assert.Equal(t, c.want, c.got, name)
	}
	o.Observe(event.New(time.Now(), event.TaskCompleted, "x")) // of an emitter that leaves Task out
	assert.Len(t, r.taken(), 2)
}

// Executors are reported while they are watched, and no callback is left behind.
func TestWatchExecutors(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	x := &telemetry.Load{
		Name: "x", Pending: 1, Queued: 2, Processing: 3, Calling: 4, Slots: 5, Concurrency: 6,
		Windows: []telemetry.WindowLeft{{Window: "500/min", Unit: "requests", Left: 70}, {Window: "9 tokens/s", Unit: "tokens", Left: -8}},
	}
	stop, again := o.WatchLoads(x), o.WatchLoads(x)
	assert.Equal(t, []string{
		"headrace.executor.concurrency=6 headrace.executor.name=x",
		"headrace.executor.slots=5 headrace.executor.name=x",
		"headrace.executor.tasks=1 headrace.executor.name=x headrace.task.state=pending",
		"headrace.executor.tasks=2 headrace.executor.name=x headrace.task.state=queued",
		"headrace.executor.tasks=3 headrace.executor.name=x headrace.task.state=processing",
		"headrace.executor.tasks=4 headrace.executor.name=x headrace.task.state=calling",
		"headrace.executor.window.left=-8 headrace.executor.name=x headrace.unit=tokens headrace.window=9 tokens/s",
		"headrace.executor.window.left=70 headrace.executor.name=x headrace.unit=requests headrace.window=500/min",
	}, r.looked(t), "once, though it is watched twice")
	stop()
	stop()
	assert.Len(t, r.looked(t), 8, "another watches it still")
	again()
	assert.Nil(t, r.looked(t))

	other := &telemetry.Load{Name: "y", Queued: 1, Windows: []telemetry.WindowLeft{{Window: "500/min", Unit: "requests", Left: 60}}}
	more := *other
	more.Windows = []telemetry.WindowLeft{{Window: "500/min", Unit: "requests", Left: 50}}
	defer o.WatchLoads(other, &more)()
	lines := r.looked(t)
	assert.Contains(t, lines, "headrace.executor.tasks=2 headrace.executor.name=_OTHER headrace.task.state=queued")
	assert.Contains(t, lines, "headrace.executor.window.left=50 headrace.executor.name=_OTHER headrace.unit=requests headrace.window=500/min")
}
