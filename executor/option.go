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

// WithCost sets the expected cost, which the limits reserve; the default is one
// request. Inside the call guard.Use sets the real one.
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

// WithPriority puts the task before all queued tasks of a lower priority; the default
// is 0. It has no effect while the task waits for room in the queue.
func WithPriority(n int) SubmitOption {
	return func(t *record) {
		if n < math.MinInt32 || n > math.MaxInt32 {
			t.problem("WithPriority", "%d does not fit 32 bits", n)
		}
		t.priority = int32(n) //nolint:gosec // one that does not fit is refused
	}
}

// WithDeadline ends the context of the task at a point in time. A task that has not
// begun by then fails.
func WithDeadline(at time.Time) SubmitOption {
	return func(t *record) {
		if at.IsZero() {
			t.problem("WithDeadline", "the time is zero: leave the option out")
		}
		t.more().deadline = at
	}
}

// Within makes the call of a task pass these guards as well, such as that of a user,
// the most specific first. Nil guards are ignored.
func Within(guards ...*guard.Guard) SubmitOption {
	guards = slices.DeleteFunc(slices.Clone(guards), func(g *guard.Guard) bool { return g == nil })
	return func(t *record) {
		if len(guards) > 0 {
			t.more().within = guards
		}
	}
}

// WithMetadata sets Info.Metadata. It must not contain secrets.
func WithMetadata(m map[string]string) SubmitOption {
	return func(t *record) { t.more().metadata = maps.Clone(m) }
}

// WithRoomTimeout bounds how long Submit waits for room in the queue.
func WithRoomTimeout(d time.Duration) SubmitOption {
	return func(t *record) {
		if d <= 0 {
			t.problem("WithRoomTimeout", "%s is not a positive duration: TrySubmit does not wait at all", d)
		}
		t.more().room = d
	}
}

// WithRequest sets Info.Request. Secrets in the URL and the header are redacted, also
// where the payload, the response or an error repeats them. Do not change payload
// afterwards.
func WithRequest(method, endpoint string, h http.Header, payload []byte) SubmitOption {
	return func(t *record) {
		t.more().request = newRequest(method, endpoint, h, payload)
	}
}
