package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

const (
	// warmFor is how long what a limiter has learnt is worth going on with.
	warmFor = time.Hour
	// saveEvery is how often it is saved while a run goes on.
	saveEvery = time.Minute
)

// warm has lim, unless it has been used, go on with what it had learnt when an
// earlier process saved it. What another law has saved is left alone. A lim of nil is
// one that is built at the first refusal, or here if an earlier process had it.
func (r *resume[In]) warm(ctx context.Context, lim *adaptive.Limiter, build func() (*adaptive.Limiter, error)) (_ *adaptive.Limiter, err error) {
	defer panics.Catch(&err)
	keeper, ok := r.journal.(journal.LawKeeper)
	name := r.name
	if lim != nil {
		name = lim.Name()
		ok = ok && lim.Throttle().Stats().Admitted == 0
	}
	if !ok {
		return lim, nil
	}
	saved, err := keeper.LoadLaw(ctx, name)
	if err != nil {
		return lim, err
	}
	if len(saved.State) == 0 || r.opened.Sub(saved.At) >= warmFor {
		return lim, nil
	}
	if lim == nil {
		if lim, err = build(); err != nil {
			return nil, err
		}
	}
	if err := lim.Restore(saved.State); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.As(err, new(*adaptive.SavedError)) {
		return lim, err
	}
	return lim, nil
}

// saveLaw keeps what the limiter has learnt, if the journal does that. To lose it
// costs a cold start, so that is no reason to stop the run.
func (c *committer[S, In, Out]) saveLaw() {
	c.saved = time.Now()
	if c.cold || c.r.resume == nil || c.journalErr.Load() != nil {
		return
	}
	keeper, ok := c.r.resume.journal.(journal.LawKeeper)
	lim, err := c.r.b.limiter()
	if !ok || lim == nil || err != nil {
		return
	}
	err = c.call(inLaw, func() error {
		state, err := lim.Save()
		if err != nil {
			return err
		}
		return keeper.SaveLaw(c.ctx, lim.Name(), journal.Law{State: state, At: c.saved})
	})
	c.cold = errors.Is(err, errors.ErrUnsupported)
}
