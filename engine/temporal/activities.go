package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"go.temporal.io/sdk/activity"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
)

// Names of the activities, as the history has them.
const (
	nameStep   = "headrace.step"
	nameItem   = "headrace.item"
	nameList   = "headrace.list"
	nameFinish = "headrace.finish"
	nameMerge  = "headrace.merge"
	nameSettle = "headrace.settle"
	nameOpen   = "headrace.open"
	nameKeep   = "headrace.keep"
)

// call is the input of an activity. Only references are in it, because it goes into the history.
type call struct {
	Flow  string              `json:"f"`
	Print string              `json:"v"` // fingerprint of the flow
	Path  string              `json:"p"`
	Key   string              `json:"k"`           // that of the node: where its values go
	State string              `json:"s,omitempty"` // reference to the state before
	Page  int64               `json:"g,omitempty"`
	Index int64               `json:"i,omitempty"` // in the page
	Pages int64               `json:"n,omitempty"`
	Parts []string            `json:"r,omitempty"` // references to the states that are merged
	Err   *engine.RemoteError `json:"e,omitempty"`
	Keep  string              `json:"to,omitempty"` // where the result of the run is kept
	Input string              `json:"d,omitempty"`  // digest of the input of the run
}

// outcome is the result of a node, with a reference to the state after it.
type outcome struct {
	Action string `json:"a,omitempty"`
	State  string `json:"s"`
}

// itemOutcome is what the history has of an item.
type itemOutcome struct {
	State   string `json:"s"`
	Message string `json:"m,omitempty"` // why it failed; the beginning of it
	Quota   bool   `json:"q,omitempty"` // because a quota is used up
}

// mostMessage bounds the text of a failed item in the history.
const mostMessage = 200

// activities are those of a worker.
type activities struct {
	store Store
	plans map[string]*engine.Plan
	pages *pages
	size  pageSize

	mu      sync.Mutex
	noticed map[string]bool // by fingerprints
}

func newActivities(s Store, plans map[string]*engine.Plan) *activities {
	return &activities{store: s, plans: plans, pages: &pages{store: s}, size: defaultSize, noticed: map[string]bool{}}
}

func (a *activities) part(c *call) (*engine.Part, error) {
	return partOf(a.plans, c.Flow, c.Print, c.Path)
}

// partOf returns the part that a workflow or activity is about, if the flow here is that of the run.
func partOf(plans map[string]*engine.Plan, flow, version, path string) (*engine.Part, error) {
	const remedy = "a worker of the run's version has to finish it: keep one, or give the changed flow another name or Options.Queue"
	plan := plans[flow]
	switch {
	case plan == nil:
		return nil, fmt.Errorf("%w: the worker has no flow %q, and the run has its version %s: %s", engine.ErrDiffers, flow, version, remedy)
	case plan.Fingerprint() != version:
		return nil, fmt.Errorf("%w: the worker has version %s of flow %q, and the run has %s: %s", engine.ErrDiffers, plan.Fingerprint(), flow, version, remedy)
	case plan.Part(path) == nil:
		return nil, fmt.Errorf("%w: flow %q has no node %q", engine.ErrDiffers, flow, path)
	}
	return plan.Part(path), nil
}

// noted logs that the worker has another version of a flow than a run, once for each version.
func (a *activities) noted(ctx context.Context, c *call, err error) {
	a.mu.Lock()
	id := c.Flow + "/" + c.Print
	first := !a.noticed[id] && len(a.noticed) < mostNoticed
	if first {
		a.noticed[id] = true
	}
	a.mu.Unlock()
	if first {
		activity.GetLogger(ctx).Warn("headrace: this worker does not work on a run", "error", err)
	}
}

// mostNoticed bounds how many versions of flows a worker remembers.
const mostNoticed = 1000

// stateKey is where the state after a node is.
func stateKey(key string) string { return key + "/state" }

