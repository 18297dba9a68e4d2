package temporal

import (
	"context"
	"fmt"
	"math"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/throttle"
)

const (
	// rateEvery is how often a worker looks at what was learned.
	rateEvery = time.Second
	// rateApart is the least between two changes of a queue's rate.
	rateApart = 2 * time.Second
	// rateChange is the change of the rate, as a part of it, that is worth an update.
	rateChange = 0.05
	// headroom is how much more than the learned rate is dispatched. The guard admits exactly; with too
	// little waiting for it the learner would not find out that the limit has risen.
	headroom = 1.25
	// leastRate is the least that a queue dispatches, in activities a second.
	leastRate = 0.1
	// rateTimeout bounds a request to the server.
	rateTimeout = 5 * time.Second
)

// rateOf returns how many activities a second the queue of g dispatches; 0: no bound.
func rateOf(g *guard.Guard) float64 {
	s := g.Stats()
	rate := s.View.Pace[throttle.Requests]
	for _, w := range s.Limits.Windows {
		if w.Unit() == throttle.Requests && (rate == 0 || w.Rate() < rate) {
			rate = w.Rate()
		}
	}
	if rate <= 0 || math.IsNaN(rate) || math.IsInf(rate, 0) {
		return 0
	}
	return max(rate*headroom, leastRate)
}

// follower decides when the rate of a queue is changed.
type follower struct {
	at   time.Time // of the last change that was asked for
	rate float64   // that the server has; 0: none
	seen bool      // rate is known
}

// due reports whether the server should have another rate.
func (f *follower) due(now time.Time, rate float64) bool {
	switch {
	case now.Sub(f.at) < rateApart:
		return false
	case !f.seen:
		return true
	default:
		return differs(rate, f.rate)
	}
}

func differs(rate, from float64) bool {
	return (rate == 0) != (from == 0) || math.Abs(rate-from) > rateChange*from
}

// follow keeps the rate of a queue at what g has learned, until ctx ends.
func (w *Worker) follow(ctx context.Context, queue string, g *guard.Guard) {
	ticker := time.NewTicker(rateEvery)
	defer ticker.Stop()
	var f follower
	var of refused
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		rate := rateOf(g)
		if !f.due(time.Now(), rate) {
			continue
		}
		f.at = time.Now()
		has, err := w.queueRate(ctx, queue)
		if err == nil && differs(rate, has) { // else another worker has changed it
			err = w.setRate(ctx, queue, rate)
			has = rate
		}
		f.rate, f.seen = has, err == nil
		if e, changed := of.event(g.Name(), queue, err); changed && ctx.Err() == nil {
			emit.Send(g.Policy().Observer, e)
		}
	}
}

// refused is what the server has said about the rate of a queue at last.
type refused struct{ code codes.Code }

// event returns the event of a request that has ended with err, if it ended otherwise than the one before.
func (r *refused) event(name, queue string, err error) (e event.Event, changed bool) {
	code := codes.OK
	if err != nil {
		code = serviceerror.ToStatus(err).Code()
	}
	if code == r.code {
		return e, false
	}
	r.code = code
	e = event.New(time.Now(), event.LimiterChanged, name)
	e.Key, e.Err = queue, err
	e.Reason = fmt.Sprintf("the server accepts the rate of the task queue %q again", queue)
	if err != nil {
		e.Reason = fmt.Sprintf("the rate of the task queue %q cannot be set: it stays as it is, and the guard holds calls back", queue)
	}
	return e, true
}

// queueRate returns the rate that the server has for the activities of a queue; 0: none.
func (w *Worker) queueRate(ctx context.Context, queue string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, rateTimeout)
	defer cancel()
	answer, err := w.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: w.options.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue},
		TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportConfig: true,
	})
	if err != nil {
		return 0, err
	}
	return float64(answer.GetConfig().GetQueueRateLimit().GetRateLimit().GetRequestsPerSecond()), nil
}

// setRate sets the rate of the activities of a queue; 0 removes it.
func (w *Worker) setRate(ctx context.Context, queue string, rate float64) error {
	ctx, cancel := context.WithTimeout(ctx, rateTimeout)
	defer cancel()
	update := &workflowservice.UpdateTaskQueueConfigRequest_RateLimitUpdate{Reason: "headrace: the learned rate"}
	if rate > 0 {
		update.RateLimit = &taskqueue.RateLimit{RequestsPerSecond: float32(rate)}
	}
	_, err := w.client.WorkflowService().UpdateTaskQueueConfig(ctx, &workflowservice.UpdateTaskQueueConfigRequest{
		Namespace: w.options.Namespace, Identity: "headrace", TaskQueue: queue,
		TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, UpdateQueueRateLimit: update,
	})
	return err
}
