package quotatest

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// recorder receives failures in the place of a test.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	failed  bool
	skipped bool
}

func (r *recorder) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Errorf(string, ...any) { r.fail() }

func (r *recorder) Fatalf(string, ...any) {
	r.fail()
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}

func play(tb testing.TB, c testCase, s Subject) *recorder {
	tb.Helper()
	r := &recorder{TB: tb}
	var wg sync.WaitGroup
	wg.Go(func() { c.play(r, s) })
	wg.Wait()
	return r
}

type (
	taking   func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error)
	peeking  func(ctx context.Context, demands []quota.Demand) (quota.Grant, error)
	ending   func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error
	undoing  func(ctx context.Context, t quota.Ticket) error
	renewing func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error)
	cooling  func(ctx context.Context, key string, d time.Duration) error
	looking  func(ctx context.Context, demands []quota.Demand) [][]throttle.WindowUse
	batching func(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error)
)

// parts is a store with methods that can be replaced one by one.
type parts struct {
	quota.Inspector
	quota.Waker
	take   taking
	peek   peeking
	end    ending
	cancel undoing
	renew  renewing
	cool   cooling
	uses   looking
	batch  batching
}

func (p *parts) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	return p.batch(ctx, r, n)
}

func (p *parts) Take(ctx context.Context, r quota.Request) (g quota.Grant, err error) {
	if r.Peek {
		g, err = p.peek(ctx, r.Demands)
	} else {
		g, err = p.take(ctx, r.Demands, r.Lease)
	}
	if r.Uses && err == nil {
		g.Uses = p.uses(ctx, r.Demands)
	}
	return g, err
}

func (p *parts) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	return p.end(ctx, t, actual)
}

func (p *parts) Cancel(ctx context.Context, t quota.Ticket) error { return p.cancel(ctx, t) }

func (p *parts) Renew(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
	return p.renew(ctx, tickets, lease)
}

func (p *parts) Cooldown(ctx context.Context, key string, d time.Duration) error {
	return p.cool(ctx, key, d)
}

// goodStore has a method for each part.
type goodStore struct{ quota.MemoryStore }

func (s goodStore) Take(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
	return s.MemoryStore.Take(ctx, quota.Request{Demands: demands, Lease: lease})
}

func (s goodStore) Peek(ctx context.Context, demands []quota.Demand) (quota.Grant, error) {
	return s.MemoryStore.Take(ctx, quota.Request{Demands: demands, Peek: true})
}

func (s goodStore) uses(ctx context.Context, demands []quota.Demand) [][]throttle.WindowUse {
	g, _ := s.MemoryStore.Take(ctx, quota.Request{Demands: demands, Peek: true, Uses: true})
	return g.Uses
}

// workshop is where a good store is broken.
type workshop struct {
	*parts // to be changed
	good   goodStore
	clock  *clockwork.FakeClock
}

func (w workshop) goodParts() *parts {
	return &parts{w.good, w.good, w.good.Take, w.good.Peek, w.good.End, w.good.Cancel, w.good.Renew, w.good.Cooldown, w.good.uses, w.good.TakeBatch}
}

// demanding changes every demand before it reaches the store; tickets stay as they should be.
func (w workshop) demanding(change func(d *quota.Demand)) {
	changed := func(demands []quota.Demand) []quota.Demand {
		demands = slices.Clone(demands)
		for i := range demands {
			change(&demands[i])
		}
		return demands
	}
	w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
		heard := changed(demands)
		g, err := w.good.Take(ctx, heard, lease)
		if g.Wait == 0 {
			g.Ticket.Demands = slices.Clone(demands)
		}
		return renamed(g, demands, heard), err
	}
	w.peek = func(ctx context.Context, demands []quota.Demand) (quota.Grant, error) {
		heard := changed(demands)
		g, err := w.good.Peek(ctx, heard)
		return renamed(g, demands, heard), err
	}
}

