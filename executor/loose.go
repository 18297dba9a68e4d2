package executor

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/inflight"
)

var _ inflight.Own = (*scope)(nil)

// Begin implements inflight.Own: the scope is the context of a call that needs no admission.
func (s *scope) Begin(free bool) error {
	t := s.task()
	t.loose = free
	t.begin(t.x.present(t.by), free && !t.observed && s.Err() == nil) // observers see the task before its call
	switch {
	case !t.inTurn:
		t.x.tellTask(t, event.TaskStarted, nil)
	case free:
		t.x.pass(t)
	}
	if t.life.attempts == 0 && s.Err() != nil {
		return context.Cause(s)
	}
	return nil
}

// Call implements inflight.Own.
func (s *scope) Call(ctx context.Context) error { return s.task().call(ctx) }

// Began implements inflight.Own.
func (s *scope) Began() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x.clock.At(s.life.times[Processing])
}

// Around implements inflight.Own.
func (s *scope) Around() context.Context { return around{s} }

// Leave implements inflight.Own.
func (s *scope) Leave(err error) inflight.Attempt {
	if err == nil && s.inside.CompareAndSwap(nil, s.x.past) { // the task is over, and nothing has looked at its scope
		return nil
	}
	in := s.made()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.found == nil && err != nil {
		in.found = s.loosely(false)
	}
	in.left = true
	return in.found
}

// find is the attempt of a call without admission.
func (s *scope) find() inflight.Attempt {
	in := s.made()
	if in == s.x.past {
		return s.loosely(true)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.found == nil {
		in.found = s.loosely(in.left)
	}
	return in.found
}

func (s *scope) loosely(over bool) inflight.Attempt {
	return inflight.Loosely(s.Around(), s.task().guard(), s.task().reserves(), over)
}

// around is the scope as it is without an attempt.
type around struct{ *scope }

// Value implements context.Context.
func (a around) Value(key any) any {
	switch {
	case inflight.Private(key):
		return (*watcher)(a.scope)
	case key == inflight.Key{}:
		return a.outer(key)
	}
	return a.scope.Value(key)
}
