package executor

import (
	"context"
	"sync"
	"time"
)

// scope is the context of a task that is worked on, by which what happens
// inside finds the task. It costs nothing until somebody wants to know when it ends.
//
// A call that waits for another task of its executor could wait for ever: all
// workers may be busy with calls that wait like this one. So it lends its own
// slot: who waits works on the task itself, if nobody else does. One at a
// time, since it is one slot.
type scope struct {
	parent context.Context //nolint:containedctx // it is a context
	of     *record

	mu     sync.Mutex      // guards everything below; taken after that of the task, never before
	inner  context.Context //nolint:containedctx // nil until somebody asks for its end
	cancel context.CancelCauseFunc
	over   bool          // the task has ended
	turn   chan struct{} // holds one while the slot is lent; nil until somebody asks
}

type scopeKey struct{}

// built is the context that can end before its parent does.
func (s *scope) built() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.builtLocked()
}

func (s *scope) builtLocked() context.Context {
	if s.inner == nil {
		s.inner, s.cancel = context.WithCancelCause(s.parent)
		if s.over {
			s.cancel(nil)
		}
	}
	return s.inner
}

// end ends the context because of cause. What hangs on it is told outside of the lock.
func (s *scope) end(cause error) {
	s.mu.Lock()
	s.builtLocked()
	cancel := s.cancel
	s.mu.Unlock()
	cancel(cause)
}

// close is end for a task that is over.
func (s *scope) close() {
	s.mu.Lock()
	s.over = true
	cancel := s.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

// Deadline is that of the parent.
func (s *scope) Deadline() (time.Time, bool) { return s.parent.Deadline() }

// Done is closed when the context ends.
func (s *scope) Done() <-chan struct{} { return s.built().Done() }

// Err is why, or nil.
func (s *scope) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.inner != nil:
		return s.inner.Err()
	case s.over:
		return context.Canceled
	}
	return s.parent.Err()
}

// Value makes the scope findable by scopeOf, and what ends it by package context.
func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	s.mu.Lock()
	inner := s.inner
	s.mu.Unlock()
	if inner == nil {
		inner = s.parent
	}
	return inner.Value(key)
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// lender is the turns at the slot of the innermost task of x that ctx is
// inside of; nil if there is none.
func (x *Executor) lender(ctx context.Context) chan struct{} {
	s := scopeOf(ctx)
	for s != nil && s.of.x != x {
		s = scopeOf(s.of.ctx) //nolint:contextcheck // it goes outwards
	}
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn = make(chan struct{}, 1)
	}
	return s.turn
}