// renamed makes a grant name the requested window, not the changed one.
func renamed(g quota.Grant, asked, heard []quota.Demand) quota.Grant {
	if g.Bound.Kind == throttle.BoundByWindow {
		i := slices.Index(heard[g.Demand].Limits.Windows, g.Bound.Window)
		if windows := asked[g.Demand].Limits.Windows; i < len(windows) {
			g.Bound.Window = windows[i]
		}
	}
	return g
}

// granting has every grant of a Take changed.
func (w workshop) granting(change func(g *quota.Grant)) {
	w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
		g, err := w.good.Take(ctx, demands, lease)
		if err == nil {
			change(&g)
		}
		return g, err
	}
}

// batching has the grants of every batch changed.
func (w workshop) batching(change func(ctx context.Context, grants []quota.Grant)) {
	w.batch = func(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
		grants, err := w.good.TakeBatch(ctx, r, n)
		if err == nil {
			change(ctx, grants)
		}
		return grants, err
	}
}

func (w workshop) leasing(change func(d time.Duration) time.Duration) {
	w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
		if lease > 0 {
			lease = change(lease)
		}
		return w.good.Take(ctx, demands, lease)
	}
}

// eachWindow changes the windows of a demand.
func eachWindow(d *quota.Demand, change func(w throttle.Window) throttle.Window) {
	d.Limits.Windows = slices.Clone(d.Limits.Windows)
	for i := range d.Limits.Windows {
		d.Limits.Windows[i] = change(d.Limits.Windows[i])
	}
}

func onlyBuckets(d quota.Demand) bool {
	return !slices.ContainsFunc(d.Limits.Windows, func(x throttle.Window) bool { return x.Kind() != throttle.TokenBucket })
}

func valid(d quota.Demand) bool {
	return (quota.Request{Demands: []quota.Demand{d}, Peek: true}).Validate() == nil
}

