package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
)

// Worker runs steps and items of flows in this process, and drives the runs. Any number of processes
// may have one.
type Worker struct {
	client  client.Client
	options Options
	workers []worker.Worker
	guards  map[string]*guard.Guard // by queue
	ctx     context.Context         //nolint:containedctx // from NewWorker to Stop
	end     context.CancelFunc
	fatal   chan error // the first that has ended one of the workers
	wg      sync.WaitGroup
	once    sync.Once
}

// stopPatience is how long running activities may go on when a worker is stopped.
const stopPatience = 10 * time.Second

const (
	// stickyFor is how long a run waits for the worker that has its state in memory, which may be lost.
	stickyFor = time.Second
	// pollers is how many requests for activities of a queue a worker has at the server. A queue has several
	// partitions, each with a part of the rate: with few requests some of them have none.
	pollers = 10
)

// NewWorker returns a worker for flows. Each is a flow.Flow or another node of packages flow and node, with a unique
// name. It joins all problems: those of the options, and those of engine.New for each flow.
func NewWorker(c client.Client, o Options, flows ...any) (*Worker, error) {
	o = o.withDefaults()
	plans, err := plansOf(flows)
	if err := errors.Join(o.validate(), err); err != nil {
		return nil, err
	}
	w := &Worker{client: c, options: o, guards: map[string]*guard.Guard{}, fatal: make(chan error, 1)}
	w.ctx, w.end = context.WithCancel(context.Background())
	queues := []string{o.Queue}
	for _, plan := range plans {
		for part := range plan.Parts() {
			if l := learnerOf(part); l != nil {
				queue := o.queueOf(part)
				if other := w.guards[queue]; other != nil && other != l {
					w.end()
					return nil, fmt.Errorf("temporal: two guards are named %q: their activities would share a queue", l.Name())
				}
				w.guards[queue] = l
				queues = append(queues, queue)
			}
		}
	}
	slices.Sort(queues)
	a := newActivities(o.Store, plans)
	for _, queue := range slices.Compact(queues) {
		one := worker.New(c, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: o.Slots, DisableEagerActivities: true, WorkerStopTimeout: stopPatience,
			DisableWorkflowWorker: queue != o.Queue, StickyScheduleToStartTimeout: stickyFor,
			MaxConcurrentActivityTaskPollers: pollers, OnFatalError: w.failed,
		})
		a.register(one)
		if queue == o.Queue {
			newProgram(o, plans).register(one)
		}
		w.workers = append(w.workers, one)
	}
	return w, nil
}

// RegisterWorkflows registers the workflows for flows, to replay histories with worker.NewWorkflowReplayer.
// Options are those of the worker.
func RegisterWorkflows(r worker.WorkflowRegistry, o Options, flows ...any) error {
	plans, err := plansOf(flows)
	if err != nil {
		return err
	}
	newProgram(o.withDefaults(), plans).register(r)
	return nil
}

func plansOf(flows []any) (map[string]*engine.Plan, error) {
	plans := map[string]*engine.Plan{}
	var errs []error
	for _, f := range flows {
		plan, err := engine.New(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if plans[plan.Name()] != nil {
			errs = append(errs, fmt.Errorf("temporal: two flows are named %q", plan.Name()))
		}
		plans[plan.Name()] = plan
	}
	if len(flows) == 0 {
		errs = append(errs, errors.New("temporal: there are no flows"))
	}
	return plans, errors.Join(errs...)
}

func (p *program) register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(p.run, workflow.RegisterOptions{Name: nameRun})
	r.RegisterWorkflowWithOptions(p.batch, workflow.RegisterOptions{Name: nameBatch})
	r.RegisterWorkflowWithOptions(p.page, workflow.RegisterOptions{Name: namePage})
}

func (a *activities) register(r worker.ActivityRegistry) {
	for name, f := range map[string]any{
		nameStep: a.step, nameItem: a.item, nameList: a.list, nameFinish: a.finish, nameMerge: a.merge, nameSettle: a.settle,
		nameOpen: a.open, nameKeep: a.keep,
	} {
		r.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// Start begins to work, and returns. If it fails, nothing is running.
func (w *Worker) Start() error {
	for i, one := range w.workers {
		if err := one.Start(); err != nil {
			for _, started := range w.workers[:i] {
				started.Stop()
			}
			return err
		}
	}
	for queue, g := range w.guards {
		w.wg.Go(func() { w.follow(w.ctx, queue, g) })
	}
	return nil
}

// failed keeps the first fatal error of a worker of the SDK, which has ended then.
func (w *Worker) failed(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// Run works until ctx ends, and then returns nil, or until the server rejects the worker permanently, for example
// because its namespace was deleted, and then returns the error. It combines Start and Stop.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop() // running activities may continue when ctx has ended
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.fatal:
		return err
	}
}

// Stop takes no further work, gives running activities ten seconds, and returns when they have ended. Another
// worker repeats those that have not. It may be called twice, but not without Start.
func (w *Worker) Stop() {
	w.once.Do(func() {
		w.end()
		var wg sync.WaitGroup
		for _, one := range w.workers {
			wg.Go(one.Stop)
		}
		wg.Wait()
		w.wg.Wait()
	})
}
