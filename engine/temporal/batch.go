package temporal

import (
	"cmp"
	"fmt"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/retry"
)

// batchInput is the input of a workflow that runs a batch, page by page.
type batchInput struct {
	runInput

	// Parallel is that of the worker which has begun the batch: another one has to make the same decisions.
	Parallel int                 `json:"w"`
	Pages    int64               `json:"n"`
	Page     int64               `json:"g,omitempty"`
	Failed   int64               `json:"failed,omitempty"`
	Stopped  *engine.RemoteError `json:"stopped,omitempty"` // why no further item begins
}

// notListed is the Pages of a batch before its items are in the store.
const notListed = -1

// batch runs the pages of a batch in child workflows, each with a history of its own. The next page begins when
// all items of the one before have begun, so that an item of a worker that was lost keeps no other one
// waiting; but when failures may stop the batch it begins when the one before has ended.
func (p *program) batch(ctx workflow.Context, in batchInput) (o outcome, err error) {
	part := p.part(&in.runInput)
	c := in.call(part, in.Key)
	c.State = in.State
	if in.Pages == notListed {
		if err := workflow.ExecuteActivity(p.inside(ctx), nameList, c).Get(ctx, &in.Pages); err != nil {
			return o, passed(err)
		}
	}
	on, err := p.turn(ctx, &in, part)
	switch {
	case err != nil:
		return o, passed(err)
	case on:
		return o, workflow.NewContinueAsNewError(ctx, nameBatch, in)
	}
	c.Pages, c.Err = in.Pages, in.Stopped
	if err := workflow.ExecuteActivity(p.inside(ctx), nameFinish, c).Get(ctx, &o); err != nil {
		return outcome{}, passed(err)
	}
	return o, nil
}

// begun is the signal of a page of which all items have begun.
const begun = "headrace.begun"

// turn runs pages until there are no more, or until the history is long: then on is set.
func (p *program) turn(ctx workflow.Context, in *batchInput, part *engine.Part) (on bool, err error) {
	running, since := 0, 0
	room := true // another page may begin
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(workflow.GetSignalChannel(ctx, begun), func(c workflow.ReceiveChannel, _ bool) {
		var page int64
		c.Receive(ctx, &page)
		room = room || part.Items.MostFailures < 0 && page == in.Page-1 && running == 1
	})
	for {
		long := since >= p.pages || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		more := in.Page < in.Pages && in.Stopped == nil && err == nil
		switch {
		case more && !long && (room || running == 0):
			one := *in
			running, since, room = running+1, since+1, false
			in.Page++
			key := fmt.Sprintf("%s/page/%d", in.Key, one.Page)
			f := workflow.ExecuteChildWorkflow(children(ctx, key, nil), namePage, one)
			selector.AddFuture(f, func(f workflow.Future) {
				var o pageOutcome
				if failed := f.Get(ctx, &o); failed != nil {
					err = cmp.Or(err, failed)
				}
				running--
				in.Failed += o.Failed
				if in.Stopped == nil {
					in.Stopped = o.Stopped
				}
			})
		case running > 0:
			selector.Select(ctx)
		default:
			return more, err
		}
	}
}

// passed is the failure of an activity as that of the workflow.
func passed(err error) error { return wrapped(err, func(err error) error { return err }) }

// pageOutcome is what became of a page.
type pageOutcome struct {
	Failed  int64               `json:"failed,omitempty"`
	Stopped *engine.RemoteError `json:"stopped,omitempty"`
}

// page works on the items of a page.
func (p *program) page(ctx workflow.Context, in batchInput) (done pageOutcome, err error) {
	part := p.part(&in.runInput)
	c := in.call(part, in.Key)
	c.Page = in.Page
	var items int64
	if err := workflow.ExecuteActivity(p.inside(ctx), nameOpen, c).Get(ctx, &items); err != nil {
		return done, passed(err)
	}
	next := int64(0)
	wg := workflow.NewWaitGroup(ctx)
	for range min(int64(max(in.Parallel, 1)), items) {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			for next < items && done.Stopped == nil && err == nil {
				index := next
				if next++; next == items {
					p.signal(ctx, &in)
				}
				o, failed := p.item(ctx, &in, part, index)
				switch {
				case failed != nil:
					err = cmp.Or(err, failed)
				case o.State == engine.Pending && part.Items.MostFailures >= 0 && done.Stopped == nil: // others would not be accepted either
					done.Stopped = &engine.RemoteError{Message: o.Message, Quota: o.Quota}
				case o.State == engine.Failed:
					done.Failed++
					count, most := in.Failed+done.Failed, part.Items.MostFailures
					if most >= 0 && count > most && done.Stopped == nil {
						done.Stopped = &engine.RemoteError{Message: fmt.Sprintf(
							"node: %d items failed and %d are allowed, at last: %s", count, most, o.Message)}
					}
				}
			}
		})
	}
	wg.Wait(ctx)
	if err != nil {
		return done, passed(err)
	}
	return done, nil
}

// signal reports to the batch that all items of the page have begun. It does not matter if that is lost.
func (p *program) signal(ctx workflow.Context, in *batchInput) {
	if above := workflow.GetInfo(ctx).ParentWorkflowExecution; above != nil && in.Page+1 < in.Pages {
		workflow.SignalExternalWorkflow(ctx, above.ID, "", begun, in.Page)
	}
}

// item works on one item. An error is that of the machinery: a failed item is an outcome.
func (p *program) item(ctx workflow.Context, in *batchInput, part *engine.Part, index int64) (o itemOutcome, err error) {
	c := in.call(part, in.Key)
	c.Page, c.Index = in.Page, index
	if len(part.Inside) == 0 {
		err = workflow.ExecuteActivity(p.calls(ctx, &in.runInput, part), nameItem, c).Get(ctx, &o)
		return o, err
	}
	key := fmt.Sprintf("%s/flow/%d/%d", in.Key, in.Page, index)
	var done outcome
	child := p.child(&in.runInput, part.Inside[0], itemKey(in.Key, in.Page, index), key)
	err = workflow.ExecuteChildWorkflow(children(ctx, key, retries(part)), nameRun, child).Get(ctx, &done)
	switch {
	case err != nil && (ctx.Err() != nil || sdk.IsCanceledError(err)):
		return o, err
	case err != nil:
		c.Err = remote(err)
	default:
		c.State = done.State
	}
	err = workflow.ExecuteActivity(p.inside(ctx), nameSettle, c).Get(ctx, &o)
	return o, err
}

// retries is the retry policy of a batch of flows, for the server; nil: one attempt.
func retries(part *engine.Part) *sdk.RetryPolicy {
	g := part.Guard()
	if g == nil || g.Policy().Retry == nil {
		return nil
	}
	return policyOf(*g.Policy().Retry)
}

func policyOf(r retry.Policy) *sdk.RetryPolicy {
	return &sdk.RetryPolicy{
		InitialInterval: cmp.Or(r.Initial, time.Second), MaximumInterval: max(cmp.Or(r.Max, time.Minute), r.Initial),
		BackoffCoefficient: max(1, cmp.Or(r.Multiplier, 2)), MaximumAttempts: int32(min(cmp.Or(r.MaxAttempts, 3), 1<<30)), //nolint:gosec // it is bounded
	}
}