func mutants() map[string]func(w workshop) {
	return map[string]func(w workshop){
		"forgets the last of several demands": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				if err := (quota.Request{Demands: demands, Lease: lease}).Validate(); err != nil {
					return quota.Grant{}, err
				}
				g, err := w.good.Take(ctx, demands[:max(1, len(demands)-1)], lease)
				if g.Wait == 0 {
					g.Ticket.Demands = slices.Clone(demands)
				}
				return g, err
			}
		},
		"takes the first demand though the second cannot be met": func(w workshop) {
			w.granting(func(*quota.Grant) {})
			take := w.take
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				g, err := take(ctx, demands, lease)
				if g.Wait > 0 && g.Demand > 0 {
					_, _ = w.good.Take(ctx, demands[:1], lease)
				}
				return g, err
			}
		},
		"checks first, and takes in a second step": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				if (quota.Request{Demands: demands, Lease: lease}).Validate() != nil || (quota.Ticket{Demands: demands}).Leased() {
					return w.good.Take(ctx, demands, lease)
				}
				g, err := w.good.Peek(ctx, demands)
				if err != nil || g.Wait > 0 {
					return g, err
				}
				for range 100 {
					runtime.Gosched()
				}
				for _, d := range demands {
					_, _ = w.good.Take(ctx, []quota.Demand{d}, lease)
				}
				g, err = w.good.Take(ctx, []quota.Demand{{Key: "free"}}, 0)
				g.Ticket.Demands = slices.Clone(demands)
				return g, err
			}
		},
		"charges a batch as one call": func(w workshop) {
			w.batching(func(ctx context.Context, grants []quota.Grant) {
				for _, g := range grants[1:] {
					_ = w.good.Cancel(ctx, g.Ticket)
				}
			})
		},
		"refuses a batch that does not fit as a whole": func(w workshop) {
			w.batching(func(ctx context.Context, grants []quota.Grant) {
				if last := grants[len(grants)-1]; last.Wait > 0 {
					for i := range grants {
						_ = w.good.Cancel(ctx, grants[i].Ticket)
						grants[i] = last
					}
				}
			})
		},
		"gives the calls of a batch one ticket": func(w workshop) {
			w.batching(func(_ context.Context, grants []quota.Grant) {
				for i := range grants {
					if grants[i].Wait == 0 {
						grants[i].Ticket = grants[0].Ticket
					}
				}
			})
		},
		"says nothing of calls of a batch that wait": func(w workshop) {
			w.batch = func(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
				grants, err := w.good.TakeBatch(ctx, r, n)
				return slices.DeleteFunc(grants, func(g quota.Grant) bool { return g.Wait > 0 }), err
			}
		},
		"takes batches of what is only for Take": func(w workshop) {
			w.batch = func(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
				r.Peek, r.Uses = false, false
				return w.good.TakeBatch(ctx, r, n)
			}
		},
		"admits a batch and a call that both fit alone": func(w workshop) {
			w.batch = func(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
				demands := r.Demands
				r.Demands = slices.Clone(demands)
				for i := range r.Demands {
					r.Demands[i].Key += " of batches"
				}
				grants, err := w.good.TakeBatch(ctx, r, n)
				for i := range grants {
					grants[i].Ticket.Demands = slices.Clone(demands)
				}
				return grants, err
			}
		},
		"admits one too many": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if d.Limits.Validate() == nil {
					for i := range d.Limits.Windows {
						d.Limits.Windows = slices.Clone(d.Limits.Windows)
						d.Limits.Windows[i] = wider(d.Limits.Windows[i], 1)
					}
				}
			})
		},
		"has a slot too many": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if d.Limits.Concurrency > 0 {
					d.Limits.Concurrency++
				}
			})
		},
		"has a slot too few": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if d.Limits.Concurrency > 1 {
					d.Limits.Concurrency--
				}
			})
		},
		"has no slots": func(w workshop) {
			w.demanding(func(d *quota.Demand) { d.Limits.Concurrency = min(0, d.Limits.Concurrency) })
		},
		"knows no windows": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if d.Limits.Validate() == nil && valid(*d) {
					d.Limits.Windows = nil
				}
			})
		},
		"knows only the first window": func(w workshop) {
			w.demanding(func(d *quota.Demand) { d.Limits.Windows = d.Limits.Windows[:min(1, len(d.Limits.Windows))] })
		},
		"counts only requests": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if valid(*d) {
					d.Cost = throttle.Cost{Requests: d.Cost.Requests}
				}
			})
		},
		"has a calendar that begins with the first call": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				eachWindow(d, func(x throttle.Window) throttle.Window {
					if x == newSpec(fixed, x.Unit(), x.Max(), short).window() {
						return throttle.Sliding(x.Max(), short).Of(x.Unit())
					}
					return x
				})
			})
		},
		"mistakes a bucket for a window": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				eachWindow(d, func(x throttle.Window) throttle.Window {
					if x == newSpec(bucket, x.Unit(), x.Max(), 40*time.Millisecond).window() {
						return throttle.Sliding(x.Max(), time.Duration(x.Max())*40*time.Millisecond).Of(x.Unit())
					}
					return x
				})
			})
		},
		"takes in a Peek": func(w workshop) {
			w.peek = func(ctx context.Context, demands []quota.Demand) (quota.Grant, error) {
				g, err := w.good.Take(ctx, demands, forGood)
				g.Ticket = quota.Ticket{}
				return g, err
			}
		},
		"changes the limits in a Peek": func(w workshop) {
			w.peek = func(ctx context.Context, demands []quota.Demand) (quota.Grant, error) {
				g, err := w.good.Peek(ctx, demands)
				if err == nil {
					if taken, err := w.good.Take(ctx, demands, forGood); err == nil && taken.Wait == 0 {
						_ = w.good.Cancel(ctx, taken.Ticket)
					}
				}
				return g, err
			}
		},
		"has a Peek that sees no cooldown": func(w workshop) {
			w.peek = func(ctx context.Context, demands []quota.Demand) (quota.Grant, error) {
				g, err := w.good.Peek(ctx, demands)
				if g.Bound.Kind == throttle.BoundByPause {
					g = quota.Grant{}
				}
				return g, err
			}
		},
		"never lets a lease lapse":     func(w workshop) { w.leasing(func(time.Duration) time.Duration { return 100 * forGood }) },
		"lets leases lapse too early":  func(w workshop) { w.leasing(func(d time.Duration) time.Duration { return d - 1 }) },
		"lets leases lapse too late":   func(w workshop) { w.leasing(func(d time.Duration) time.Duration { return d + 1 }) },
		"has a late End free the slot": lateEndFrees,
		"has a late End settle": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				err := w.good.End(ctx, t, actual)
				if errors.Is(err, quota.ErrLeaseLost) {
					t.Demands = slices.Clone(t.Demands)
					for i := range t.Demands {
						t.Demands[i].Limits.Concurrency = 0
					}
					_ = w.good.End(ctx, t, actual)
				}
				return err
			}
		},
		"does not tell of a lost lease": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if err := w.good.End(ctx, t, actual); !errors.Is(err, quota.ErrLeaseLost) {
					return err
				}
				return nil
			}
		},
		"does not tell of a lost lease by Cancel": func(w workshop) {
			w.cancel = func(ctx context.Context, t quota.Ticket) error {
				if err := w.good.Cancel(ctx, t); !errors.Is(err, quota.ErrLeaseLost) {
					return err
				}
				return nil
			}
		},
		"frees all slots of a lease with the first key that is forgotten": func(w workshop) {
			f := forgetting(w)
			f.forgotten = func(ctx context.Context, t quota.Ticket) { _ = w.good.End(ctx, t, nil) }
		},
		"leaves a lost lease its other slots until it lapses": func(w workshop) {
			f := forgetting(w)
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if f.lost[t.ID] {
					return quota.ErrLeaseLost
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"renews what a lost lease has left": func(w workshop) {
			f := forgetting(w)
			w.renew = func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
				for _, t := range tickets {
					if f.lost[t.ID] {
						lost = append(lost, t)
					}
				}
				if lost != nil {
					return lost, nil
				}
				return w.good.Renew(ctx, tickets, lease)
			}
		},
		"settles nothing": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if err := quota.ValidateEnd(t, actual); err != nil {
					return err
				}
				return w.good.End(ctx, t, nil)
			}
		},
		"only gives back": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				actual = slices.Clone(actual)
				for i := range min(len(actual), len(t.Demands)) {
					actual[i].Tokens = min(actual[i].Of(throttle.Tokens), t.Demands[i].Cost.Of(throttle.Tokens))
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"settles all demands by the first cost": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				actual = slices.Clone(actual)
				for i := range actual {
					actual[i] = actual[0]
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"gives nothing back in a Cancel": func(w workshop) {
			w.cancel = func(ctx context.Context, t quota.Ticket) error { return w.good.End(ctx, t, nil) }
		},
		"gives a bucket nothing back if another call took from it since": func(w workshop) {
			var last sync.Map
			w.granting(func(g *quota.Grant) {
				for _, d := range g.Ticket.Demands {
					last.Store(d.Key, g.Ticket.At)
				}
			})
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if len(t.Demands) == 1 && onlyBuckets(t.Demands[0]) {
					if at, ok := last.Load(t.Demands[0].Key); ok && at.(int64) > t.At {
						actual = nil
					}
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"gives everything back in an End": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, _ []throttle.Cost) error { return w.good.Cancel(ctx, t) }
		},
		"keeps the slot of a cancelled call": func(w workshop) {
			w.cancel = func(ctx context.Context, t quota.Ticket) error {
				if lost, err := w.good.Renew(ctx, []quota.Ticket{t}, forGood); err != nil || len(lost) > 0 {
					return errors.Join(err, quota.ErrLeaseLost)
				}
				return nil
			}
		},
		"renews nothing": func(w workshop) {
			w.renew = func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
				return nil, errors.Join(context.Cause(ctx), quota.ValidateRenew(tickets, lease))
			}
		},
		"tells of no lease that Renew finds lost": func(w workshop) {
			w.renew = func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
				_, err := w.good.Renew(ctx, tickets, lease)
				return nil, err
			}
		},
		"renews only the first of several": func(w workshop) {
			w.renew = func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
				return w.good.Renew(ctx, tickets[:min(1, len(tickets))], lease)
			}
		},
		"adds to a lease instead of renewing it": func(w workshop) {
			w.renew = func(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
				return w.good.Renew(ctx, tickets, lease+short)
			}
		},
		"does not cool down": func(w workshop) {
			w.cool = func(ctx context.Context, key string, _ time.Duration) error { return w.good.Cooldown(ctx, key, 0) }
		},
		"cools down for too short": func(w workshop) {
			w.cool = func(ctx context.Context, key string, d time.Duration) error { return w.good.Cooldown(ctx, key, d-1) }
		},
		"cools down for too long": func(w workshop) {
			w.cool = func(ctx context.Context, key string, d time.Duration) error {
				return w.good.Cooldown(ctx, key, d+time.Millisecond)
			}
		},
		"keeps the first cooldown only": func(w workshop) {
			var mu sync.Mutex
			seen := map[string]bool{}
			w.cool = func(ctx context.Context, key string, d time.Duration) error {
				mu.Lock()
				defer mu.Unlock()
				if seen[key] {
					d = 0
				}
				seen[key] = true
				return w.good.Cooldown(ctx, key, d)
			}
		},
		"keeps the last cooldown only": lastCooldown,
		"cools every key down": func(w workshop) {
			w.cool = func(ctx context.Context, key string, d time.Duration) error {
				return errors.Join(w.good.Cooldown(ctx, key, d), w.good.Cooldown(ctx, "b", d))
			}
		},
		"ignores a context that has ended": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				return w.good.Take(context.WithoutCancel(ctx), demands, lease)
			}
		},
		"takes for a context that has ended": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				g, err := w.good.Take(context.WithoutCancel(ctx), demands, lease)
				if ctx.Err() != nil {
					return quota.Grant{}, context.Cause(ctx)
				}
				return g, err
			}
		},
		"leaks the lease of a caller that gives up": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				if ctx.Err() != nil {
					return quota.Grant{}, context.Cause(ctx)
				}
				g, err := w.good.Take(ctx, demands, lease)
				if runtime.Gosched(); err == nil && g.Wait == 0 && ctx.Err() != nil {
					_, _ = w.good.Renew(context.WithoutCancel(ctx), []quota.Ticket{g.Ticket}, 100*forGood)
					return quota.Grant{}, context.Cause(ctx)
				}
				return g, err
			}
		},
		"tells that a context ended, but not why": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"waits too short": func(w workshop) { w.granting(func(g *quota.Grant) { g.Wait /= 2; g.Bound.Wait = g.Wait }) },
		"waits a bit longer": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Wait += min(g.Wait, 1); g.Bound.Wait = g.Wait })
		},
		"names no bound": func(w workshop) { w.granting(func(g *quota.Grant) { g.Bound = throttle.Bound{} }) },
		"names a wrong bound": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Bound.Kind = min(g.Bound.Kind, throttle.BoundByWindow) })
		},
		"names a wrong demand": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Demand++ })
		},
		"has one token for all": func(w workshop) { w.granting(func(g *quota.Grant) { g.Ticket.Token = min(g.Ticket.Token, 1) }) },
		"has tokens that fall":  func(w workshop) { w.granting(func(g *quota.Grant) { g.Ticket.Token = -g.Ticket.Token }) },
		"uses an ID again": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Ticket.ID = g.Ticket.ID[:min(1, len(g.Ticket.ID))] })
		},
		"forgets what a ticket was": func(w workshop) { w.granting(func(g *quota.Grant) { g.Ticket.Demands = nil }) },
		"dates tickets back": func(w workshop) {
			w.granting(func(g *quota.Grant) { g.Ticket.At -= min(g.Ticket.At, int64(short)) })
		},
		"follows a clock that steps back": func(w workshop) {
			begin := w.clock.Now()
			w.granting(func(g *quota.Grant) {
				if g.Wait == 0 {
					g.Ticket.At = int64(w.clock.Since(begin))
				}
			})
		},
		"keeps the first limits": func(w workshop) {
			var mu sync.Mutex
			seen := map[string]throttle.Limits{}
			w.demanding(func(d *quota.Demand) {
				mu.Lock()
				defer mu.Unlock()
				if _, ok := seen[d.Key]; !ok && d.Limits.Validate() == nil {
					seen[d.Key] = d.Limits
				}
				d.Limits = seen[d.Key]
			})
		},
		"forgets history when limits change": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				for _, x := range d.Limits.Windows {
					d.Key += string(rune('0' + x.Max()%10))
				}
			})
			w.end = func(context.Context, quota.Ticket, []throttle.Cost) error { return nil }
		},
		"shares one history among keys": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if len(d.Key) > 4 {
					d.Key = d.Key[:5]
				}
			})
		},
		"believes invalid demands": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				g, err := w.good.Take(ctx, demands, lease)
				if _, bad := errors.AsType[*fault.FieldError](err); bad {
					return g, nil
				}
				return g, err
			}
		},
		"hears the limits of an impossible call": func(w workshop) {
			w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
				g, err := w.good.Take(ctx, demands, lease)
				if errors.Is(err, throttle.ErrCost) {
					if first, err := w.good.Take(ctx, demands[:1], forGood); err == nil {
						_ = w.good.Cancel(ctx, first.Ticket)
					}
				}
				return g, err
			}
		},
	}
}

