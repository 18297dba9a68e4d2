package node

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/headrace/headrace/internal/panics"
)

// sequence is a source that pulls from an iterator, one worker at a time. The
// turn is a channel and no mutex, because the iterator is user code that may
// block: a worker that waits for it can still be stopped.
type sequence[In any] struct {
	begin   func(*item[In])
	turn    chan struct{} // holds one while a worker has it
	next    func() (In, error, bool)
	end     func()
	index   int64
	inside  atomic.Bool // a worker is in next, or was ended in there by a panic or runtime.Goexit
	done    atomic.Bool
	stopped atomic.Bool
}

// pulled opens seq; nil has no items.
func pulled[In any](seq iter.Seq2[In, error]) opener[In] {
	if seq == nil {
		seq = Slice[In](nil)
	}
	return func(begin func(*item[In])) source[In] { return pull(seq, begin) }
}

func pull[In any](seq iter.Seq2[In, error], begin func(*item[In])) *sequence[In] {
	next, end := iter.Pull2(func(yield func(In, error) bool) {
		var panicked error
		defer func() {
			if panicked != nil {
				panic(panicked) // with its stack, which ends with this goroutine
			}
		}()
		defer panics.Catch(&panicked)
		seq(yield)
	})
	return &sequence[In]{begin: begin, turn: make(chan struct{}, 1), next: next, end: end}
}

func (s *sequence[In]) take(ctx context.Context, it *item[In]) (ok bool, err error) {
	if !enter(ctx, s.turn) {
		return false, nil
	}
	defer s.pass()
	defer panics.Catch(&err)
	if s.inside.Load() || s.done.Load() || ctx.Err() != nil {
		return false, nil
	}
	s.inside.Store(true)
	it.in, it.err, ok = s.next()
	s.inside.Store(false)
	if !ok {
		s.done.Store(true)
		return false, nil
	}
	it.index = s.index
	s.index++
	s.begin(it)
	return true, nil
}

// pass gives the turn to the next. An iterator that hung while the source was
// stopped is ended now.
func (s *sequence[In]) pass() {
	<-s.turn
	if s.stopped.Load() {
		_ = s.stop() // the run has ended: its error has no receiver
	}
}

// stop leaves it to pass while a worker is inside the iterator. The caller that ends
// it keeps the turn, so that no other follows.
func (s *sequence[In]) stop() (err error) {
	defer panics.Catch(&err)
	s.stopped.Store(true)
	select {
	case s.turn <- struct{}{}:
		s.end()
	default:
	}
	return nil
}

func (s *sequence[In]) exhausted() bool { return s.done.Load() }

// enter puts one into places, which is bounded; false if ctx ended before
// there was room.
func enter(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}: // cheaper than to look at two channels
		return true
	default:
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
