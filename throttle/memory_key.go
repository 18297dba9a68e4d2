package throttle

// memoryKey is what a MemoryStore knows of one key.
type memoryKey struct {
	name   string
	gauges []gauge
	cooled instant  // nobody takes before it
	slots  slotHeap // taken, the one that lapses first in front
}

// keyLocked is the key of d, made if there is none.
func (s *MemoryStore) keyLocked(now instant, d Demand) *memoryKey {
	k := s.keys[d.Key]
	if k == nil {
		k = &memoryKey{name: d.Key}
		s.keys[k.name] = k
		s.ring = append(s.ring, k)
	}
	if len(k.gauges) == 0 {
		k.gauges = s.gaugesLocked(now, k, d.Limits.Windows)
	}
	return k
}

// gaugesLocked is the gauges of k under these windows: its own, or others that
// inherit their history.
func (s *MemoryStore) gaugesLocked(now instant, k *memoryKey, windows []Window) []gauge {
	same := len(windows) == len(k.gauges)
	for i := 0; same && i < len(windows); i++ {
		same = k.gauges[i].Window == windows[i]
	}
	if same {
		return k.gauges
	}
	f := frame{base: s.clock.At(0)}
	gauges := make([]gauge, 0, len(windows))
	for i, w := range windows {
		g := f.gauge(w, s.seq)
		g.inherit(now, k.gauges, i)
		gauges = append(gauges, g)
	}
	return gauges
}

// boundLocked is what holds d back: a cooldown, a window or, when these let it
// go, a slot.
func (s *MemoryStore) boundLocked(now instant, k *memoryKey, gauges []gauge, d Demand) (b Bound) {
	if wait := k.cooled - now; wait > 0 {
		b = Bound{Kind: BoundByPause, Wait: wait}
	}
	a := d.Cost.amounts()
	for i := range gauges {
		g := &gauges[i]
		if n := a[g.unit]; n > 0 {
			if wait := g.meter.wait(now, n); wait > b.Wait {
				b = Bound{BoundByWindow, g.Window, wait}
			}
		}
	}
	if b.Wait > 0 || d.Limits.Concurrency == 0 {
		return b
	}
	s.lapseLocked(now, k)
	if len(k.slots) >= d.Limits.Concurrency {
		b = Bound{Kind: BoundByConcurrency, Wait: min(slotPoll, k.slots[0].lease.ends-now)}
	}
	return b
}

// later has g wait for b too, which holds back that demand. Of two that time
// ends the longer counts, and a slot only next to slots: one may be free by
// the time that the others let the call go.
func (g *Grant) later(demand int, b Bound) {
	slot, slots := b.Kind == BoundByConcurrency, g.Bound.Kind == BoundByConcurrency
	if b.Wait == 0 || slot == slots && b.Wait <= g.Wait || slot && !slots && g.Wait > 0 {
		return
	}
	g.Wait, g.Bound, g.Demand = b.Wait, b, demand
}

func (k *memoryKey) charge(now instant, c Cost) {
	a := c.amounts()
	for i := range k.gauges {
		if g := &k.gauges[i]; a[g.unit] > 0 {
			g.meter.take(now, a[g.unit])
		}
	}
}

// settleLocked corrects the windows of d to what was used.
func (s *MemoryStore) settleLocked(now instant, t Ticket, d Demand, reserved *amounts, used amounts) {
	if *reserved == used {
		return
	}
	k := s.keyLocked(now, d) // a key forgotten by now can still be debited
	for i := range k.gauges {
		g := &k.gauges[i]
		g.settle(now, t.Token, instant(t.At), reserved[g.unit]-used[g.unit])
	}
}

// sweepLocked looks at the next n keys and forgets those that a new one would
// not differ from. Twice as many as are used at a time: then no more idle keys
// stay than others were made meanwhile.
func (s *MemoryStore) sweepLocked(now instant, n int) {
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

func (s *MemoryStore) idleLocked(now instant, k *memoryKey) bool {
	s.lapseLocked(now, k)
	if len(k.slots) > 0 || k.cooled > now {
		return false
	}
	for i := range k.gauges {
		if k.gauges[i].meter.spent(now) > 0 {
			return false
		}
	}
	return true
}