// forgetter is an Inspector that knows which leases are lost by a Forget.
type forgetter struct {
	quota.Inspector
	mu        sync.Mutex
	open      []quota.Ticket
	lost      map[string]bool
	forgotten func(ctx context.Context, t quota.Ticket)
}

func forgetting(w workshop) *forgetter {
	f := &forgetter{Inspector: w.good, lost: map[string]bool{}, forgotten: func(context.Context, quota.Ticket) {}}
	w.Inspector = f
	w.granting(func(g *quota.Grant) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if g.Ticket.Leased() {
			f.open = append(f.open, g.Ticket)
		}
	})
	return f
}

func (f *forgetter) Forget(ctx context.Context, key string) error {
	err := f.Inspector.Forget(ctx, key)
	for _, t := range f.open {
		if slices.ContainsFunc(t.Demands, func(d quota.Demand) bool { return d.Key == key }) {
			f.lost[t.ID] = true
			f.forgotten(ctx, t)
		}
	}
	return err
}

// lateEndFrees makes a lost lease end the lease of the next holder.
func lateEndFrees(w workshop) {
	var mu sync.Mutex
	holder := map[string]quota.Ticket{}
	w.granting(func(g *quota.Grant) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range g.Ticket.Demands {
			holder[d.Key] = g.Ticket
		}
	})
	w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
		err := w.good.End(ctx, t, actual)
		if errors.Is(err, quota.ErrLeaseLost) {
			mu.Lock()
			defer mu.Unlock()
			_ = w.good.End(ctx, holder[t.Demands[0].Key], nil)
		}
		return err
	}
}