// step makes an attempt at a step.
func (a *activities) step(ctx context.Context, c call) (o outcome, err error) {
	err = a.attempt(ctx, &c, func(ctx context.Context, part *engine.Part, p guard.Progress) (next guard.Progress, again bool, err error) {
		state, err := a.store.Get(ctx, c.State)
		if err != nil {
			return next, false, err
		}
		done := part.Run(ctx, state, p)
		switch {
		case done.Again:
			return done.Next, true, done.Err
		case done.Err != nil && ctx.Err() != nil:
			return next, false, context.Cause(ctx)
		case done.Err != nil:
			return next, false, failed(done.Err)
		}
		o = outcome{Action: done.Action, State: stateKey(c.Key)}
		return next, false, keep(ctx, a.store, o.State, done.State)
	})
	return o, err
}

// item makes an attempt at an item.
func (a *activities) item(ctx context.Context, c call) (o itemOutcome, err error) {
	err = a.try(ctx, &c, func(ctx context.Context, part *engine.Part, p guard.Progress) (next guard.Progress, again bool, err error) {
		var found bool
		if o, found = a.known(ctx, &c); found {
			return next, false, nil
		}
		it, index, err := a.pages.item(ctx, c.Key, c.Page, c.Index)
		if err != nil {
			return next, false, err
		}
		r := engine.Result{Index: index, State: engine.Failed, Err: it.Err}
		if it.Err == nil {
			done := part.Items.Attempt(ctx, index, it.In, p)
			if done.Again {
				return done.Next, true, done.Cause
			}
			if ctx.Err() != nil && done.State != engine.Done {
				return next, false, context.Cause(ctx)
			}
			r = done.Result
		}
		o, err = a.record(ctx, &c, &r)
		return next, false, err
	})
	if !errors.Is(err, errLost) {
		return o, err
	}
	if o, found := a.known(ctx, &c); found {
		return o, nil
	}
	_, index, _ := a.pages.item(ctx, c.Key, c.Page, c.Index)
	return a.record(ctx, &c, &engine.Result{Index: index, State: engine.Failed, Err: engine.Remote(err)})
}

// known returns what an earlier attempt of the activity has recorded if its worker was lost before it
// could report.
func (a *activities) known(ctx context.Context, c *call) (o itemOutcome, ok bool) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return o, false
	}
	data, err := a.store.Get(ctx, resultKey(c.Key, c.Page, c.Index))
	var r engine.Result
	if err != nil || json.Unmarshal(data, &r) != nil {
		return o, false
	}
	return shown(&r), true
}

func (a *activities) record(ctx context.Context, c *call, r *engine.Result) (o itemOutcome, err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return o, failed(err)
	}
	return shown(r), keep(ctx, a.store, resultKey(c.Key, c.Page, c.Index), data)
}

func shown(r *engine.Result) itemOutcome {
	o := itemOutcome{State: r.State}
	if r.Err != nil {
		o.Message, o.Quota = r.Err.Message[:min(len(r.Err.Message), mostMessage)], r.Err.Quota
	}
	return o
}

// list stores the items of a batch in pages, and returns how many pages there are.
func (a *activities) list(ctx context.Context, c call) (count int64, err error) {
	err = a.attempt(ctx, &c, func(ctx context.Context, part *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		state, err := a.store.Get(ctx, c.State)
		if err != nil {
			return next, false, err
		}
		w := &pageWriter{activities: a, call: &c, flows: len(part.Inside) > 0, most: a.size.of(part)}
		var broken error // of the store, and not of the input
		err = part.Items.List(ctx, state, func(item []byte, err error) error {
			broken = w.add(ctx, item, err)
			return broken
		})
		if err == nil {
			broken = w.flush(ctx)
		}
		count = w.count
		switch {
		case broken != nil:
			return next, false, broken
		case err != nil:
			return next, false, failed(err)
		}
		return next, false, nil
	})
	return count, err
}

// open returns how many items a page has.
func (a *activities) open(ctx context.Context, c call) (items int64, err error) {
	err = a.attempt(ctx, &c, func(ctx context.Context, _ *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		p, err := a.pages.get(ctx, pageKey(c.Key, c.Page))
		items = int64(len(p.Items))
		return next, false, err
	})
	return items, err
}

