package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
)

// Save returns what was learned as JSON without secrets, nil if that is
// nothing. Laws that cannot be saved return errors.ErrUnsupported.
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

// Reset forgets what was learned, the statistics, and a used-up quota. Window
// history and pauses stay.
func (g *Guard) Reset() error {
	if g.throttle == nil {
		return nil
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	if g.governor != nil {
		state, err := g.current.Load().start(g.clock.Now())
		if err != nil {
			return err
		}
		g.update(func(time.Time) {
			g.governor.replace(state, g.engine.Total())
			g.governor.closed = reopening.Closure{}
		})
	}
	if errors.Is(g.throttle.Stats().Closed, adaptive.ErrQuotaExhausted) {
		g.throttle.Reopen()
	}
	g.throttle.Reset()
	g.loose.reset()
	if g.share != nil {
		g.share.reset()
	}
	return nil
}

// start is the state that a law begins with; nil for one that waits for the
// first rejected call.
func (c *compiled) start(now time.Time) (adaptive.State, error) {
	if c.lazy {
		return nil, nil //nolint:nilnil // see above
	}
	return c.law.Start(now, seed)
}