// lastCooldown keeps cooldowns in a map, where a shorter one replaces a longer.
func lastCooldown(w workshop) {
	var mu sync.Mutex
	until := map[string]time.Time{}
	w.cool = func(ctx context.Context, key string, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		until[key] = w.clock.Now().Add(d)
		return w.good.Cooldown(ctx, key, 0)
	}
	w.take = func(ctx context.Context, demands []quota.Demand, lease time.Duration) (quota.Grant, error) {
		mu.Lock()
		defer mu.Unlock()
		for i, d := range demands {
			if left := until[d.Key].Sub(w.clock.Now()); left > 0 {
				return quota.Grant{Wait: left, Bound: throttle.Bound{Kind: throttle.BoundByPause, Wait: left}, Demand: i}, nil
			}
		}
		return w.good.Take(ctx, demands, lease)
	}
}

// wider is one of the suite's windows with a larger max.
func wider(x throttle.Window, by int64) throttle.Window {
	for _, per := range []time.Duration{short, long, 2 * long, 150 * time.Millisecond} {
		for _, a := range []algorithm{sliding, fixed} {
			if s := newSpec(a, x.Unit(), x.Max(), per); s.window() == x {
				s.max += by
				return s.window()
			}
		}
	}
	return x
}

func subject(broken func(w workshop)) Subject {
	clock := clockwork.NewFakeClock()
	w := workshop{good: goodStore{quota.NewMemoryStore(clock)}, clock: clock}
	w.parts = w.goodParts()
	broken(w)
	return Subject{Store: w.parts, Pass: clock.Advance, StepClock: clock.Advance, Epoch: clock.Now(), Histories: 8, patience: time.Millisecond}
}

