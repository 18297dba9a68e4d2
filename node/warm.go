package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/journal"
)

const (
	// warmFor is how long what a limiter has learnt is worth going on with.
	warmFor = time.Hour
	// saveEvery is how often it is saved while a run goes on.
	saveEvery = time.Minute
)

// warm has lim, unless it has been used or is nil, go on with what it had learnt
// when an earlier process saved it. What another law has saved is left alone.
func (r *resume[In]) warm(ctx context.Context, lim *adaptive.Limiter) (err error) {
	defer caught(&err)
	keeper, ok := r.journal.(journal.LawKeeper)
	if !ok || lim == nil || lim.Throttle().Stats().Admitted > 0 {
		return nil
	}
	saved, err := keeper.LoadLaw(ctx, lim.Name())
	if err != nil {
		return err
	}
	if len(saved.State) == 0 || r.opened.Sub(saved.At) >= warmFor {
		return nil
	}
	if err := lim.Restore(saved.State); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.As(err, new(*adaptive.SavedError)) {
		return err
	}
	return nil
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