// settle records what became of an item for which a flow was run: c.State is a reference to its state,
// unless c.Err is set.
func (a *activities) settle(ctx context.Context, c call) (o itemOutcome, err error) {
	err = a.attempt(ctx, &c, func(ctx context.Context, part *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		it, index, err := a.pages.item(ctx, c.Key, c.Page, c.Index)
		if err != nil {
			return next, false, err
		}
		r := engine.Result{Index: index, State: engine.Failed, Err: it.Err}
		if it.Err == nil {
			var out []byte
			var cause error
			if c.Err != nil {
				cause = c.Err
			} else if out, err = a.store.Get(ctx, c.State); err != nil {
				return next, false, err
			}
			r = part.Items.Settle(ctx, index, it.In, out, cause)
		}
		o, err = a.record(ctx, &c, &r)
		return next, false, err
	})
	return o, err
}

// finish stores the results of a batch in its state.
func (a *activities) finish(ctx context.Context, c call) (o outcome, err error) {
	err = a.attempt(ctx, &c, func(ctx context.Context, part *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		state, err := a.store.Get(ctx, c.State)
		if err != nil {
			return next, false, err
		}
		var broken, stopped error
		if c.Err != nil {
			stopped = c.Err
		}
		action, after, err := part.Items.Finish(ctx, state, a.results(ctx, &c, &broken), stopped)
		switch {
		case broken != nil:
			return next, false, broken
		case ctx.Err() != nil:
			return next, false, context.Cause(ctx)
		case err != nil:
			return next, false, failed(err)
		}
		o = outcome{Action: action, State: stateKey(c.Key)}
		return next, false, keep(ctx, a.store, o.State, after)
	})
	return o, err
}

// results yields what became of each item. It ends early if the store fails or panics.
func (a *activities) results(ctx context.Context, c *call, broken *error) iter.Seq[engine.Result] {
	return func(yield func(engine.Result) bool) {
		for number := range c.Pages {
			p, err := a.pages.get(ctx, pageKey(c.Key, number))
			if err != nil {
				*broken = err
				return
			}
			for i, it := range p.Items {
				r := engine.Result{Index: p.First + int64(i), State: engine.Pending, Err: c.Err}
				data, err := read(ctx, a.store, resultKey(c.Key, number, int64(i)))
				if err == nil {
					r = engine.Result{}
					err = json.Unmarshal(data, &r)
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					*broken = err
					return
				}
				r.In = it.In
				if !yield(r) {
					return
				}
			}
		}
	}
}

// merge puts the states together that the nodes of a fork have made of one.
func (a *activities) merge(ctx context.Context, c call) (o outcome, err error) {
	get := func(ctx context.Context, key string) (v any, err error) {
		data, err := a.store.Get(ctx, key)
		if err == nil {
			v, err = decode(data)
		}
		return v, err
	}
	err = a.attempt(ctx, &c, func(ctx context.Context, _ *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		base, err := get(ctx, c.State)
		if err != nil {
			return next, false, err
		}
		merged := base
		for _, key := range c.Parts {
			side, err := get(ctx, key)
			if err != nil {
				return next, false, err
			}
			if merged, err = mergeJSON("", base, merged, side); err != nil {
				return next, false, failed(fmt.Errorf("flow %q: %w", c.Path, err))
			}
		}
		data, err := json.Marshal(merged)
		if err != nil {
			return next, false, failed(err)
		}
		o.State = stateKey(c.Key)
		return next, false, keep(ctx, a.store, o.State, data)
	})
	return o, err
}

// keep keeps the result of a run, and deletes all else that the run has stored.
func (a *activities) keep(ctx context.Context, c call) error {
	return a.attempt(ctx, &c, func(ctx context.Context, _ *engine.Part, _ guard.Progress) (next guard.Progress, again bool, err error) {
		state, err := a.store.Get(ctx, c.State)
		switch {
		case err == nil:
			var data []byte
			if data, err = json.Marshal(kept{Run: c.Key, Input: c.Input, State: state}); err != nil {
				return next, false, failed(err)
			}
			err = keep(ctx, a.store, c.Keep, data)
		case errors.Is(err, ErrNotFound): // an earlier attempt may have kept it
			if of, failed := keptAt(ctx, a.store, c.Keep); failed == nil && of.Run == c.Key {
				err = nil
			}
		}
		if err != nil {
			return next, false, err
		}
		return next, false, a.store.Delete(ctx, c.Key)
	})
}
