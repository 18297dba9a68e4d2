package registry

import (
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/hook"
)

// sweeper forgets idle guards that were made from templates, or lent. It has no
// goroutine: callers of For do a little of the work each.
//
// A guard is forgotten in two steps. It leaves the registry when it has been
// idle and holds no state that limits anything. From then on its memory keeps
// what it has learned, and a weak pointer: for as long as a caller or another
// guard still holds the guard, For returns that one and never a second one.
type sweeper struct {
	uses atomic.Uint32 // of guards made from templates
	due  atomic.Int64  // visits that are to be made

	visiting sync.Mutex // held by the caller that makes the visits, before Registry.mu; guards next
	next     int        // in ring

	// Guarded by Registry.mu.
	ring   []*slot            // of guards made from templates
	memory map[string]*memory // by key
	queue  []*memory          // the oldest first, some of them no longer in memory
}

// memory is what is kept of a forgotten guard.
type memory struct {
	key   string
	saved []byte // by guard.Guard.Save; nil if it had learned nothing
	guard weak.Pointer[guard.Guard]
}

const (
	// mostUnused is how many guards are kept for the whole idle time of their template. Their names may come from outside,
	// such as the hosts of a crawl, and a guard takes about 4 KB, or 60 KB once it learns. With more of them, one that was
	// not used between two visits is forgotten, unless it holds calls back.
	mostUnused    = 4096
	mostMemories  = 16384 // saved states of about 145 bytes
	visitsOfAUse  = 4     // for each guard that is made, or for 16 times that one is asked for
	usesOfAVisit  = 16
	visitsAtATime = 64
)

// used notes that a caller asked for the guard of a template.
func (r *Registry) used(s *slot) {
	if !s.used.Load() {
		s.used.Store(true)
	}
	if r.sweep.uses.Add(1)%usesOfAVisit == 0 {
		r.visit()
	}
}

// visit looks at the next few guards. Of several callers one does the work.
func (r *Registry) visit() {
	w := &r.sweep
	w.due.Add(visitsOfAUse)
	if !w.visiting.TryLock() {
		return
	}
	defer w.visiting.Unlock()
	c := clock.New(r.clock)
	now := c.Now()
	for n := min(w.due.Swap(0), visitsAtATime); n > 0; n-- {
		s, guards := r.advance()
		if s == nil {
			return
		}
		if g := s.made.Load(); g != nil && s.idle(g, now, guards > mostUnused) {
			saved, _ := g.Save() // a law that cannot be saved begins anew
			r.forget(s, g, saved)
		}
	}
}

// advance returns the next slot of the ring, without those that have left the
// registry or were given a policy of their own, and how many there are.
func (r *Registry) advance() (s *slot, guards int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &r.sweep
	for len(w.ring) > 0 {
		if w.next++; w.next >= len(w.ring) {
			w.next = 0
		}
		s := w.ring[w.next]
		if r.slots[s.key] == s && !s.pinned {
			return s, len(w.ring)
		}
		last := len(w.ring) - 1
		w.ring[w.next], w.ring[last] = w.ring[last], nil
		w.ring = w.ring[:last]
	}
	return nil, 0
}

// idle reports whether the guard of s can be forgotten: it was not used for as
// long as its template says, or since the last visit if there are too many, and nothing that it has counted limits a call.
func (s *slot) idle(g *guard.Guard, now time.Time, crowded bool) bool {
	if !s.used.Load() && !crowded && now.Sub(s.since) < s.of.idle {
		return false
	}
	stats := g.Stats()
	if s.used.Swap(false) || stats.Admitted != s.admitted {
		s.since, s.admitted = now, stats.Admitted
		return false
	}
	return hook.Open[interface{ Idle() bool }](g).Idle()
}

// forget takes s out of the registry and keeps the memory of its guard, unless
// a caller has asked for it meanwhile.
func (r *Registry) forget(s *slot, g *guard.Guard, saved []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[s.key] != s || s.pinned || s.used.Load() {
		return
	}
	delete(r.slots, s.key)
	r.changes.Add(1)
	w, m := &r.sweep, &memory{s.key, saved, weak.Make(g)}
	w.memory[s.key] = m
	w.queue = append(w.queue, m)
	for range 2 { // so that it shrinks if a memory could not be dropped before
		if len(w.queue) <= mostMemories {
			return
		}
		oldest := w.queue[0]
		w.queue[0] = nil
		switch w.queue = w.queue[1:]; {
		case w.memory[oldest.key] != oldest:
		case oldest.guard.Value() != nil:
			w.queue = append(w.queue, oldest)
		default:
			delete(w.memory, oldest.key)
		}
	}
}

// recallLocked gives a new slot of a template what is remembered under its key.
func (r *Registry) recallLocked(s *slot) {
	w := &r.sweep
	m := w.memory[s.key]
	delete(w.memory, s.key)
	if !s.of.template {
		return
	}
	w.ring = append(w.ring, s)
	s.used.Store(true)
	if m == nil {
		return
	}
	if g := m.guard.Value(); g != nil {
		s.made.Store(g)
	} else {
		s.saved = m.saved
	}
}

// unlearn drops what forgotten guards had learned.
func (r *Registry) unlearn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sweep.memory {
		m.saved = nil
	}
}

// pin keeps the guard of s, which was given a policy of its own, from being
// forgotten. It returns false if that has happened already.
func (r *Registry) pin(s *slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.pinned = true
	return r.slots[s.key] == s
}

// keep pins the guard g, which was made for s and given a policy of its own by a caller that has it. If it was forgotten,
// it returns to the registry.
func (r *Registry) keep(s *slot, g *guard.Guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.slots[s.key]; now != nil {
		now.pinned = now.pinned || now.made.Load() == g
		return
	}
	if m := r.sweep.memory[s.key]; m == nil || m.guard.Value() != g { // it was removed
		return
	}
	delete(r.sweep.memory, s.key)
	again := &slot{key: s.key, of: s.of, pinned: true}
	again.made.Store(g)
	r.slots[s.key] = again
	r.changes.Add(1)
}
