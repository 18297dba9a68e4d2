package servicestore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/internal/promise"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

const (
	// mostMerged and mostWeight bound what is in one request: calls, and what their demands weigh. A message of that is well
	// below the 4 MiB that a server accepts.
	mostMerged = 256
	mostWeight = 4096
	// mostFlights is how many requests of a kind are under way at a time. The second one leaves when it has as many
	// callers as the first: what a request costs is shared.
	mostFlights = 2
	// mostLate is how many overdue requests are waited for, each for at most lateTime, which is the lease of the slots that a
	// guard takes.
	mostLate = 64
	lateTime = 30 * time.Second
)

// merger sends what several callers ask in one request.
type merger[Q, A any] struct {
	store  *Store
	weight func(Q) int
	send   func(ctx context.Context, list []Q) ([]A, error) // as many answers
	late   func(list []A)                                   // answers that no caller waits for; nil: ignored

	mu      sync.Mutex // guards everything below
	waiting []*caller[Q, A]
	flights int
	last    int // how many callers the last flight had
	overdue int // flights that have no callers any more

	served sync.Pool // callers that can be used again
}

// caller waits for an answer.
type caller[Q, A any] struct {
	*promise.Promise[A]
	question Q
	deadline time.Time
}

// ask returns the answer to q, which must not change. It returns when ctx ends, or after the timeout of the store.
func (m *merger[Q, A]) ask(ctx context.Context, q Q) (a A, err error) {
	c, err := m.join(q)
	if err != nil {
		return a, err
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		if c.Abandon() {
			return a, context.Cause(ctx)
		}
	}
	a, err = c.Take()
	var none Q
	c.question = none
	m.served.Put(c)
	return a, err
}

// join adds a caller, and starts a flight if there are few.
func (m *merger[Q, A]) join(q Q) (*caller[Q, A], error) {
	c, ok := m.served.Get().(*caller[Q, A])
	if !ok {
		c = &caller[Q, A]{Promise: promise.New[A]()}
	}
	c.question, c.deadline = q, time.Now().Add(m.store.timeout)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flights == 0 || m.flights < mostFlights && len(m.waiting)+1 >= m.last {
		if !m.store.background(m.fly) {
			return nil, errClosed
		}
		m.flights++
	}
	m.waiting = append(m.waiting, c)
	return c, nil
}

// fly serves callers until there are none, or until an answer is overdue.
func (m *merger[Q, A]) fly() {
	for {
		runtime.Gosched() // callers that are about to ask share the request
		callers, patient := m.next()
		if len(callers) == 0 {
			return
		}
		questions := make([]Q, len(callers))
		for i, c := range callers {
			questions[i] = c.question
		}
		// Flights end in time, so that the callers of the next one are not late either.
		deadline := callers[0].deadline
		if !patient || !time.Now().Before(deadline) {
			m.deliver(callers, m.sendBefore(deadline, questions))
			continue
		}
		// A server that was stopped carries out the request when it continues. Only its answer says what is to be given back.
		var settled atomic.Bool // delivered or overdue
		timer := time.AfterFunc(time.Until(deadline), func() {
			if settled.CompareAndSwap(false, true) {
				m.leave(callers)
			}
		})
		answers := m.sendBefore(deadline.Add(lateTime), questions)
		timer.Stop()
		if !settled.CompareAndSwap(false, true) {
			m.arrive(answers)
			return
		}
		m.deliver(callers, answers)
	}
}

// answered is the answers to a request, or why there are none.
type answered[A any] struct {
	list []A
	err  error
}

// deliver gives callers their answers.
func (m *merger[Q, A]) deliver(callers []*caller[Q, A], answers answered[A]) {
	var unwanted []A
	for i, c := range callers {
		var answer A
		if answers.err == nil {
			answer = answers.list[i]
		}
		if !c.Deliver(answer, answers.err) && answers.err == nil {
			unwanted = append(unwanted, answer)
		}
	}
	if len(unwanted) > 0 && m.late != nil {
		m.late(unwanted)
	}
}

// leave has the callers of a flight give up. Another flight takes its place.
func (m *merger[Q, A]) leave(callers []*caller[Q, A]) {
	m.mu.Lock()
	m.overdue++
	var rest []*caller[Q, A]
	if len(m.waiting) == 0 || !m.store.background(m.fly) {
		m.flights--
		rest, m.waiting = m.waiting, nil // the store is closed: there may be no other flight to serve them
	}
	m.mu.Unlock()
	m.deliver(callers, answered[A]{err: &UnavailableError{Problem: slow}})
	m.deliver(rest, answered[A]{err: errClosed})
}

// arrive is called with what became of a flight that is overdue.
func (m *merger[Q, A]) arrive(answers answered[A]) {
	m.mu.Lock()
	m.overdue--
	m.mu.Unlock()
	if answers.err == nil {
		m.late(answers.list)
	}
}

func (m *merger[Q, A]) sendBefore(deadline time.Time, questions []Q) (answers answered[A]) {
	defer panics.Catch(&answers.err)
	ctx, cancel := context.WithDeadline(m.store.life, deadline)
	defer cancel()
	answers.list, answers.err = m.send(ctx, questions)
	return answers
}

// next takes the callers of one request, and says whether its answer is waited for when it is overdue. Without callers the
// flight is over.
func (m *merger[Q, A]) next() (callers []*caller[Q, A], patient bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = slices.DeleteFunc(m.waiting, func(c *caller[Q, A]) bool { return c.Abandoned() })
	n, weight := 0, 0
	for n < min(len(m.waiting), mostMerged) {
		if weight += m.weight(m.waiting[n].question); weight > mostWeight && n > 0 {
			break
		}
		n++
	}
	callers = slices.Clone(m.waiting[:n])
	m.waiting = slices.Delete(m.waiting, 0, n)
	if n == 0 {
		m.flights--
	} else {
		m.last = n
	}
	return callers, m.late != nil && m.overdue+m.flights <= mostLate
}

func weightOf(t *pb.Ticket) (n int) {
	for _, d := range t.GetDemands() {
		n += weigh(d.GetKey(), len(d.GetWindows()))
	}
	return n
}

// weigh returns the weight of a demand: a window has some dozen bytes, and a key up to 1,024.
func weigh(key string, windows int) int {
	const bytes = 256 // of a key that weigh as much as a window
	return 1 + windows + len(key)/bytes
}
