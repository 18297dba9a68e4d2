package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/journal"
)

const (
	// warmFor is how long what was learned is worth going on with.
	warmFor = time.Hour
	// saveEvery is how often it is saved while a run goes on.
	saveEvery = time.Minute
)

// warm restores what the learner g, unless it has been used, learned in an
// earlier process. What another law has saved is left alone.
func (r *resume[In]) warm(ctx context.Context, g *guard.Guard) (err error) {
	defer panics.Catch(&err)
	keeper, ok := r.journal.(journal.LawKeeper)
	if !ok || g == nil || g.Stats().Admitted > 0 {
		return nil
	}
	saved, err := keeper.LoadLaw(ctx, g.Name())
	if err != nil || len(saved.State) == 0 || r.opened.Sub(saved.At).Abs() >= warmFor { // also if a clock was changed
		return err
	}
	err = g.Restore(saved.State)
	if errors.Is(err, errors.ErrUnsupported) || errors.As(err, new(*adaptive.SavedError)) {
		return nil
	}
	return err
}

// learners are the guards that learn from the calls of the batch, each once:
// its own, and those of the nodes inside its items.
func (b *Batch[S, In, Out]) learners() (all []*guard.Guard) {
	if l := b.made().Learner(); l != nil {
		all = append(all, l)
	}
	if h, ok := b.handler.(interface{ Learners() []*guard.Guard }); ok {
		for _, l := range h.Learners() {
			if !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// saveLaw saves what was learned, if the journal stores it. Losing it only costs a cold start, so a failure does not stop the
// run.
func (c *committer[S, In, Out]) saveLaw() {
	c.saved = time.Now()
	if c.cold || c.r.resume == nil || c.journalErr.Load() != nil {
		return
	}
	keeper, ok := c.r.resume.journal.(journal.LawKeeper)
	if !ok {
		return
	}
	cold := true
	for _, g := range c.r.b.learners() {
		err := c.call(inLaw, func() error {
			state, err := g.Save()
			if err != nil || state == nil { // nothing was learned
				return err
			}
			return keeper.SaveLaw(c.ctx, g.Name(), journal.Law{State: state, At: c.saved})
		})
		cold = cold && errors.Is(err, errors.ErrUnsupported)
	}
	c.cold = cold
}
