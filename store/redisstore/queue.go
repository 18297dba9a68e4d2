package redisstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/promise"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

const (
	// mostMerged is how many equal requests one script takes at most.
	mostMerged = 256
	// mostFlights is how many scripts of one shape are under way at a time: the next one is on its way while Redis
	// answers the first, and callers that come meanwhile share it.
	mostFlights = 2
	// mostIdle is how many queues are kept for requests that are made again.
	mostIdle = 1024
)

// queues merges equal requests. The zero value is ready for use.
type queues struct {
	mu     sync.Mutex // guards everything below
	shapes map[outline][]*queue
	count  int

	served sync.Pool // callers that can be used again
}

// outline is where requests are mostly different.
type outline struct {
	key     string // of the first demand
	cost    throttle.Cost
	demands int
}

// queue is the callers that make one request.
type queue struct {
	shape   *shape
	waiting []*caller
	flights int

	batch    *batch // what was taken in advance; nil: nothing
	batching bool   // a flight is about to bring a batch
	late     bool   // it is to be given back: there is a cooldown since
	want     int    // how many the next batch is to have
}

// batch is calls that were taken in advance, of which some are left.
type batch struct {
	grants []quota.Grant
	lapse  *time.Timer
}

// caller waits for a grant.
type caller struct {
	*promise.Promise[quota.Grant]
	timeout *time.Timer
}

func (q *queues) caller(timeout time.Duration) *caller {
	c, ok := q.served.Get().(*caller)
	if !ok {
		return &caller{promise.New[quota.Grant](), time.NewTimer(timeout)}
	}
	c.timeout.Reset(timeout)
	return c
}

// take is a Take that may share a script with others. A caller that leaves gives back what it was granted.
func (q *queues) take(ctx context.Context, s *Store, r *quota.Request) (quota.Grant, error) {
	g, c, err := q.join(s, r)
	if c == nil {
		return g, err
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		if c.Abandon() {
			c.timeout.Stop()
			return g, context.Cause(ctx)
		}
	case <-c.timeout.C:
		if c.Abandon() {
			return g, wrap(errSlow)
		}
	}
	c.timeout.Stop()
	g, err = c.Take()
	q.served.Put(c)
	return g, err
}

// join returns a grant that was taken in advance. If there is none, it adds a caller to the queue of its request and
// starts a flight if there are few.
func (q *queues) join(s *Store, r *quota.Request) (g quota.Grant, c *caller, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.findLocked(s, r)
	if of.batch != nil {
		return of.popLocked(s.calls), nil, nil
	}
	if of.flights < mostFlights {
		if !s.begin() {
			return g, nil, wrap(errClosed)
		}
		of.flights++
		go q.fly(s, of)
	}
	c = q.caller(s.timeout)
	of.waiting = append(of.waiting, c)
	return g, c, nil
}

// findLocked returns the queue of a request.
func (q *queues) findLocked(s *Store, r *quota.Request) *queue {
	at := outline{r.Demands[0].Key, r.Demands[0].Cost, len(r.Demands)}
	for _, of := range slices.Backward(q.shapes[at]) { // limits that have changed come last
		if of.shape.equal(r) {
			return of
		}
	}
	q.trimLocked()
	if q.shapes == nil {
		q.shapes = map[outline][]*queue{}
	}
	of := &queue{shape: newShape(s, &query{Request: *r})}
	q.shapes[at] = append(q.shapes[at], of)
	q.count++
	return of
}

// popLocked is a grant of the batch. If it was the last one, the next batch has more.
func (of *queue) popLocked(most int) quota.Grant {
	b := of.batch
	end := len(b.grants) - 1
	g := b.grants[end]
	b.grants = b.grants[:end]
	if end == 0 {
		b.lapse.Stop()
		of.batch, of.want = nil, min(2*of.want, most)
	}
	return g
}

