package executor

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// SubmitOption is a setting of one task.
type SubmitOption func(t *record)

// problem notes that an option cannot be used.
func (t *record) problem(field, format string, args ...any) {
	t.more().problems = append(t.more().problems,
		&fault.FieldError{Owner: "executor: task", Field: field, Problem: fmt.Sprintf(format, args...)})
}

// WithCost says what the call will cost, for the limits to reserve it. Say what it
// really cost with guard.Use, from inside the call. The default is one request.
func WithCost(c throttle.Cost) SubmitOption {
	return func(t *record) {
		for u := range throttle.Units {
			if n := c.Of(u); n < 0 || n > throttle.MaxAmount {
				t.problem("WithCost", "%d %s are not between 0 and %d", n, u, int64(throttle.MaxAmount))
			}
		}
		t.cost = &c
	}
}

// WithPriority has the task go before all tasks in the queue of a lower
// priority; the default is 0, and within one it is first come, first served.
// A task starves for as long as tasks of higher priorities keep all workers
// busy. It counts for the queue, not for those who wait for room in it, and
// nobody overtakes a task that a worker has.
func WithPriority(n int) SubmitOption {
	return func(t *record) {
		if n < math.MinInt32 || n > math.MaxInt32 {
			t.problem("WithPriority", "%d does not fit 32 bits", n)
		}
		t.priority = int32(n) //nolint:gosec // one that does not fit is refused
	}
}

// WithDeadline ends the task's context at a point in time. A task that nothing
// was begun of by then fails unsent.
func WithDeadline(at time.Time) SubmitOption {
	return func(t *record) {
		if at.IsZero() {
			t.problem("WithDeadline", "the time is zero: leave the option out")
		}
		t.more().deadline = at
	}
}

// Within makes the task's call pass these guards too, such as that of a user,
// the most specific first, and then that of the executor: see guard.Join. Nil
// guards are skipped. A task that waits for them leaves its slot to others: for
// that, up to four such tasks for each of Concurrency leave the queue early,
// and are overtaken by no task of a higher priority.
func Within(guards ...*guard.Guard) SubmitOption {
	guards = slices.DeleteFunc(slices.Clone(guards), func(g *guard.Guard) bool { return g == nil })
	return func(t *record) {
		if len(guards) > 0 {
			t.more().within = guards
		}
	}
}

// WithMetadata puts m into the task's Info. It must hold no secrets.
func WithMetadata(m map[string]string) SubmitOption {
	return func(t *record) { t.more().metadata = maps.Clone(m) }
}

// WithRoomTimeout bounds how long Submit waits for room in a full queue.
func WithRoomTimeout(d time.Duration) SubmitOption {
	return func(t *record) {
		if d <= 0 {
			t.problem("WithRoomTimeout", "%s is not a positive duration: TrySubmit does not wait at all", d)
		}
		t.more().room = d
	}
}

// WithRequest puts into the task's Info what the call is going to send. The
// values of headers that may be secret are not kept, and neither is anything in
// the payload, an answer or an error that repeats them. Of the payload Info shows
// the first Config.Keep bytes; it must not change any more.
func WithRequest(method, endpoint string, h http.Header, payload []byte) SubmitOption {
	return func(t *record) {
		t.more().request = newRequest(method, endpoint, h, payload)
	}
}