// The suite can fail: each way to be broken is found by some part of it.
func TestMutantsAreFound(t *testing.T) {
	all := mutants()
	maps.Copy(all, extremes())
	maps.Copy(all, views())
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, c := range cases() {
				if play(t, c, subject(all[name])).Failed() {
					found = append(found, c.name)
				}
				if found != nil && !testing.Verbose() {
					break
				}
			}
			t.Logf("found by %v", found)
			assert.NotEmpty(t, found, "a store that %s passes", name)
		})
	}
}

// What the mutants are made of is not broken by itself.
func TestTheWorkshopBreaksNothing(t *testing.T) {
	for _, c := range cases() {
		assert.False(t, play(t, c, subject(func(workshop) {})).Failed(), c.name)
	}
}

// Two handles that do not share their data are not one store.
func TestAPeerOfItsOwnIsFound(t *testing.T) {
	for _, c := range cases() {
		s := subject(func(workshop) {})
		s.Peer = func() quota.Store { return quota.NewMemoryStore(clockwork.NewFakeClock()) }
		switch c.name {
		case "Arguments", "BatchArguments", "Unlimited", "ClockSteps", "Daylight": // they ask little of one key, or give up
		default:
			assert.True(t, play(t, c, s).Failed(), c.name)
		}
	}
}

