package temporal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
)

// Names of the workflows.
const (
	nameRun   = "headrace.run"
	nameBatch = "headrace.batch"
	namePage  = "headrace.page"
)

// runInput is the input of a workflow that runs a node.
type runInput struct {
	Flow        string       `json:"f"`
	Fingerprint string       `json:"v"`
	Path        string       `json:"p"`
	Key         string       `json:"k"` // what all its keys begin with
	State       string       `json:"s"` // reference
	Priority    sdk.Priority `json:"priority,omitzero"`

	Keep   string `json:"to,omitempty"` // where the result is kept; empty in a child workflow
	Digest string `json:"d,omitempty"`  // of the input, for that

	At    int `json:"at,omitempty"`    // the next node of a flow
	Steps int `json:"steps,omitempty"` // nodes that have run
}

// program is what workers do in workflows. Nothing in it reads a clock, a random number or a store.
type program struct {
	options Options
	plans   map[string]*engine.Plan
	queues  map[*engine.Part]string // of the calls of each: those that this worker works on
	steps   int                     // after how many nodes a flow goes on with a new history
	pages   int                     // the same for the pages of a batch
}

// newProgram decides on the queues once: guard.Guard.Set may give limits to a guard that had none, and
// its queue would have no worker.
func newProgram(o Options, plans map[string]*engine.Plan) *program {
	p := &program{o, plans, map[*engine.Part]string{}, stepsInHistory, pagesInHistory}
	for _, plan := range plans {
		for part := range plan.Parts() {
			p.queues[part] = o.queueOf(part)
		}
	}
	return p
}

// Changing them makes runs in progress fail their replay.
const (
	stepsInHistory = 500
	pagesInHistory = 500
)

// run runs a node, and keeps the result if it is the outermost one.
func (p *program) run(ctx workflow.Context, in runInput) (o outcome, err error) {
	part := p.part(&in)
	o, err = p.walk(ctx, &in, part)
	if err != nil || in.Keep == "" {
		return o, err
	}
	c := in.call(part, in.Key)
	c.State, c.Keep, c.Input = o.State, in.Keep, in.Digest
	if err := workflow.ExecuteActivity(p.inside(ctx), nameKeep, c).Get(ctx, nil); err != nil {
		return outcome{}, passed(err)
	}
	return outcome{Action: o.Action, State: in.Keep}, nil
}

// walk runs a node. A flow is walked through here, and what is inside in child workflows.
func (p *program) walk(ctx workflow.Context, in *runInput, part *engine.Part) (o outcome, err error) {
	if n := workflow.GetInfo(ctx).Attempt; n > 1 { // an earlier attempt has stored values under the keys it was given
		in.Key += "/again/" + strconv.Itoa(int(n))
	}
	if part.Kind != engine.Flow {
		return p.visit(ctx, in, part, in.State, in.Key+"/0")
	}
	for {
		node := part.Inside[in.At]
		if in.Steps == part.MaxSteps {
			return o, broken(&flow.StepsError{Flow: part.Name, Max: part.MaxSteps, Node: node.Name})
		}
		in.Steps++
		o, err = p.visit(ctx, in, node, in.State, in.Key+"/"+strconv.Itoa(in.Steps))
		if err != nil {
			return outcome{}, wrapped(err, func(err error) error {
				return &flow.StepError{Flow: part.Name, Node: node.Name, Step: in.Steps, Err: err}
			})
		}
		to, err := part.Follow(in.At, o.Action)
		if err != nil {
			return outcome{}, broken(err)
		}
		if to < 0 {
			return o, nil
		}
		in.At, in.State = to, o.State
		if in.Steps%p.steps == 0 || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return outcome{}, workflow.NewContinueAsNewError(ctx, nameRun, *in)
		}
	}
}

// part returns the part that a workflow is about. If the flow here is not that of the run it panics, which
// fails the workflow task and not the run: the server gives the task to a worker again.
func (p *program) part(in *runInput) *engine.Part {
	part, err := partOf(p.plans, in.Flow, in.Fingerprint, in.Path)
	if err != nil {
		panic(err)
	}
	return part
}

// call is the input of an activity for part with the key prefix key.
func (in *runInput) call(part *engine.Part, key string) call {
	return call{Flow: in.Flow, Print: in.Fingerprint, Path: part.Path, Key: key}
}

// broken is err as the failure of a workflow. A used-up quota is not repeated by the batch around it.
func broken(err error) error {
	r := engine.Remote(err)
	return failure(r, r.Quota)
}

// wrapped is what a node has failed with as the failure of its flow. A cancelled workflow ends as one.
func wrapped(err error, in func(error) error) error {
	if sdk.IsCanceledError(err) {
		return err
	}
	inner := remote(err)
	r := engine.Remote(in(inner))
	r.Quota = inner.Quota
	return failure(r, r.Quota)
}

