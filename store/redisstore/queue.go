package redisstore

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/quota"
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
	once sync.Once
	seed maphash.Seed

	mu     sync.Mutex // guards everything below
	shapes map[uint64][]*queue
	count  int
}

// queue is the callers that make one request.
type queue struct {
	shape   *shape
	waiting []*caller
	flights int

	batch    *batch // what was taken in advance; nil: nothing
	batching bool   // a flight is about to bring a batch
	want     int    // how many the next batch is to have
}

// batch is calls that were taken in advance, of which some are left.
type batch struct {
	grants []quota.Grant
	lapse  *time.Timer
}

// caller waits for a grant. It either gets one or leaves.
type caller struct {
	settled atomic.Bool
	done    chan struct{}
	grant   quota.Grant
	err     error
}

// take is a Take that may share a script with others. A caller that leaves gives back what it was granted.
func (q *queues) take(ctx context.Context, s *Store, r *quota.Request) (quota.Grant, error) {
	c := &caller{done: make(chan struct{})}
	if g, ok, err := q.join(s, r, c); ok || err != nil {
		return g, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.settled.CompareAndSwap(false, true) {
			return quota.Grant{}, context.Cause(ctx)
		}
		<-c.done
	}
	return c.grant, c.err
}

// join returns a grant that was taken in advance. If there is none, it adds c to the queue of its request and starts
// a flight if there are few.
func (q *queues) join(s *Store, r *quota.Request, c *caller) (g quota.Grant, ok bool, err error) {
	q.once.Do(func() { q.seed, q.shapes = maphash.MakeSeed(), map[uint64][]*queue{} })
	sum := q.sum(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.shapes[sum], func(o *queue) bool { return o.shape.equal(r) })
	if i < 0 {
		q.trimLocked()
		i = len(q.shapes[sum])
		q.shapes[sum] = append(q.shapes[sum], &queue{shape: newShape(s, &query{Request: *r})})
		q.count++
	}
	of := q.shapes[sum][i]
	if of.batch != nil {
		return of.popLocked(s.calls), true, nil
	}
	if of.flights < mostFlights {
		if !s.begin() {
			return g, false, wrap(errClosed)
		}
		of.flights++
		go q.fly(s, of)
	}
	of.waiting = append(of.waiting, c)
	return g, false, nil
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
			switch {
			case !c.settled.CompareAndSwap(false, true):
				if err == nil {
					unwanted = append(unwanted, grants[i])
				}
				continue
			case err != nil:
				c.err = err
			default:
				c.grant = grants[i]
			}
			close(c.done)
		}
		s.giveBack(unwanted)
	}
}

// next takes the callers of one flight from the queue, and says how many calls it is to take in advance. Without
// callers the flight is over.
func (q *queues) next(s *Store, of *queue) (callers []*caller, more int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of.waiting = slices.DeleteFunc(of.waiting, func(c *caller) bool { return c.settled.Load() })
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
	advance = slices.DeleteFunc(slices.Clone(advance), func(g quota.Grant) bool { return g.Wait > 0 })
	q.mu.Lock()
	defer q.mu.Unlock()
	of.batching = false
	if len(advance) == 0 {
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
	s.giveBack(left)
}

// drop gives back what was taken in advance from a key.
func (q *queues) drop(s *Store, key string) {
	var left []quota.Grant
	q.mu.Lock()
	for _, list := range q.shapes {
		for _, of := range list {
			if of.batch != nil && slices.ContainsFunc(of.shape.Demands, func(d quota.Demand) bool { return d.Key == key }) {
				of.batch.lapse.Stop()
				left = append(left, of.batch.grants...)
				of.batch = nil
			}
		}
	}
	q.mu.Unlock()
	s.giveBack(left)
}

// trimLocked forgets some queues without callers if there are many.
func (q *queues) trimLocked() {
	if q.count < mostIdle {
		return
	}
	looked := 0
	for sum, list := range q.shapes {
		kept := slices.DeleteFunc(list, func(o *queue) bool { return o.flights == 0 && o.batch == nil })
		q.count -= len(list) - len(kept)
		if q.shapes[sum] = kept; len(kept) == 0 {
			delete(q.shapes, sum)
		}
		if looked++; looked == 16 {
			return
		}
	}
}

func (q *queues) sum(r *quota.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(q.seed)
	maphash.WriteComparable(&h, r.Lease)
	for i := range r.Demands {
		d := &r.Demands[i]
		maphash.WriteComparable(&h, d.Key)
		maphash.WriteComparable(&h, d.Cost)
		maphash.WriteComparable(&h, d.Limits.Concurrency)
		for _, w := range d.Limits.Windows {
			maphash.WriteComparable(&h, w)
		}
	}
	return h.Sum64()
}

func (h *shape) leased() bool { return (quota.Ticket{Demands: h.Demands}).Leased() }

func (h *shape) equal(r *quota.Request) bool {
	return h.Lease == r.Lease && slices.EqualFunc(h.Demands, r.Demands, func(a, b quota.Demand) bool {
		return a.Key == b.Key && a.Cost == b.Cost && a.Limits.Concurrency == b.Limits.Concurrency &&
			slices.Equal(a.Limits.Windows, b.Limits.Windows)
	})
}
