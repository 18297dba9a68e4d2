package line

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/intake"
)

// line is what waits for one guard. Of the turns in its order at most one asks
// the guard for admission. While none waits, calls ask without an order, and join
// it when they have to wait. All methods need the lock of lines.
type line struct {
	lines   *Lines
	name    string
	order   order
	asking  *turn // if nil, the order is empty, unless held
	loose   int   // turns that ask without an order
	held    bool  // the queue of the guard is full of these, which are not in line yet
	turns   int   // that have begun and not ended: the line is in use
	fresh   int   // in the order, that wait for their first admission
	clients map[string]*client
	busy    int // clients that wait
	recent  recent
	last    time.Duration // when it was used last
}

// client is a client in a line.
type client struct {
	flows    [classes]flow
	waiting  int
	admitted int64
	last     time.Duration // when it was used last
}

// of returns the line of a name.
func (l *Lines) of(name string) *line {
	n := l.lines[name]
	if n == nil {
		if len(l.lines)-l.busy >= 2*mostIdle {
			oldest(l.lines, mostIdle, func(n *line) (time.Duration, bool) { return n.last, n.turns == 0 })
		}
		n = &line{lines: l, name: name, clients: map[string]*client{}}
		l.lines[name] = n
	}
	return n
}

// oldest deletes what is idle from all, but for the most that were used last.
func oldest[T any](all map[string]T, most int, idle func(T) (last time.Duration, yes bool)) {
	type entry struct {
		name string
		last time.Duration
	}
	var found []entry
	for name, v := range all {
		if last, yes := idle(v); yes {
			found = append(found, entry{name, last})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return cmp.Compare(a.last, b.last) })
	for _, e := range found[:max(0, len(found)-most)] {
		delete(all, e.name)
	}
}

// client returns the client of a name.
func (n *line) client(name string, now time.Duration) *client {
	c := n.clients[name]
	if c == nil {
		if len(n.clients)-n.busy >= 2*mostIdle {
			oldest(n.clients, mostIdle, func(c *client) (time.Duration, bool) { return c.last, c.waiting == 0 })
		}
		c = new(client)
		n.clients[strings.Clone(name)] = c // name may be a piece of a long header
	}
	c.last = now
	return c
}

// join puts t in line, or returns why it cannot.
func (n *line) join(t *turn, now time.Duration) error {
	first := !t.ticket.admitted.Load()
	caller := &t.ticket.caller
	t.client = n.client(caller.Client, now)
	if first && n.fresh >= n.lines.maxQueue {
		full := &FullError{n.name, n.order.len(), n.retryAfter(now)}
		other := n.displaced(t.client, caller.Priority)
		if other == nil {
			return full
		}
		n.leave(other, false)
		other.err = full
		other.tell()
	}
	if t.client.waiting++; t.client.waiting == 1 {
		n.busy++
	}
	if t.fresh = first; first {
		n.fresh++
	}
	t.item = item{turn: t, priority: caller.Priority, share: caller.share()}
	n.order.add(&t.client.flows[caller.Priority], &t.item)
	n.lines.waiting.add(t)
	n.lines.arm(now)
	return nil
}

// displaced is the call that makes room in a full line for one of c, or nil. An
// interactive call takes the place of the newest one of Batch of its own client. A
// client that has less than an even part of the line takes the place of the newest
// call of the client with the most, so that no client keeps the others out.
func (n *line) displaced(c *client, p Priority) *turn {
	if p == Interactive {
		if t := n.newest(c, Batch); t != nil {
			return t
		}
	}
	parts := n.busy
	if c.waiting == 0 {
		parts++
	}
	if (c.waiting+1)*parts > n.order.len() {
		return nil
	}
	most := c
	for _, other := range n.clients {
		if other.waiting > most.waiting {
			most = other
		}
	}
	if t := n.newest(most, Batch); t != nil {
		return t
	}
	return n.newest(most, Interactive)
}

