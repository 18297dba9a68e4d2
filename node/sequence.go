package node

import (
	"context"
	"iter"
	"sync"

	"github.com/headrace/headrace/internal/panics"
)

// sequence is a source that reads an iterator in a goroutine of its own. It reads an item only if a worker is free to
// begin it at once and the outlet has room, so it is never ahead of the workers.
//
// One worker at a time is woken, and it wakes the next if there is more than it takes: most of a burst of short items
// is done by then.
type sequence[In any] struct {
	feed[In]

	unwatch func() bool // of the intake

	mu     sync.Mutex // guards everything below
	more   sync.Cond  // the reader waits on it until a worker is free, and stop until ended
	work   sync.Cond  // workers wait on it for an item
	ring   []item[In] // what was read and no worker has yet
	head   int        // in ring
	queued int        // in ring
	free   int        // workers without an item
	idle   int        // of these, the ones that wait on work or were just woken
	waking bool       // one is on its way
	full   bool       // the reader waits on more
	over   bool       // nothing more is read
	ending bool       // the iterator is being ended before its end
	ended  bool       // it has returned
	done   bool       // it came to its end
	failed error      // the panic that ended the reading
	err    error      // of its code
}

// pulled opens seq; nil has no items.
func pulled[In any](seq iter.Seq2[In, error]) opener[In] {
	if seq == nil {
		seq = Slice[In](nil)
	}
	return func(f feed[In]) source[In] {
		s := &sequence[In]{feed: f, ring: make([]item[In], f.workers)}
		s.more.L, s.work.L = &s.mu, &s.mu
		f.reading()
		s.unwatch = context.AfterFunc(f.intake, s.shut)
		go s.run(seq)
		return s
	}
}

func (s *sequence[In]) run(seq iter.Seq2[In, error]) {
	done, err := false, errGoexit // unless it returns
	defer func() {
		s.unwatch()
		s.end(done, err)
		s.read()
	}()
	done, err = s.all(seq)
}

// all reads seq. done reports that it came to its end.
func (s *sequence[In]) all(seq iter.Seq2[In, error]) (done bool, err error) {
	defer panics.Catch(&err)
	on := s.wanted()
	if !on {
		return false, nil
	}
	it := new(item[In])
	index := int64(0)
	seq(func(in In, err error) bool {
		if !on {
			return false
		}
		*it = item[In]{index: index, in: in, err: err}
		index++
		s.begin(it)
		s.put(it)
		on = s.wanted()
		return on
	})
	return on, nil
}

// put gives a worker an item.
func (s *sequence[In]) put(it *item[In]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring[(s.head+s.queued)%len(s.ring)] = *it
	s.queued++
	s.wakeLocked()
}

// wanted waits until another item may be read; false if none may any more.
func (s *sequence[In]) wanted() bool {
	if s.lacking() && (s.room == nil || s.room.reserve(s.intake)) && s.may() {
		return true
	}
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.shut() // not only the intake ends it
	return false
}

// lacking waits until a worker lacks an item.
func (s *sequence[In]) lacking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queued >= s.free && !s.over {
		s.full = true
		s.more.Wait()
	}
	return !s.over
}

// lackLocked wakes the reader if a worker lacks an item.
func (s *sequence[In]) lackLocked() {
	if s.full && s.queued < s.free {
		s.full = false
		s.more.Signal()
	}
}

func (s *sequence[In]) wakeLocked() {
	if s.queued > 0 && s.idle > 0 && !s.waking {
		s.waking = true
		s.work.Signal()
	}
}

// take returns what was read, also after the end of the intake: it has begun.
func (s *sequence[In]) take(it *item[In]) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	for s.queued == 0 && !s.over {
		s.lackLocked()
		s.idle++
		s.work.Wait()
		s.idle--
		s.waking = false
	}
	s.free--
	if s.queued == 0 {
		return false, s.failed
	}
	*it, s.ring[s.head] = s.ring[s.head], item[In]{}
	s.head = (s.head + 1) % len(s.ring)
	s.queued--
	s.lackLocked()
	s.wakeLocked()
	return true, nil
}

// shut ends the reading.
func (s *sequence[In]) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.full = true, false
	s.more.Broadcast()
	s.work.Broadcast()
}

func (s *sequence[In]) end(done bool, err error) {
	s.mu.Lock()
	if !s.over {
		s.failed = err
	}
	s.ended, s.done, s.err = true, done, err
	s.mu.Unlock()
	s.shut()
}

// stop waits until an iterator that is being ended has returned, but not for one that hangs, which ends when it next yields.
func (s *sequence[In]) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ending && !s.ended {
		s.more.Wait()
	}
	return s.err
}

func (s *sequence[In]) exhausted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}
