// Package promise hands an answer to a caller that may give up waiting for it. The caller either takes the answer or
// abandons it, and the other side learns which, so that it can undo what the answer stands for.
package promise

import "sync/atomic"

// Promise is one answer, for one caller. New makes one; after Take it can be used again.
type Promise[A any] struct {
	settled atomic.Bool   // delivered or abandoned
	done    chan struct{} // has room for the one value
	answer  A
	err     error
}

// New returns a promise that is neither delivered nor abandoned.
func New[A any]() *Promise[A] {
	return &Promise[A]{done: make(chan struct{}, 1)}
}

// Deliver gives the answer to the caller. It returns false if the caller has abandoned the promise.
func (p *Promise[A]) Deliver(answer A, err error) bool {
	if !p.settled.CompareAndSwap(false, true) {
		return false
	}
	p.answer, p.err = answer, err
	p.done <- struct{}{}
	return true
}

// Done has a value for the caller when the answer is there.
func (p *Promise[A]) Done() <-chan struct{} { return p.done }

// Abandon gives up. It returns false if the answer came first: then Take returns it.
func (p *Promise[A]) Abandon() bool {
	if p.settled.CompareAndSwap(false, true) {
		return true
	}
	<-p.done
	return false
}

// Abandoned reports whether an undelivered promise was abandoned.
func (p *Promise[A]) Abandoned() bool { return p.settled.Load() }

// Take returns the answer, after a value of Done or after an Abandon that came too late. The promise is new again.
func (p *Promise[A]) Take() (answer A, err error) {
	answer, err = p.answer, p.err
	var none A
	p.answer, p.err = none, nil
	p.settled.Store(false)
	return answer, err
}
