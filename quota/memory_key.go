package quota

import (
	"slices"

	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/throttle"
)

// memoryKey is what a MemoryStore knows of one key.
type memoryKey struct {
	name string
	limited
	cooled instant  // no call is admitted before it
	slots  slotHeap // taken, the one that lapses first in front
}

// limited is limits with what was taken from their windows, in the same order.
type limited struct {
	limits throttle.Limits
	gauges []meter.Gauge
}

// keyLocked returns the key of d, made if there is none.
func (s *memory) keyLocked(now instant, d *Demand) *memoryKey {
	k := s.keys[d.Key]
	if k == nil {
		k = &memoryKey{name: d.Key}
		s.keys[k.name] = k
		s.ring = append(s.ring, k)
	}
	if len(k.gauges) == 0 {
		k.limited = s.underLocked(now, k, d.Limits)
	}
	return k
}

// underLocked returns what k has to count under these limits: what it has
// counted so far, or other gauges that inherit the history.
func (s *memory) underLocked(now instant, k *memoryKey, of throttle.Limits) limited {
	if slices.Equal(k.limits.Windows, of.Windows) {
		same := k.limited
		same.limits.Concurrency = of.Concurrency
		return same
	}
	of.Windows = slices.Clone(of.Windows)
	gauges := make([]meter.Gauge, len(of.Windows))
	for i, w := range of.Windows {
		gauges[i] = meter.New(plain(w), s.clock.At(0), 0, s.seq)
		gauges[i].Inherit(now, k.gauges, i)
	}
	return limited{of, gauges}
}

// boundLocked returns what holds d back under these limits: a cooldown, a
// window or, if none of them does, a slot.
func (s *memory) boundLocked(now instant, k *memoryKey, under limited, d *Demand) (b throttle.Bound) {
	if wait := k.cooled - now; wait > 0 {
		b = throttle.Bound{Kind: throttle.BoundByPause, Wait: wait}
	}
	a := amountsOf(d.Cost)
	for i := range under.gauges {
		g := &under.gauges[i]
		if n := a[g.Unit]; n > 0 {
			if wait := g.Wait(now, n); wait > b.Wait {
				b = throttle.Bound{Kind: throttle.BoundByWindow, Window: under.limits.Windows[i], Wait: wait}
			}
		}
	}
	if b.Wait > 0 || d.Limits.Concurrency == 0 {
		return b
	}
	s.lapseLocked(now, k)
	if len(k.slots) >= d.Limits.Concurrency {
		b = throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: min(slotPoll, k.slots[0].lease.ends-now)}
	}
	return b
}

// later makes g wait for b too, which holds back that demand. Of windows and
// cooldowns the longest counts. A slot counts only if nothing else is missing:
// it may be free by the time that the others admit the call.
func (g *Grant) later(demand int, b throttle.Bound) {
	slot, slots := b.Kind == throttle.BoundByConcurrency, g.Bound.Kind == throttle.BoundByConcurrency
	if b.Wait == 0 || slot == slots && b.Wait <= g.Wait || slot && !slots && g.Wait > 0 {
		return
	}
	g.Wait, g.Bound, g.Demand = b.Wait, b, demand
}

func (k *memoryKey) charge(now instant, c throttle.Cost) {
	a := amountsOf(c)
	for i := range k.gauges {
		if g := &k.gauges[i]; a[g.Unit] > 0 {
			g.Take(now, a[g.Unit])
		}
	}
}

// settleLocked corrects the windows of d to what was used.
func (s *memory) settleLocked(now instant, t *Ticket, d *Demand, reserved, used amounts) {
	if reserved == used {
		return
	}
	k := s.keyLocked(now, d) // a key that was forgotten can still be debited
	for i := range k.gauges {
		g := &k.gauges[i]
		g.Settle(now, t.Token, instant(t.At), reserved[g.Unit]-used[g.Unit])
	}
}

// sweepLocked looks at the next n keys and forgets those that do not differ
// from a new one. Called with twice the number of keys that are used at a time,
// it forgets idle keys faster than new ones are made.
func (s *memory) sweepLocked(now instant, n int) {
	for range min(n, len(s.ring)) {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		k := s.ring[s.hand]
		if !s.idleLocked(now, k) {
			s.hand++
			continue
		}
		end := len(s.ring) - 1
		s.ring[s.hand], s.ring[end] = s.ring[end], nil
		s.ring = s.ring[:end]
		delete(s.keys, k.name)
	}
}

func (s *memory) idleLocked(now instant, k *memoryKey) bool {
	s.lapseLocked(now, k)
	if len(k.slots) > 0 || k.cooled > now {
		return false
	}
	for i := range k.gauges {
		if k.gauges[i].Spent(now) > 0 {
			return false
		}
	}
	return true
}