// fly serves the callers of a queue until there are none.
func (q *queues) fly(s *Store, of *queue) {
	defer s.wg.Done()
	for {
		runtime.Gosched() // callers that are about to ask share the script
		callers, more := q.next(s, of)
		if len(callers) == 0 {
			return
		}
		grants, err := s.takeSome(s.life, of.shape, len(callers)+more, s.giveBack)
		if more > 0 {
			var advance []quota.Grant
			if err == nil {
				advance = grants[len(callers):]
			}
			q.keep(s, of, advance)
		}
		var unwanted []quota.Grant
		for i, c := range callers {
			var g quota.Grant
			if err == nil {
				g = grants[i]
			}
			if !c.Deliver(g, err) && err == nil {
				unwanted = append(unwanted, g)
			}
		}
		if len(unwanted) > 0 {
			s.background(func() { s.giveBack(unwanted) })
		}
	}
}

// next takes the callers of one flight from the queue, and says how many calls it is to take in advance. Without
// callers the flight is over.
func (q *queues) next(s *Store, of *queue) (callers []*caller, more int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of.waiting = slices.DeleteFunc(of.waiting, func(c *caller) bool { return c.Abandoned() })
	n := min(len(of.waiting), mostMerged)
	callers = slices.Clone(of.waiting[:n])
	of.waiting = slices.Delete(of.waiting, 0, n)
	if n == 0 {
		of.flights--
	} else if s.calls > 0 && of.batch == nil && !of.batching && !of.shape.leased() {
		of.batching, of.want = true, max(1, of.want)
		more = of.want
	}
	return callers, more
}

// keep puts what was granted in advance into the queue, until it is used or lapses.
func (q *queues) keep(s *Store, of *queue, advance []quota.Grant) {
	if i := slices.IndexFunc(advance, func(g quota.Grant) bool { return g.Wait > 0 }); i >= 0 {
		advance = advance[:i] // the rest was refused
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	late := of.late
	of.batching, of.late = false, false
	switch {
	case len(advance) == 0:
		return
	case late:
		s.background(func() { s.giveBack(advance) })
		return
	}
	b := &batch{grants: advance}
	b.lapse = time.AfterFunc(s.hold, func() { q.lapse(s, of, b) })
	of.batch = b
}

// lapse gives back what is left of a batch. The next one has fewer.
func (q *queues) lapse(s *Store, of *queue, b *batch) {
	q.mu.Lock()
	left := b.grants
	if of.batch != b {
		left = nil
	} else {
		of.batch, of.want = nil, max(1, of.want/2)
	}
	q.mu.Unlock()
	s.background(func() { s.giveBack(left) })
}

// drop gives back what was taken in advance from a key.
func (q *queues) drop(s *Store, key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, list := range q.shapes {
		for _, of := range list {
			if !slices.ContainsFunc(of.shape.Demands, func(d quota.Demand) bool { return d.Key == key }) {
				continue
			}
			of.late = of.batching
			if b := of.batch; b != nil {
				b.lapse.Stop()
				s.background(func() { s.giveBack(b.grants) })
				of.batch = nil
			}
		}
	}
}

// trimLocked forgets some queues without callers if there are many.
func (q *queues) trimLocked() {
	if q.count < mostIdle {
		return
	}
	looked := 0
	for at, list := range q.shapes {
		kept := slices.DeleteFunc(list, func(o *queue) bool { return o.flights == 0 && o.batch == nil })
		q.count -= len(list) - len(kept)
		if q.shapes[at] = kept; len(kept) == 0 {
			delete(q.shapes, at)
		}
		if looked++; looked == 16 {
			return
		}
	}
}

func (h *shape) leased() bool { return (quota.Ticket{Demands: h.Demands}).Leased() }

func (h *shape) equal(r *quota.Request) bool {
	if h.Lease != r.Lease || len(h.Demands) != len(r.Demands) {
		return false
	}
	for i := range h.Demands {
		a, b := &h.Demands[i], &r.Demands[i]
		if a.Key != b.Key || a.Cost != b.Cost || a.Limits.Concurrency != b.Limits.Concurrency ||
			!slices.Equal(a.Limits.Windows, b.Limits.Windows) {
			return false
		}
	}
	return true
}