// newest is the last call of a client that waits for its first admission and does
// not ask for it, or nil.
func (n *line) newest(c *client, p Priority) *turn {
	for it := c.flows[p].last; it != nil; it = it.prev {
		if t := it.turn; t.fresh && t.ask == nil && n.asking != t {
			return t
		}
	}
	return nil
}

// leave takes t, which is in line, out of it.
func (n *line) leave(t *turn, admitted bool) {
	if admitted {
		n.order.admit(&t.item)
	} else {
		n.order.remove(&t.item)
	}
	if t.client.waiting--; t.client.waiting == 0 {
		n.busy--
	}
	if t.fresh {
		n.fresh--
	}
	n.lines.waiting.remove(t)
}

// choose has the head of the order ask, as soon as no other turn does. What it
// returns is called without the lock.
func (n *line) choose() (recall func()) {
	head := n.order.head()
	if head == nil || n.asking == head.turn {
		return nothing
	}
	a := n.asking
	if a == nil && n.held {
		return nothing
	}
	if a == nil || a.ask == nil { // one that was chosen may not know of it yet
		n.asking = head.turn
		head.turn.tell()
		return nothing
	}
	if a.recalled {
		return nothing
	}
	a.recalled = true
	ask := a.ask
	return func() { n.lines.end(a, ask, intake.ErrOutranked) }
}

func nothing() {}

// hold has the line wait for a turn that asks without an order, for patience at most.
func (n *line) hold() {
	if n.held || n.asking != nil {
		return
	}
	n.held = true
	n.lines.clock.AfterFunc(patience, func() {
		n.lines.mu.Lock()
		n.held = false
		recall := n.choose()
		n.lines.mu.Unlock()
		recall()
	})
}

// settle notes that a turn does not ask without an order any more.
func (n *line) settle(t *turn) {
	if t.loose {
		t.loose, n.held = false, false
		n.loose--
	}
}

// retryAfter is how long those that wait are expected to take.
func (n *line) retryAfter(now time.Duration) time.Duration {
	most := n.lines.maxWait
	wait := most
	if each, ok := n.recent.interval(now, most); ok {
		wait = time.Duration(min(float64(each)*float64(n.order.len()), float64(most)))
	}
	return min(max(wait, time.Second), most)
}

// recent are the times of the last admissions.
type recent struct {
	at   [32]time.Duration
	next int
	len  int
}

func (r *recent) add(now time.Duration) {
	r.at[r.next] = now
	r.next = (r.next + 1) % len(r.at)
	r.len = min(r.len+1, len(r.at))
}

// interval is the mean time from one admission to the next in the last span; false
// if there was none.
func (r *recent) interval(now, span time.Duration) (mean time.Duration, ok bool) {
	n := 0
	first := now
	for ; n < r.len; n++ {
		at := r.at[(r.next-1-n+len(r.at))%len(r.at)]
		if now-at > span {
			break
		}
		first = at
	}
	if n == 0 {
		return 0, false
	}
	return (now - first) / time.Duration(max(1, n-1)), true
}

// arrivals are the turns that wait, the first to arrive first.
type arrivals struct{ first, last *turn }

func (a *arrivals) add(t *turn) {
	after := a.last
	for after != nil && after.since > t.since { // few have asked the guard first
		after = after.earlier
	}
	t.earlier, t.later, t.listed = after, a.first, true
	if after != nil {
		t.later, after.later = after.later, t
	} else {
		a.first = t
	}
	if t.later != nil {
		t.later.earlier = t
	} else {
		a.last = t
	}
}

func (a *arrivals) remove(t *turn) {
	if !t.listed {
		return
	}
	if t.earlier != nil {
		t.earlier.later = t.later
	} else {
		a.first = t.later
	}
	if t.later != nil {
		t.later.earlier = t.earlier
	} else {
		a.last = t.earlier
	}
	t.earlier, t.later, t.listed = nil, nil, false
}
