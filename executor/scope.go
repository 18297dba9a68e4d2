package executor

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/inflight"
)

// scope is the context of a running task, through which code inside the call finds the task. It is the task itself under
// another type, and costs nothing until its end is asked for.
type scope record

func (t *record) scope() *scope { return (*scope)(t) }

func (s *scope) task() *record { return (*record)(s) }

// inside holds what the scopes of few tasks need.
//
// A call that waits for another task of its executor could block for ever: all workers may be busy with calls that wait like
// this one. So it lends its own slot: the waiting goroutine runs the task itself if no worker has it. It runs one at a time,
// since it has one slot.
type inside struct {
	parent context.Context //nolint:containedctx // it is part of one

	mu     sync.Mutex      // guards everything below; taken after that of the task, never before
	ctx    context.Context //nolint:containedctx // nil until its end is requested
	cancel context.CancelCauseFunc
	over   bool             // the task has ended
	left   bool             // its attempt without admission has
	found  inflight.Attempt // the attempt without admission; nil until first used
	turn   chan struct{}    // holds one while the slot is lent; nil until first used
}

// past returns the inside of a task that has ended.
func past() *inside {
	in := &inside{parent: context.Background(), over: true}
	in.built()
	return in
}

// built returns the context that can end before its parent does.
func (in *inside) built() (context.Context, context.CancelCauseFunc) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ctx == nil {
		in.ctx, in.cancel = context.WithCancelCause(in.parent)
		if in.over {
			in.cancel(nil)
		}
	}
	return in.ctx, in.cancel
}

// innermost returns the context as it is now.
func (in *inside) innermost() (ctx context.Context, over bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ctx == nil {
		return in.parent, in.over
	}
	return in.ctx, in.over
}

// close ends the context of a task that is over.
func (in *inside) close() {
	in.mu.Lock()
	in.over = true
	cancel := in.cancel
	in.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

type scopeKey struct{}

// made is the scope's inside.
func (s *scope) made() *inside {
	if in := s.inside.Load(); in != nil {
		return in
	}
	s.inside.CompareAndSwap(nil, &inside{parent: s.ctx})
	return s.inside.Load()
}

// end ends the context with cause. Dependent contexts are notified outside the lock.
func (s *scope) end(cause error) {
	_, cancel := s.made().built()
	cancel(cause)
}

// close is end for a task that is over.
func (s *scope) close() {
	if in := s.inside.Load(); in != s.x.past && !s.inside.CompareAndSwap(nil, s.x.past) {
		s.inside.Load().close()
	}
}

// Deadline is that of the parent.
func (s *scope) Deadline() (time.Time, bool) {
	if in := s.inside.Load(); in != nil && in != s.x.past {
		return in.parent.Deadline()
	}
	return s.ctx.Deadline()
}

// Done is closed when the context ends.
func (s *scope) Done() <-chan struct{} {
	ctx, _ := s.made().built()
	return ctx.Done()
}

// Err is why, or nil.
func (s *scope) Err() error {
	in := s.inside.Load()
	if in == nil {
		return s.ctx.Err()
	}
	ctx, over := in.innermost()
	if err := ctx.Err(); err != nil || !over {
		return err
	}
	return context.Canceled
}

// Value makes the scope visible to scopeOf, its attempt to package guard, and its end to package context.
func (s *scope) Value(key any) any {
	switch {
	case key == scopeKey{}:
		return s
	case inflight.Private(key):
		if s.loose {
			return nil
		}
		return (*watcher)(s) // its guard reports the progress of the call to the task
	case key == inflight.Key{} && s.loose:
		return s.find()
	}
	return s.outer(key)
}

// outer is the value of what the scope is in.
func (s *scope) outer(key any) any {
	in := s.inside.Load()
	if in == nil {
		return s.ctx.Value(key)
	}
	ctx, _ := in.innermost()
	v := ctx.Value(key)
	if v == nil && in == s.x.past {
		return s.ctx.Value(key)
	}
	return v
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}
