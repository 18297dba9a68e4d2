package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/node"
)

// InputError is the error of Run for the ID of a run with another flow or another input.
type InputError struct {
	ID string // Options.ID
}

// Error names the ID.
func (e *InputError) Error() string {
	return fmt.Sprintf("temporal: the run %q was started with another flow or another input: use another Options.ID", e.ID)
}

// Run runs n, a flow or another node, on state, and returns the state after it. Workers do the work: this process only
// waits. n describes the flow, and its functions are not called here.
//
// States, items and results that cannot be sent as JSON are rejected before anything starts. The error
// of a failed run is an *engine.RemoteError with the text that flow.Run would return. If ctx ends, Run
// returns its cause and the run continues: call Run with the same Options.ID to wait for it again, or
// cancel the workflow.
//
// With the ID of a run in progress, Run waits for that run. With the ID of a run that has succeeded, it returns the stored result, until
// Forget deletes it. A different input is an *InputError. A run that has failed or was cancelled is started again.
func Run[S any](ctx context.Context, c client.Client, n node.Node[S], state S, o Options) (after S, err error) {
	o = o.withDefaults()
	plan, err := engine.New(n)
	if err := errors.Join(o.validate(), err); err != nil {
		return after, err
	}
	data, err := plan.Encode(state)
	if err != nil {
		return after, fmt.Errorf("temporal: flow %q: the state cannot be sent: %w", plan.Name(), err)
	}
	k, err := run(ctx, c, plan, &o, data)
	if err == nil {
		err = json.Unmarshal(k.State, &after)
	}
	if err == nil && o.ID == "" { // it cannot be asked for again
		_ = o.Store.Delete(ctx, keptKey(&o, k.id)) // the run has succeeded without it
	}
	return after, err
}

// Forget deletes the result of the run with the ID of o from the store, which keeps it without a time limit otherwise. Until the server
// has deleted the run too, after the retention of its namespace, Run with this ID returns ErrNotFound. It does not affect a run in
// progress. Forget may be called twice.
func Forget(ctx context.Context, o Options) error {
	o = o.withDefaults()
	err := o.validate()
	if o.ID == "" {
		err = errors.Join(err, errors.New("temporal: ID: it is empty"))
	}
	if err != nil {
		return err
	}
	return o.Store.Delete(ctx, keptKey(&o, o.ID))
}

// result is what a run has kept.
type result struct {
	kept

	id string
}

// run returns the result of the run with the ID of o, which it starts unless there is one.
func run(ctx context.Context, c client.Client, plan *engine.Plan, o *Options, state []byte) (r result, err error) {
	token := rand.Text()[:12]
	id := cmp.Or(o.ID, plan.Name()+"-"+token)
	r.id = id
	digest := digestOf(plan, state)
	to := keptKey(o, id)
	if o.ID != "" {
		switch r.kept, err = keptAt(ctx, o.Store, to); {
		case err == nil:
			err = r.check(digest)
			return r, err
		case !errors.Is(err, ErrNotFound):
			return r, err
		}
	}
	key := "headrace/" + safe(id[:min(len(id), mostOfID)]) + "-" + token
	in := runInput{
		Flow: plan.Name(), Fingerprint: plan.Fingerprint(), Path: plan.Root().Path,
		Key: key, State: stateKey(key), Priority: o.Priority, Keep: to, Digest: digest,
	}
	if err := o.Store.Put(ctx, in.State, state); err != nil {
		return r, err
	}
	w, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: o.Queue, WorkflowExecutionErrorWhenAlreadyStarted: true, Priority: o.Priority,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		Memo:                  map[string]any{memoInput: digest},
	}, nameRun, in)
	if errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		if err := o.Store.Delete(ctx, key); err != nil {
			return r, err
		}
		w = c.GetWorkflow(ctx, id, "")
		key, err = "", sameInput(ctx, c, id, digest)
	}
	switch {
	case err != nil && ctx.Err() != nil: // it may have begun, and needs its state
		return r, context.Cause(ctx)
	case err != nil:
		return r, errors.Join(err, remove(ctx, o.Store, key))
	}
	err = w.Get(ctx, nil)
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case sdk.IsCanceledError(err):
		return r, errors.Join(context.Canceled, remove(ctx, o.Store, key))
	case err != nil:
		return r, errors.Join(remote(err), remove(ctx, o.Store, key))
	}
	if r.kept, err = shownAt(ctx, o.Store, to); errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("temporal: the run %q has ended, and its result was deleted: use another Options.ID to run it again: %w", id, err)
	}
	if err == nil {
		err = r.check(digest)
	}
	return r, err
}

func (r *result) check(digest string) error {
	if r.Input != digest {
		return &InputError{r.id}
	}
	return nil
}

// digestOf is that of the input of a run.
func digestOf(plan *engine.Plan, state []byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q", plan.Name())
	_, _ = h.Write(state)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// memoInput is where the memo of a workflow has the digest of its input.
const memoInput = "headrace.input"

// sameInput returns an *InputError if a run was started with another input. With a data converter of the client it may
// not be known before the run has ended.
func sameInput(ctx context.Context, c client.Client, id, digest string) error {
	about, err := c.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	var of string
	memo := about.GetWorkflowExecutionInfo().GetMemo().GetFields()[memoInput]
	if memo != nil && converter.GetDefaultDataConverter().FromPayload(memo, &of) == nil && of != digest {
		return &InputError{id}
	}
	return nil
}

// shownAt is keptAt for a value that another machine has stored: the store may need some seconds to show it.
func shownAt(ctx context.Context, s Store, key string) (k kept, err error) {
	for pause := storePause; ; pause *= 2 {
		k, err = keptAt(ctx, s, key)
		if !errors.Is(err, ErrNotFound) || pause > longestLook || !sleep(ctx, pause) {
			return k, err
		}
	}
}

// longestLook is the last pause before a value that is not there is missing: six seconds in all.
const longestLook = 3200 * time.Millisecond

// remove deletes what a run has stored, if its key is known.
func remove(ctx context.Context, s Store, key string) error {
	if key == "" {
		return nil
	}
	return s.Delete(ctx, key)
}
