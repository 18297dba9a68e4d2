package riverguard

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Middleware runs the Work of each job when a guard admits it. It is safe for
// concurrent use.
type Middleware struct {
	river.MiddlewareDefaults

	guard   *guard.Guard
	cost    func(*rivertype.JobRow) throttle.Cost
	hold    time.Duration
	longest time.Duration // what hold grows to
	queue   *pausing      // nil: all jobs are guarded, and no queue is paused
}

var _ rivertype.WorkerMiddleware = (*Middleware)(nil)

// New returns a Middleware for a river.Config or a worker, which may choose one
// for each job. It snoozes jobs and does not pause queues, so that jobs of
// other guards, or without a guard, can be in the same queue. For a queue with
// a single guard, use Queue. Problems are joined, each a *fault.FieldError.
func New(c Config) (*Middleware, error) { return c.middleware(longestHold) }

// errHeld is the cause of a wait that took as long as a job may wait in a worker.
var errHeld = errors.New("riverguard: the job waited in its worker for as long as it may")

// patience is how long a Work may take to return after its timeout. It is that of package guard.
const patience = time.Second

// Work implements rivertype.WorkerMiddleware. The error is a snooze if the job
// was not admitted in time or was rejected by the provider, and else that of
// the job.
func (m *Middleware) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) error {
	if m.queue != nil && m.queue.name != job.Queue {
		return doInner(ctx)
	}
	p := parking{middleware: m, job: job, snoozes: snoozesOf(job)}
	p.hold = m.longest
	if n := int64(p.snoozes) + 1; n < int64(m.longest/m.hold) {
		p.hold = m.hold * time.Duration(n)
	}
	if wait := m.paused(); wait > p.hold {
		return p.park(ctx, &closedError{wait, m.guard.Stats().Why})
	}
	var cost throttle.Cost
	if m.cost != nil {
		cost = m.cost(job)
	}
	call := m.guard.Begin(cost)
	admitted, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(p.hold, func() { cancel(errHeld) })
	attempt, err := call.Admit(admitted)
	if !timer.Stop() && err == nil { // its context has ended
		_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Unsent})
		err = errHeld
	}
	if err != nil {
		return p.unsent(ctx, err)
	}
	m.queue.passed(ctx, m.guard)
	refusal, err := m.run(attempt, call, doInner)
	if refusal != nil {
		return p.park(ctx, refusal)
	}
	return err
}

// run runs an admitted job and ends its call. refusal is the error of the guard if the
// provider rejected the job.
func (m *Middleware) run(ctx context.Context, call *guard.Call, doInner func(context.Context) error) (refusal, err error) {
	defer func() { // of a panic, or the end of the goroutine, which goes on to River; else the call has ended
		_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Transient, Err: errGone})
	}()
	after := stuckAfter
	if timeout := m.guard.Policy().Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
		after = timeout + patience
	}
	stuck := time.AfterFunc(after, func() {
		_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Transient, Err: &fault.HungError{After: patience, Cause: context.DeadlineExceeded}})
	})
	err = doInner(ctx)
	stuck.Stop()
	if errors.As(err, new(*rivertype.JobSnoozeError)) { // it is no failure, and says nothing about the provider
		_, _ = call.End(adaptive.Feedback{})
		return nil, err
	}
	again, ended := call.End(adaptive.Feedback{Err: err})
	switch {
	case err == nil, errors.As(err, new(*rivertype.JobCancelError)):
		return nil, err
	case again && ended == nil: // the guard would wait, and send it again
		return &adaptive.RateLimitHit{RetryAfter: adaptive.Classify(m.guard.Policy().Detector, err).RetryAfter, Cause: err}, err
	case adaptive.Refused(ended):
		return ended, err
	}
	return nil, err
}

var errGone = errors.New("riverguard: the job panicked, or ended its goroutine")

// paused returns how long the guard admits no call at all.
func (m *Middleware) paused() time.Duration {
	s := m.guard.Stats()
	until := s.PausedUntil
	if s.View.GateUntil.After(until) {
		until = s.View.GateUntil
	}
	if until.IsZero() {
		return 0
	}
	return time.Until(until)
}

// snoozesOf returns how often River has snoozed a job.
func snoozesOf(job *rivertype.JobRow) int32 {
	var metadata struct {
		Snoozes float64 `json:"snoozes"`
	}
	_ = json.Unmarshal(job.Metadata, &metadata) // metadata of users may be of another form
	return int32(min(max(metadata.Snoozes, 0), math.MaxInt32-1))
}
