package quotatest

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// views are broken in what they show.
func views() map[string]func(w workshop) {
	return map[string]func(w workshop){
		"shows no uses": func(w workshop) {
			w.uses = func(context.Context, []quota.Demand) [][]throttle.WindowUse { return nil }
		},
		"shows uses without windows": func(w workshop) {
			w.uses = func(_ context.Context, demands []quota.Demand) [][]throttle.WindowUse {
				return make([][]throttle.WindowUse, len(demands))
			}
		},
		"shows uses that were not asked for": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Uses = [][]throttle.WindowUse{} })
		},
		"shows one unit too many":         func(w workshop) { w.using(func(u *throttle.WindowUse) { u.Spent, u.Left = u.Spent+1, u.Left-1 }) },
		"shows one unit too few":          func(w workshop) { w.using(func(u *throttle.WindowUse) { u.Spent, u.Left = u.Spent-1, u.Left+1 }) },
		"shows nothing left below zero":   func(w workshop) { w.using(func(u *throttle.WindowUse) { u.Left = max(0, u.Left) }) },
		"shows a unit free too early":     func(w workshop) { w.using(func(u *throttle.WindowUse) { u.FreesIn = max(0, u.FreesIn-1) }) },
		"shows a unit free too late":      func(w workshop) { w.using(func(u *throttle.WindowUse) { u.FreesIn = u.ResetsIn }) },
		"shows a window empty too early":  func(w workshop) { w.using(func(u *throttle.WindowUse) { u.ResetsIn = u.FreesIn }) },
		"shows a window empty too late":   func(w workshop) { w.using(func(u *throttle.WindowUse) { u.ResetsIn++ }) },
		"shows the use of another window": func(w workshop) { w.using(func(u *throttle.WindowUse) { u.Window = u.Window.Of(throttle.Requests) }) },
		"has an instant for each key, one of them earlier": func(w workshop) {
			var n atomic.Int64
			w.granting(func(g *quota.Grant) {
				if n.Add(1)%2 == 0 {
					g.Ticket.At -= min(g.Ticket.At, 1)
				}
			})
		},
		"shows no limits": func(w workshop) { w.showing(func(s *quota.State) { s.Limits = throttle.Limits{} }) },
		"shows no slots":  func(w workshop) { w.showing(func(s *quota.State) { s.InFlight = 0 }) },
		"shows cooldowns": func(w workshop) { w.showing(func(s *quota.State) { s.Cooldown = max(1, s.Cooldown) }) },
		"shows all keys":  func(w workshop) { w.Inspector = curious{w.good, func(string) string { return "" }, nil, false} },
		"never announces": func(w workshop) { w.Waker = waker{w.good, []string{"x"}} },
		"announces all":   func(w workshop) { w.Waker = waker{w.good, []string{"a", "b", "c"}} },
		"announces one":   func(w workshop) { w.Waker = waker{w.good, []string{"a"}} },
		"forgets nothing": func(w workshop) { w.Inspector = curious{w.good, nil, nil, true} },
	}
}

// using has every use changed.
func (w workshop) using(change func(u *throttle.WindowUse)) {
	w.uses = func(ctx context.Context, demands []quota.Demand) [][]throttle.WindowUse {
		uses := w.good.uses(ctx, demands)
		for i := range uses {
			for j := range uses[i] {
				change(&uses[i][j])
			}
		}
		return uses
	}
}

func (w workshop) showing(change func(s *quota.State)) {
	w.Inspector = curious{w.good, nil, change, false}
}

// curious is an Inspector that is changed in some respect.
type curious struct {
	quota.Inspector
	prefix func(prefix string) string
	change func(s *quota.State)
	keeps  bool
}

func (c curious) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if c.prefix != nil {
		prefix = c.prefix(prefix)
	}
	return c.Inspector.Keys(ctx, prefix)
}

func (c curious) Look(ctx context.Context, key string) (quota.State, error) {
	s, err := c.Inspector.Look(ctx, key)
	if c.change != nil {
		c.change(&s)
	}
	return s, err
}

func (c curious) Forget(ctx context.Context, key string) error {
	if c.keeps {
		return context.Cause(ctx)
	}
	return c.Inspector.Forget(ctx, key)
}

// waker announces these keys, whatever it was asked for.
type waker struct {
	quota.Waker
	keys []string
}

func (w waker) Changed(ctx context.Context, _ ...string) (<-chan struct{}, error) {
	return w.Waker.Changed(ctx, w.keys...)
}

// since1970 counts from the Unix epoch, as a store on a real clock does.
type since1970 struct{ quota.MemoryStore }

const since = int64(56 * 365 * 24 * time.Hour)

func (s since1970) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	g, err := s.MemoryStore.Take(ctx, r)
	if g.Ticket.ID != "" {
		g.Ticket.At += since
	}
	return g, err
}

func (s since1970) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	grants, err := s.MemoryStore.TakeBatch(ctx, r, n)
	for i := range grants {
		if grants[i].Ticket.ID != "" {
			grants[i].Ticket.At += since
		}
	}
	return grants, err
}

func (s since1970) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	t.At -= since
	return s.MemoryStore.End(ctx, t, actual)
}

func (s since1970) Cancel(ctx context.Context, t quota.Ticket) error {
	t.At -= since
	return s.MemoryStore.Cancel(ctx, t)
}
