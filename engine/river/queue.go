package riverguard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
)

const (
	// keeper is the queue of the jobs that resume queues.
	keeper = "headrace"
	// longestPause is how long a queue is paused at a time. The guard is asked again then, so a wait
	// that was wrong costs no more than that.
	longestPause = time.Minute
	// patienceOfDatabase bounds the statements that pause a queue.
	patienceOfDatabase = 5 * time.Second
)

// Queue guards all jobs of a queue. Call it before the client is made from to.
// TTx is the transaction type of the client's driver, such as pgx.Tx.
//
// While the guard admits no call for longer than Config.Hold, the queue is paused
// for all processes, for at most a minute at a time. A job of kind
// headrace_resume, in a queue named headrace that is added to to, names the
// reason and resumes it, also if it was paused by hand meanwhile. Snoozed jobs
// keep their ScheduledAt, and with it their place. Problems are joined, each a
// *fault.FieldError.
func Queue[TTx any](to *river.Config, name string, c Config) error {
	m, err := c.middleware(holdOf(to))
	if name == "" || name == keeper {
		err = errors.Join(err, &fault.FieldError{Owner: owner, Field: "name", Problem: fmt.Sprintf("%q must be the name of a queue, and not %s", name, keeper)})
	}
	if to.Workers == nil {
		err = errors.Join(err, &fault.FieldError{Owner: owner, Field: "to.Workers", Problem: "is required"})
	}
	if err != nil {
		return err
	}
	if _, added := to.Queues[keeper]; !added {
		if err := river.AddWorkerSafely(to.Workers, &resumer[TTx]{}); err != nil {
			return fmt.Errorf("riverguard: %w", err)
		}
		if to.Queues == nil {
			to.Queues = map[string]river.QueueConfig{}
		}
		to.Queues[keeper] = river.QueueConfig{MaxWorkers: 1}
	}
	m.queue = &pausing{name: name, begin: begin[TTx], turn: make(chan struct{}, 1)}
	to.Middleware = append(to.Middleware, m)
	return nil
}

// pausing pauses a queue.
type pausing struct {
	name  string
	begin func(ctx context.Context, r resume, wait time.Duration) (until time.Time, begun bool, err error)

	turn  chan struct{} // of one job that uses what follows, also while it asks the database for all
	asked time.Time     // when the database was asked last
	until time.Time     // the queue is paused until then; zero: it is not known to be
	ours  bool          // by this process
}

// settling is how long after the queue was paused workers still return jobs that they had fetched. A
// job that is refused later was fetched although the queue is paused, and must not be fetched again at once.
const settling = 5 * time.Second

// pause pauses the queue for wait and reports whether jobs can go back to it, as none is
// fetched. It asks the database once for all jobs that were refused.
func (q *pausing) pause(ctx context.Context, g *guard.Guard, wait time.Duration, cause error) (paused bool) {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-q.turn }()
	now := time.Now()
	if now.Before(q.until) || now.Sub(q.asked) < shortestSnooze {
		return now.Before(q.until) && now.Sub(q.asked) < settling
	}
	wait = min(wait, longestPause)
	ctx, cancel := context.WithTimeout(ctx, patienceOfDatabase)
	defer cancel()
	until, begun, err := q.begin(ctx, resume{Queue: q.name, Guard: g.Name(), Reason: reason(cause)}, wait)
	q.asked, q.until, q.ours = now, until, begun
	if err != nil || begun {
		e := event.New(now, event.LimiterPaused, g.Name())
		e.Key, e.Wait, e.Reason, e.Err = q.name, wait, "the queue is paused on River: "+reason(cause), err
		send(ctx, g, e)
	}
	return now.Before(until)
}

// passed notes that a job was admitted.
func (q *pausing) passed(ctx context.Context, g *guard.Guard) {
	if q == nil {
		return
	}
	select {
	case q.turn <- struct{}{}:
	default: // the queue is being paused
		return
	}
	now := time.Now()
	over := q.ours && !now.Before(q.until)
	if over {
		q.ours = false
	}
	<-q.turn
	if over {
		e := event.New(now, event.LimiterReopened, g.Name())
		e.Key, e.Reason = q.name, "the queue was resumed on River, and a job was admitted"
		send(ctx, g, e)
	}
}

// send sends e to the observers of the guard and of the context.
func send(ctx context.Context, g *guard.Guard, e event.Event) {
	emit.Send(event.From(event.With(ctx, g.Policy().Observer)), e)
}

// resume are the arguments of a job that resumes a queue.
type resume struct {
	Queue  string `json:"queue" river:"unique"`
	Guard  string `json:"guard"`
	Reason string `json:"reason"`
}

// Kind implements river.JobArgs.
func (resume) Kind() string { return "headrace_resume" }

// begin inserts the job that resumes the queue, and then pauses it: if this process ends
// between the two, nothing is paused. If another process has paused the queue, until is the end of that. If
// the queue is being resumed, begin tries again for a second; until is zero then.
func begin[TTx any](ctx context.Context, r resume, wait time.Duration) (until time.Time, begun bool, err error) {
	client, err := river.ClientFromContextSafely[TTx](ctx)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("riverguard: %w", err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		inserted, err := client.Insert(ctx, r, &river.InsertOpts{
			Queue: keeper, ScheduledAt: time.Now().Add(wait), MaxAttempts: math.MaxInt16,
			UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
				rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
				rivertype.JobStateRunning, rivertype.JobStateScheduled,
			}},
		})
		if err != nil {
			return time.Time{}, false, fmt.Errorf("riverguard: inserting the job that resumes queue %q: %w", r.Queue, err)
		}
		until = inserted.Job.ScheduledAt
		if inserted.Job.State == rivertype.JobStateScheduled && until.After(time.Now()) {
			if begun, err = pause(ctx, client, r.Queue, inserted); err != nil {
				return time.Time{}, false, fmt.Errorf("riverguard: pausing queue %q: %w", r.Queue, err)
			}
			return until, begun, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return time.Time{}, false, context.Cause(ctx)
		}
	}
	return time.Time{}, false, nil
}

// pause pauses the queue until the job in resumes it, unless it is paused. It need not be if that job was inserted
// before: pausing may have failed after that. No job would resume a queue that is paused later than in is due.
func pause[TTx any](ctx context.Context, client *river.Client[TTx], queue string, in *rivertype.JobInsertResult) (begun bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, in.Job.ScheduledAt)
	defer cancel()
	if in.UniqueSkippedAsDuplicate {
		is, err := client.QueueGet(ctx, queue)
		if err != nil || is.PausedAt != nil {
			return false, err
		}
	}
	return true, client.QueuePause(ctx, queue, nil)
}

// resumer resumes queues.
type resumer[TTx any] struct{ river.WorkerDefaults[resume] }

// Work implements river.Worker.
func (r *resumer[TTx]) Work(ctx context.Context, job *river.Job[resume]) error {
	err := river.ClientFromContext[TTx](ctx).QueueResume(ctx, job.Args.Queue, nil)
	if errors.Is(err, rivertype.ErrNotFound) { // it is not worked any more
		return nil
	}
	return err
}

// NextRetry implements river.Worker: a queue must not stay paused because of one failure.
func (r *resumer[TTx]) NextRetry(*river.Job[resume]) time.Time { return time.Now().Add(shortestSnooze) }