// visit runs part on a state. Its keys begin with key.
func (p *program) visit(ctx workflow.Context, in *runInput, part *engine.Part, state, key string) (o outcome, err error) {
	c := in.call(part, key)
	c.State = state
	switch part.Kind {
	case engine.Step:
		err = workflow.ExecuteActivity(p.calls(ctx, in, part), nameStep, c).Get(ctx, &o)
	case engine.Fork:
		o, err = p.fork(ctx, in, part, state, key)
	case engine.Batch:
		b := batchInput{runInput: p.child(in, part, state, key), Pages: notListed, Parallel: part.Items.Parallel}
		err = workflow.ExecuteChildWorkflow(children(ctx, key, nil), nameBatch, b).Get(ctx, &o)
	default:
		err = workflow.ExecuteChildWorkflow(children(ctx, key, nil), nameRun, p.child(in, part, state, key)).Get(ctx, &o)
	}
	return o, err
}

// child is the input of a child workflow.
func (p *program) child(in *runInput, part *engine.Part, state, key string) runInput {
	return runInput{Flow: in.Flow, Fingerprint: in.Fingerprint, Path: part.Path, Key: key, State: state, Priority: in.Priority}
}

func children(ctx workflow.Context, key string, again *sdk.RetryPolicy) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: key, RetryPolicy: again})
}

// calls are the options of the attempts of a node's own code.
func (p *program) calls(ctx workflow.Context, in *runInput, part *engine.Part) workflow.Context {
	o := machinery
	o.TaskQueue = p.queues[part]
	o.StartToCloseTimeout += timeoutOf(part.Guard())
	o.Priority = in.Priority
	if o.Priority.FairnessKey == "" {
		o.Priority.FairnessKey = strings.ToValidUTF8(part.Path[max(0, len(part.Path)-mostFairness):], "")
	}
	return workflow.WithActivityOptions(ctx, o)
}

// timeoutOf returns the timeout of an attempt that g admits; 0 if its policy has none.
func timeoutOf(g *guard.Guard) time.Duration {
	if g == nil {
		return 0
	}
	policy := g.Policy()
	d := policy.Timeout
	for _, outer := range policy.Within {
		d = max(d, timeoutOf(outer))
	}
	return min(d, longestTimeout)
}

// longestTimeout bounds what a timeout adds to that of the server, so that the sum is one.
const longestTimeout = 100 * 365 * 24 * time.Hour

// mostFairness bounds a fairness key, in bytes.
const mostFairness = 64

// machinery are the options of activities that make no calls.
var machinery = workflow.ActivityOptions{ //nolint:gochecknoglobals // it is constant
	StartToCloseTimeout: longestAttempt, HeartbeatTimeout: deadAfter, DisableEagerExecution: true,
	RetryPolicy: &sdk.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
}

func (p *program) inside(ctx workflow.Context) workflow.Context {
	o := machinery
	o.TaskQueue = p.options.Queue
	return workflow.WithActivityOptions(ctx, o)
}

// fork runs the nodes of a fork at the same time, and merges their states.
func (p *program) fork(ctx workflow.Context, in *runInput, part *engine.Part, state, key string) (o outcome, err error) {
	inner, cancel := workflow.WithCancel(ctx)
	defer cancel()
	var (
		wg    = workflow.NewWaitGroup(ctx)
		sides = make([]outcome, len(part.Inside))
		errs  = make([]error, len(part.Inside))
	)
	for i, node := range part.Inside {
		wg.Add(1)
		workflow.Go(inner, func(inner workflow.Context) {
			defer wg.Done()
			var err error
			sides[i], err = p.visit(inner, in, node, state, key+"/"+strconv.Itoa(i))
			if err == nil && sides[i].Action != "" {
				err = fmt.Errorf("node %q in a fork returned the action %q: put the decision behind it", node.Name, sides[i].Action)
			}
			if err == nil {
				return
			}
			if ctx.Err() != nil || !sdk.IsCanceledError(err) { // else only stopped because another one has failed
				errs[i] = &flow.StepError{Flow: part.Name, Node: node.Name, Step: i + 1, Err: remote(err)}
			}
			cancel()
		})
	}
	wg.Wait(ctx)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err := errors.Join(errs...); err != nil {
		return o, broken(err)
	}
	c := in.call(part, key)
	c.State = state
	for _, side := range sides {
		c.Parts = append(c.Parts, side.State)
	}
	err = workflow.ExecuteActivity(p.inside(ctx), nameMerge, c).Get(ctx, &o)
	return o, err
}
