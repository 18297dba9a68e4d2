package servicestore

import (
	"context"
	"runtime"
	"slices"
	"sync"
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

// fly serves callers until there are none.
func (m *merger[Q, A]) fly() {
	for {
		runtime.Gosched() // callers that are about to ask share the request
		callers := m.next()
		if len(callers) == 0 {
			return
		}
		questions := make([]Q, len(callers))
		for i, c := range callers {
			questions[i] = c.question
		}
		// Flights end in time, so that the callers of the next one are not late either.
		answers, err := m.sendBefore(callers[0].deadline, questions)
		var unwanted []A
		for i, c := range callers {
			var answer A
			if err == nil {
				answer = answers[i]
			}
			if !c.Deliver(answer, err) && err == nil {
				unwanted = append(unwanted, answer)
			}
		}
		if len(unwanted) > 0 && m.late != nil {
			m.late(unwanted)
		}
	}
}

func (m *merger[Q, A]) sendBefore(deadline time.Time, questions []Q) (answers []A, err error) {
	defer panics.Catch(&err)
	ctx, cancel := context.WithDeadline(m.store.life, deadline)
	defer cancel()
	return m.send(ctx, questions)
}

// next takes the callers of one request. Without callers the flight is over.
func (m *merger[Q, A]) next() []*caller[Q, A] {
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
	callers := slices.Clone(m.waiting[:n])
	m.waiting = slices.Delete(m.waiting, 0, n)
	if n == 0 {
		m.flights--
	} else {
		m.last = n
	}
	return callers
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
