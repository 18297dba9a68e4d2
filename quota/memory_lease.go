package quota

import (
	"container/heap"
	"slices"
)

// memoryLease is a slot of each of some keys.
type memoryLease struct {
	id    string
	ends  instant // it has lapsed from this instant on
	slots []*slot
	lost  bool // a key with a slot of it was forgotten
}

type slot struct {
	lease *memoryLease
	key   *memoryKey
	place int // in the key's heap
}

func (l *memoryLease) hold(k *memoryKey) {
	h := &slot{lease: l, key: k}
	l.slots = append(l.slots, h)
	heap.Push(&k.slots, h)
}

func (l *memoryLease) end() {
	for _, h := range l.slots {
		heap.Remove(&h.key.slots, h.place)
	}
}

func (l *memoryLease) renew(ends instant) {
	l.ends = ends
	for _, h := range l.slots {
		heap.Fix(&h.key.slots, h.place)
	}
}

// slotHeap is the slots of one key, for container/heap.
type slotHeap []*slot

// Len is for heap.Interface, as are the others.
func (h *slotHeap) Len() int           { return len(*h) }
func (h *slotHeap) Less(i, j int) bool { return (*h)[i].lease.ends < (*h)[j].lease.ends }

func (h *slotHeap) Swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

func (h *slotHeap) Push(x any) {
	if s, ok := x.(*slot); ok {
		s.place = len(*h)
		*h = append(*h, s)
	}
}

func (h *slotHeap) Pop() any {
	end := len(*h) - 1
	s := (*h)[end]
	(*h)[end] = nil
	*h = (*h)[:end]
	return s
}

// lapseLocked ends the lapsed leases on k, with their slots of other keys.
func (s *memory) lapseLocked(now instant, k *memoryKey) {
	for len(k.slots) > 0 && k.slots[0].lease.ends <= now {
		s.endLocked(k.slots[0].lease)
	}
}

func (s *memory) endLocked(l *memoryLease) {
	l.end()
	delete(s.leases, l.id)
}

// loseLocked frees the slot of a key that is forgotten. Its lease is lost, but keeps its other slots until it is asked for.
func (s *memory) loseLocked(h *slot) {
	l := h.lease
	heap.Remove(&h.key.slots, h.place)
	l.lost = true
	if l.slots = slices.DeleteFunc(l.slots, func(other *slot) bool { return other == h }); len(l.slots) == 0 {
		delete(s.leases, l.id)
	}
}

// leaseLocked is the lease of t; nil if it was lost, and then its slots are free.
func (s *memory) leaseLocked(now instant, t Ticket) *memoryLease {
	l := s.leases[t.ID]
	if l == nil {
		return nil
	}
	if l.ends <= now || l.lost {
		s.endLocked(l)
		return nil
	}
	return l
}
