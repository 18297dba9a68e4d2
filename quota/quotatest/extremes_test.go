package quotatest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// extremes are broken where numbers, times or histories are out of the ordinary.
func extremes() map[string]func(w workshop) {
	return map[string]func(w workshop){
		"forgets keys after a minute": func(w workshop) {
			forgetful(w, func(d quota.Demand) bool { return d.Limits.Concurrency == 0 })
		},
		"forgets fixed windows after a minute": func(w workshop) { forgetful(w, only("fixed")) },
		"forgets buckets after a minute":       func(w workshop) { forgetful(w, only("bucket")) },
		"forgets leases after a minute": func(w workshop) {
			forgetful(w, func(d quota.Demand) bool { return d.Limits.Concurrency > 0 })
		},
		"lets no cooldown last for more than a minute": func(w workshop) {
			w.cool = func(ctx context.Context, key string, d time.Duration) error {
				return w.good.Cooldown(ctx, key, min(d, time.Minute))
			}
		},
		"counts costs in 32 bits": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if valid(*d) {
					d.Cost.Tokens = int64(int32(d.Cost.Tokens))
				}
			})
		},
		"counts costs in 32 bits, saturating": func(w workshop) {
			w.demanding(func(d *quota.Demand) {
				if valid(*d) {
					d.Cost.Tokens = min(d.Cost.Tokens, 1<<31-1)
				}
			})
		},
		"settles in 32 bits": func(w workshop) {
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				actual = slices.Clone(actual)
				for i := range actual {
					actual[i].Tokens = min(actual[i].Tokens, 1<<31-1)
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"loses settlements that race": func(w workshop) {
			alone := oneOfTwo()
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				if !t.Leased() && !alone() {
					return nil // the other one's sum was written over it
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"loses debits that race": func(w workshop) {
			alone := oneOfTwo()
			w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
				more := len(actual) == 1 && actual[0].Tokens > t.Demands[0].Cost.Tokens
				if !t.Leased() && more && !alone() {
					return nil
				}
				return w.good.End(ctx, t, actual)
			}
		},
		"loses cancellations that race": func(w workshop) {
			alone := oneOfTwo()
			w.cancel = func(ctx context.Context, t quota.Ticket) error {
				if !t.Leased() && !alone() {
					return nil
				}
				return w.good.Cancel(ctx, t)
			}
		},
		"rounds stamps down": func(w workshop) {
			w.replacing(func(s spec) spec {
				if s.algorithm == sliding && s.max > 1024 {
					s.per -= s.per / 1024
				}
				return s
			})
		},
		"rounds stamps up by more than a slot": func(w workshop) {
			w.replacing(func(s spec) spec {
				if s.algorithm == sliding && s.max > 1024 {
					s.per += s.per / 1024
				}
				return s
			})
		},
		"refills in whole milliseconds, rounded down": func(w workshop) { w.refilling(time.Millisecond, 0) },
		"refills in whole milliseconds, rounded up":   func(w workshop) { w.refilling(time.Millisecond, 1) },
		"refills in whole microseconds, rounded up":   func(w workshop) { w.refilling(time.Microsecond, 1) },
		"refills in whole nanoseconds, rounded down":  func(w workshop) { w.refilling(time.Nanosecond, 0) },
		"takes an anchor's clock for that of UTC": func(w workshop) {
			w.replacing(func(s spec) spec {
				y, m, d := s.anchor.Date()
				h, mi, sec := s.anchor.Clock()
				s.anchor = time.Date(y, m, d, h, mi, sec, s.anchor.Nanosecond(), time.UTC)
				return s
			})
		},
		"takes all anchors for midnight": func(w workshop) {
			w.replacing(func(s spec) spec {
				y, m, d := s.anchor.Date()
				s.anchor = time.Date(y, m, d, 0, 0, 0, 0, s.anchor.Location())
				return s
			})
		},
		"has days of 24 hours only": func(w workshop) {
			w.replacing(func(s spec) spec {
				s.anchor = s.anchor.UTC()
				return s
			})
		},
		"has days of 24 hours for weeks only": func(w workshop) {
			w.replacing(func(s spec) spec {
				if s.per > 24*time.Hour {
					s.anchor = s.anchor.UTC()
				}
				return s
			})
		},
		"forgets history when a period changes": func(w workshop) {
			w.keying(func(l throttle.Limits) string {
				var pers []time.Duration
				for _, x := range l.Windows {
					if s, ok := specOf(x); ok && s.algorithm != bucket {
						pers = append(pers, s.per)
					}
				}
				return fmt.Sprint(pers)
			})
		},
		"forgets history when a rate changes": func(w workshop) {
			w.keying(func(l throttle.Limits) string {
				var rates []int64
				for _, x := range l.Windows {
					if s, ok := specOf(x); ok && s.algorithm == bucket {
						rates = append(rates, s.rate)
					}
				}
				return fmt.Sprint(rates)
			})
		},
		"forgets history when windows change places": func(w workshop) {
			w.keying(func(l throttle.Limits) string {
				if len(l.Windows) > 1 {
					return l.Windows[0].Unit().String()
				}
				return ""
			})
		},
		"forgets history when the number of windows changes": func(w workshop) {
			w.keying(func(l throttle.Limits) string { return strconv.Itoa(len(l.Windows)) })
		},
		"keeps the first period":  func(w workshop) { w.frozen(func(s, first spec) spec { s.per = first.per; return s }) },
		"keeps the first rate":    func(w workshop) { w.frozen(func(s, first spec) spec { s.rate = first.rate; return s }) },
		"ends what was not taken": endsNothing,
	}
}

// forgetful resets keys that were not used for longer than a minute.
func forgetful(w workshop, of func(d quota.Demand) bool) {
	var mu sync.Mutex
	seen, lives := map[string]time.Time{}, map[string]int{}
	w.demanding(func(d *quota.Demand) {
		mu.Lock()
		defer mu.Unlock()
		if !of(*d) {
			return
		}
		now := w.clock.Now()
		if last, ok := seen[d.Key]; ok && now.Sub(last) > time.Minute {
			lives[d.Key]++
		}
		seen[d.Key] = now
		d.Key += strings.Repeat("#", lives[d.Key])
	})
}

// only is the demands with a first window of that sort.
func only(sort string) func(d quota.Demand) bool {
	return func(d quota.Demand) bool {
		return len(d.Limits.Windows) > 0 && strings.HasPrefix(d.Limits.Windows[0].String(), sort)
	}
}

// oneOfTwo returns false if another call is in it.
func oneOfTwo() func() bool {
	var inside atomic.Int32
	return func() bool {
		defer inside.Add(-1)
		first := inside.Add(1) == 1
		for range 100 {
			runtime.Gosched()
		}
		return first
	}
}

// endsNothing charges a ticket that has no ID, as if something had been taken.
func endsNothing(w workshop) {
	w.end = func(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
		if t.ID == "" && len(t.Demands) > 0 && actual != nil && !t.Leased() {
			g, err := w.good.Take(ctx, t.Demands, 0)
			if err != nil || g.Wait > 0 {
				return err
			}
			t = g.Ticket
		}
		return w.good.End(ctx, t, actual)
	}
}

// specOf is x as the suite reckons with it, if it can.
func specOf(x throttle.Window) (spec, bool) {
	s := spec{unit: x.Unit(), max: x.Max(), per: x.Per(), rate: 1, anchor: x.Anchor()}
	switch x.Kind() {
	case throttle.SlidingWindow:
		s.algorithm, s.anchor = sliding, anchor()
		return s, true
	case throttle.CalendarWindow:
		s.algorithm = fixed
		return s, true
	case throttle.TokenBucket:
	}
	for _, rate := range []int64{3, 7, 20, 40, 80, 100, 333, 1501, 48_000} {
		b := perSecond(rate, x.Max())
		b.unit = x.Unit()
		if b.window() == x {
			return b, true
		}
	}
	return spec{}, false
}

// replacing has other windows in the place of those that are known.
func (w workshop) replacing(change func(s spec) spec) {
	w.demanding(func(d *quota.Demand) {
		eachWindow(d, func(x throttle.Window) throttle.Window {
			if s, ok := specOf(x); ok {
				return change(s).window()
			}
			return x
		})
	})
}

// refilling has buckets refill a unit in a multiple of grain.
func (w workshop) refilling(grain time.Duration, up int64) {
	w.replacing(func(s spec) spec {
		if s.algorithm == bucket && s.rate > 1 {
			units := int64(s.per / grain)
			if units%s.rate == 0 {
				return s
			}
			s.per, s.rate = time.Duration(max(1, units/s.rate+up))*grain, 1
		}
		return s
	})
}

// keying has each key kept once for each of what is said of its limits.
func (w workshop) keying(name func(l throttle.Limits) string) {
	w.demanding(func(d *quota.Demand) {
		if d.Key != "" {
			d.Key += name(d.Limits)
		}
	})
}

// frozen has a property of the first window of a key hold for ever.
func (w workshop) frozen(change func(s, first spec) spec) {
	var mu sync.Mutex
	seen := map[string]spec{}
	w.demanding(func(d *quota.Demand) {
		mu.Lock()
		defer mu.Unlock()
		eachWindow(d, func(x throttle.Window) throttle.Window {
			s, ok := specOf(x)
			if !ok {
				return x
			}
			key := d.Key + x.Unit().String()
			if _, ok := seen[key]; !ok {
				seen[key] = s
			}
			return change(s, seen[key]).window()
		})
	})
}
