package quota

import (
	"slices"

	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/throttle"
)

// memoryKey is what a MemoryStore knows of one key.
type memoryKey struct {
	name string
	limited
	cooled instant  // no call is admitted before it
	used   instant  // the last time that a call asked for it
	slots  slotHeap // taken, the one that lapses first in front
}

// limited is limits with what was taken from their windows, in the same order.
type limited struct {
	limits throttle.Limits
	gauges meter.Gauges
}

// keyLocked returns the key of d, made if there is none.
func (s *memory) keyLocked(now instant, d *Demand) *memoryKey {
	k := s.keys[d.Key]
	if k == nil {
		for range 2 { // there may be more because of slots that are free now
			if len(s.ring) >= s.most {
				s.evictLocked(now)
			}
		}
		k = &memoryKey{name: d.Key, used: now}
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
	return limited{of, k.gauges.Succeed(now, tally.Windows(of.Windows), s.clock.At(0), s.seq)}
}

// boundLocked returns what holds d back under these limits: a cooldown, a
// window or, if none of them does, a slot.
func (s *memory) boundLocked(now instant, k *memoryKey, under limited, d *Demand) meter.Bound {
	a := tally.Amounts(d.Cost)
	b := under.gauges.Bound(now, k.cooled, &a)
	if b.Wait > 0 || d.Limits.Concurrency == 0 {
		return b
	}
	s.lapseLocked(now, k)
	if len(k.slots) >= d.Limits.Concurrency {
		b = meter.Bound{Kind: meter.BySlot, Wait: min(meter.SlotPoll, k.slots[0].lease.ends-now)}
	}
	return b
}

func (k *memoryKey) charge(now instant, c throttle.Cost) {
	a := tally.Amounts(c)
	k.gauges.Take(now, &a, 1)
}

// settleLocked corrects the windows of d to what was used.
func (s *memory) settleLocked(now instant, t *Ticket, d *Demand, reserved, used meter.Amounts) {
	if reserved == used {
		return
	}
	k := s.keyLocked(now, d) // a key that was forgotten can still be debited
	less := tally.Less(reserved, used)
	k.gauges.Settle(now, t.Token, instant(t.At), &less)
}

// sweepLocked looks at the next n keys and forgets those that do not differ
// from a new one. Called with twice the number of keys that are used at a time,
// it forgets idle keys faster than new ones are made.
func (s *memory) sweepLocked(now instant, n int) {
	for range min(n, len(s.ring)) {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		if s.idleLocked(now, s.ring[s.hand]) {
			s.dropLocked(s.hand)
		} else {
			s.hand++
		}
	}
}

// evictLocked forgets the least recently used key of a sample, of those with a history alone. The sample is spread over the
// ring, in which keys are next to each other that were made, and may all be in use, at the same time.
func (s *memory) evictLocked(now instant) {
	const sample = 16
	n, oldest := len(s.ring), -1
	for i := range min(sample, n) {
		at := (s.hand + i*max(1, n/sample)) % n
		k := s.ring[at]
		s.lapseLocked(now, k)
		if len(k.slots) == 0 && k.cooled <= now && (oldest < 0 || k.used < s.ring[oldest].used) {
			oldest = at
		}
	}
	s.hand++
	if oldest >= 0 {
		s.dropLocked(oldest)
	}
}

// dropLocked forgets the key at a place in the ring.
func (s *memory) dropLocked(at int) {
	end := len(s.ring) - 1
	delete(s.keys, s.ring[at].name)
	s.ring[at], s.ring[end] = s.ring[end], nil
	s.ring = s.ring[:end]
}

func (s *memory) idleLocked(now instant, k *memoryKey) bool {
	s.lapseLocked(now, k)
	return len(k.slots) == 0 && k.cooled <= now && k.gauges.Idle(now)
}
