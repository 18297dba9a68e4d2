package node

import (
	"context"
	"iter"
	"sync/atomic"
)

// item is one piece of work, taken from the input.
type item[In any] struct {
	index int64
	in    In
	err   error // the input failed to produce it
}

// source gives the workers their items. An item's index is given out, and
// begin is called with it, in the order of the input.
type source[In any] interface {
	// take returns false at the end of the input, and when ctx ends.
	take(ctx context.Context, begin func(item[In])) (item[In], bool)
	// stop releases the source; a panic of its code is the error.
	stop() error
	// exhausted reports whether all of the input was taken.
	exhausted() bool
}

// sequence is a source that pulls from an iterator, one worker at a time. The
// turn is a channel and no mutex, because the iterator is user code that may
// block: a worker that waits for it can still be stopped.
type sequence[In any] struct {
	turn    chan struct{}
	next    func() (In, error, bool)
	end     func()
	index   int64
	inside  atomic.Bool // somebody is in next, or was ended in there by a panic or runtime.Goexit
	done    atomic.Bool
	stopped atomic.Bool
}

// pulled makes a source of seq; nil has no items.
func pulled[In any](seq iter.Seq2[In, error]) source[In] {
	if seq == nil {
		seq = Slice[In](nil)
	}
	next, end := iter.Pull2(func(yield func(In, error) bool) {
		var panicked error
		defer func() {
			if panicked != nil {
				panic(panicked) // with its stack, which ends with this goroutine
			}
		}()
		defer caught(&panicked)
		seq(yield)
	})
	s := &sequence[In]{turn: make(chan struct{}, 1), next: next, end: end}
	s.turn <- struct{}{}
	return s
}

func (s *sequence[In]) take(ctx context.Context, begin func(item[In])) (item[In], bool) {
	select {
	case <-s.turn:
	default:
		select {
		case <-s.turn:
		case <-ctx.Done():
			return item[In]{}, false
		}
	}
	defer s.pass()
	if s.inside.Load() || s.done.Load() || ctx.Err() != nil {
		return item[In]{}, false
	}
	s.inside.Store(true)
	in, err, ok := s.next()
	s.inside.Store(false)
	if !ok {
		s.done.Store(true)
		return item[In]{}, false
	}
	it := item[In]{s.index, in, err}
	s.index++
	begin(it)
	return it, true
}

// pass gives the turn to the next. An iterator that hung while the source was
// stopped is ended now.
func (s *sequence[In]) pass() {
	s.turn <- struct{}{}
	if s.stopped.Load() {
		_ = s.stop() // nobody is there to hear of it
	}
}

// stop leaves it to pass while somebody is inside the iterator. Whoever ends
// it keeps the turn, so that nobody comes after.
func (s *sequence[In]) stop() (err error) {
	defer caught(&err)
	s.stopped.Store(true)
	select {
	case <-s.turn:
		s.end()
	default:
	}
	return nil
}

func (s *sequence[In]) exhausted() bool { return s.done.Load() }
