package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// Save returns what was learned as JSON without secrets, or nil if nothing was learned. Laws that cannot be saved return
// errors.ErrUnsupported.
func (g *Guard) Save() (saved []byte, err error) {
	if g.governor == nil {
		return nil, nil
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	g.look(func(now time.Time) {
		g.governor.ask(func(law adaptive.State) {
			if s, ok := law.(adaptive.Saver); ok {
				saved, err = s.Save(now)
			} else {
				err = fmt.Errorf("guard: saving what %T learned: %w", g.current.Load().law, errors.ErrUnsupported)
			}
		})
		if failed := g.governor.failed; failed != nil {
			saved, err = nil, fmt.Errorf("guard: saving what %T learned: %w", g.current.Load().law, failed)
		}
	})
	return saved, err
}

// Restore loads what Save returned; windows and pauses stay. It fails with
// *adaptive.SavedError or errors.ErrUnsupported, and then changes nothing.
func (g *Guard) Restore(saved []byte) error {
	if g.governor == nil {
		return fmt.Errorf("guard: %q learns nothing itself: %w", g.name, errors.ErrUnsupported)
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	c := g.current.Load()
	law := c.law
	if c.lazy {
		law = c.atFirst(0)
	}
	r, ok := law.(adaptive.Restorer)
	if !ok {
		return fmt.Errorf("guard: restoring what %T learned: %w", law, errors.ErrUnsupported)
	}
	if len(saved) == 0 { // as Save returns it
		return nil
	}
	state, err := r.Restore(g.clock.Now(), seed, saved)
	if err != nil {
		return err
	}
	g.free.Store(false)
	g.update(func(time.Time) { g.governor.replace(state, g.engine.Total()) })
	return nil
}

// Reset forgets what was learned, the statistics, and that the provider has closed the
// key, unless a long Retry-After is not over. Window history, pauses and Close stay.
func (g *Guard) Reset() error {
	if g.throttle == nil {
		return nil
	}
	reopened, err := g.reset()
	if err == nil && g.remote != nil {
		g.remote.Reset()
	}
	if reopened { // the observer may change or save the guard: no lock is held
		emit.Send(g.observer, event.Event{
			Time: g.clock.Now(), Kind: event.LimiterReopened, Source: g.name, Index: event.NoIndex, Reason: "the learned state was reset",
		})
	}
	return err
}

// reset reports whether the key was closed by the provider and is open now.
func (g *Guard) reset() (reopened bool, err error) {
	g.changing.Lock()
	defer g.changing.Unlock()
	if g.governor != nil {
		state, err := g.current.Load().start(g.clock.Now())
		if err != nil {
			return false, err
		}
		g.update(func(now time.Time) {
			if !g.governor.closed.Waits(now) {
				reopened = g.governor.reopen()
			}
			g.governor.replace(state, g.engine.Total())
		})
	}
	if closed := g.throttle.Stats().Closed; closed != nil && reopened {
		if reopened = adaptive.Refused(closed); reopened { // and not by Close
			g.throttle.Reopen()
		}
	}
	g.throttle.Reset()
	g.loose.reset()
	if g.share != nil {
		g.share.reset()
	}
	return reopened, nil
}

// start is the state that a law begins with; nil for one that waits for the
// first rejected call.
func (c *compiled) start(now time.Time) (adaptive.State, error) {
	if c.lazy {
		return nil, nil //nolint:nilnil // see above
	}
	return c.law.Start(now, seed)
}