func TestWhatNeedsAStepClockIsSkippedWithoutOne(t *testing.T) {
	for how, step := range map[string]func(time.Duration){"none": nil, "one that the store does not follow": func(time.Duration) {}} {
		var skipped []string
		for _, c := range cases() {
			s := subject(func(workshop) {})
			s.StepClock = step
			r := play(t, c, s)
			assert.False(t, r.Failed(), c.name)
			if r.skipped {
				skipped = append(skipped, c.name)
			}
		}
		want := []string{"Daylight", "LongHistory", "ClockSteps"}
		if step != nil {
			want = want[:2] // that one finds nothing to complain about
		}
		assert.Equal(t, want, skipped, how)
	}
}

// A store that counts sliding windows in 64 parts passes if it says so, and not otherwise.
func TestACoarseStoreHasToSaySo(t *testing.T) {
	coarse := func(w workshop) {
		w.replacing(func(s spec) spec {
			if s.algorithm == sliding {
				s.per += s.per / 70
			}
			return s
		})
	}
	found := false
	for _, c := range cases() {
		s := subject(coarse)
		found = found || play(t, c, s).Failed()
		s = subject(coarse)
		s.Slots = 64
		if c.name != "Inspector" { // this one shows its other windows
			assert.False(t, play(t, c, s).Failed(), c.name)
		}
	}
	assert.True(t, found)
}

// The books do not overflow where instants count from 1970, as they do by default.
func TestTheDefaultEpoch(t *testing.T) {
	for _, c := range cases() {
		s := subject(func(workshop) {})
		clock := clockwork.NewFakeClockAt(time.Unix(0, since))
		s.Store, s.Pass, s.StepClock, s.Epoch = since1970{quota.NewMemoryStore(clock)}, clock.Advance, clock.Advance, time.Time{}
		assert.False(t, play(t, c, s).Failed(), c.name)
	}
}
