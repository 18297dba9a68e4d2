package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/providertest"
)

// watch looks at the run from outside: it halves the limit in the middle, and notes the rate that the server has for
// the task queue.
type watch struct {
	client   client.Client
	place    *place
	provider *providertest.Server
	settings *settings
	handler  *group.Handler
	out      io.Writer

	mu      sync.Mutex // guards what follows
	halved  time.Time
	samples []sample
}

// sample is the rate of the queue at an instant; 0: none.
type sample struct {
	at   time.Time
	rate float64
}

func (w *watch) run(ctx context.Context) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.settings.verbose && i%20 == 0 {
			n := w.provider.Counts()
			fmt.Fprintf(w.out, "%3d s: %d arrivals, %d served, %d with 429, %d in flight, the queue has %.1f/s, %s\n", i/4, n.Arrivals, n.Served, n.Refused, n.InFlight, w.latest(), w.handler.Stats())
		}
		if w.halved.IsZero() && w.provider.Counts().Served >= w.settings.texts/2 {
			_ = w.provider.SetLimits(w.settings.limits(0.5)) // they are valid
			w.mu.Lock()
			w.halved = time.Now()
			w.mu.Unlock()
		}
		answer, err := w.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: w.place.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: "headrace/provider"},
			TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportConfig: true,
		})
		if err != nil {
			continue
		}
		rate := float64(answer.GetConfig().GetQueueRateLimit().GetRateLimit().GetRequestsPerSecond())
		w.mu.Lock()
		w.samples = append(w.samples, sample{time.Now(), rate})
		w.mu.Unlock()
	}
}

// latest returns the rate of the queue.
func (w *watch) latest() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.samples) == 0 {
		return 0
	}
	return w.samples[len(w.samples)-1].rate
}

// followed returns how long after the limit was halved the queue had less than three quarters of its rate before.
func (w *watch) followed() (before, after float64, in time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.samples {
		if s.at.Before(w.halved) {
			before = s.rate
		} else if s.rate > 0 && s.rate < 0.75*before {
			return before, s.rate, s.at.Sub(w.halved)
		}
	}
	return before, 0, 0
}

// warm is the first part of a run, which is not judged for its speed.
const warm = time.Minute

// judge prints what the provider saw, and returns an error if that is not what was promised.
func (s *settings) judge(
	ctx context.Context, out io.Writer, final *Archive, l providertest.Ledger, seen *watch, began time.Time, took time.Duration,
) error {
	var problems []error
	check := func(ok bool, what string) {
		if !ok {
			problems = append(problems, errors.New(what))
		}
	}
	right := 0
	for i, answer := range final.Answers {
		if answer == answerOf(textOf(i).Body) {
			right++
		}
	}
	check(right == s.texts && len(final.Answers) == s.texts, "answers are missing or wrong")
	fmt.Fprintf(out, "%d of %d answers, each once, in %.0f s\n", right, s.texts, took.Seconds())

	first := map[string]bool{}
	var last time.Time // when fewer texts were left than may be in flight
	twice := 0
	for a := range l.All() {
		if !a.Admitted {
			continue
		}
		if first[a.Key] {
			twice++
		}
		if first[a.Key] = true; len(first) <= s.texts-s.parallel {
			last = a.At
		}
	}
	rejected := 100 * float64(l.Refused) / float64(l.Arrivals)
	fmt.Fprintf(out, "provider's ledger: %d arrivals, %d admitted, %d with 429 (%.2f %%), %d sent twice because of kills\n",
		l.Arrivals, l.Admitted, l.Refused, rejected, twice)
	check(len(first) == s.texts, "texts are lost")

	from, admitted := began.Add(warm), 0
	for a := range l.All() {
		if a.Admitted && a.At.After(from) && !a.At.After(last) {
			admitted++
		}
	}
	if last.After(from) {
		possible := s.possible(from, last, seen.halved)
		used := 100 * float64(admitted) / possible
		fmt.Fprintf(out, "after the first minute: %.1f %% of what the limit allows, over %.0f s\n", used, last.Sub(from).Seconds())
		check(used >= 95, "the limit was not used")
		check(rejected <= 1.5, "too many 429s")
		before, after, in := seen.followed()
		fmt.Fprintf(out, "the task queue's rate: %.1f/s, and %.1f/s %.1f s after the limit was halved\n", before, after, in.Seconds())
		check(after > 0 && in <= 5*time.Second, "the queue's rate did not follow within 5 s")
	}
	problems = append(problems, s.replay(ctx, out, seen))
	return errors.Join(problems...)
}

// possible is how many requests the limit allows from one instant to another.
func (s *settings) possible(from, to, halved time.Time) float64 {
	if halved.IsZero() || halved.After(to) {
		return s.rate * to.Sub(from).Seconds()
	}
	before := max(0, halved.Sub(from).Seconds())
	return s.rate*before + s.rate/2*(to.Sub(from).Seconds()-before)
}

// replay replays the histories of all runs with this program.
func (s *settings) replay(ctx context.Context, out io.Writer, w *watch) error {
	all, err := s.histories(ctx, w)
	if err != nil {
		return err
	}
	var sum, most int64
	for _, h := range all {
		size := int64(h.Size())
		sum, most = sum+size, max(most, size)
	}
	input := int64(s.texts) * int64(len(textOf(0).Body))
	fmt.Fprintf(out, "%d histories of %.1f MB, the largest of %.1f MB: %d bytes an item; the input has %.1f MB\n",
		len(all), mb(sum), mb(most), sum/int64(s.texts), mb(input))
	body := []byte(textOf(0).Body)[:40] // it has no character that JSON escapes
	for i, h := range all {
		raw, err := h.Marshal()
		if err != nil {
			return err
		}
		if bytes.Contains(raw, body) {
			return fmt.Errorf("history %d has a text of the input", i)
		}
		replayer := worker.NewWorkflowReplayer()
		if err := temporal.RegisterWorkflows(replayer, w.place.options(), archive(&asker{}, nil, s.parallel)); err != nil {
			return err
		}
		if err := replayer.ReplayWorkflowHistory(quiet{}, h); err != nil {
			return fmt.Errorf("history %d does not replay: %w", i, err)
		}
	}
	fmt.Fprintln(out, len(all), "histories were replayed")
	return nil
}

// histories returns those of all runs. The server lists a run a moment after its end.
func (s *settings) histories(ctx context.Context, w *watch) (all []*history.History, err error) {
	var list *workflowservice.ListWorkflowExecutionsResponse
	for range 100 {
		list, err = w.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: w.place.Namespace, PageSize: 1000})
		if err != nil {
			return nil, err
		}
		if len(list.GetExecutions()) >= s.replays {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n := len(list.GetExecutions()); n < s.replays {
		return nil, fmt.Errorf("there are %d histories, not %d", n, s.replays)
	}
	for _, e := range list.GetExecutions() {
		h := &history.History{}
		events := w.client.GetWorkflowHistory(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return nil, err
			}
			h.Events = append(h.Events, event)
		}
		all = append(all, h)
	}
	return all, nil
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }
