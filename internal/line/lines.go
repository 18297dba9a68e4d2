package line

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

const (
	// DefaultMaxQueue is how many calls wait in a line at most.
	DefaultMaxQueue = 10_000
	// DefaultMaxWait is for how long a request waits at most.
	DefaultMaxWait = 5 * time.Minute
)

// mostIdle is how many lines in which no call waits are remembered, for Stats.
const mostIdle = 256

// Config configures Lines. The zero Config is ready to use.
type Config struct {
	// MaxQueue bounds how many calls wait in a line for their first admission. Another
	// call fails at once with a *FullError, unless it displaces one, which then fails
	// instead: an interactive call displaces one of Batch of its own client, and a
	// client with less than an even part displaces the one with the most. 0 means
	// DefaultMaxQueue.
	MaxQueue int
	// MaxWait bounds how long a request waits for admission, over all attempts and
	// with the pauses after rate-limit responses, but without the time that its
	// attempts take. Then it fails with a *WaitError. 0 means DefaultMaxWait.
	MaxWait time.Duration
	// Clock replaces the real clock in tests.
	Clock clockwork.Clock
}

// Lines has a line for each guard. It is safe for concurrent use.
type Lines struct {
	clock    clock.Clock
	maxQueue int
	maxWait  time.Duration

	mu       sync.Mutex // guards what follows, and all lines and turns
	lines    map[string]*line
	busy     int             // lines that are in use
	waiting  arrivals        // the turns in all lines
	timer    clockwork.Timer // for the first of waiting; nil: it was never needed
	armed    bool
	armedFor time.Duration // the arrival that the timer was set for
}

// New returns Lines. Values below 0 count as 0.
func New(c Config) *Lines {
	l := &Lines{clock: clock.New(c.Clock), maxQueue: c.MaxQueue, maxWait: c.MaxWait, lines: map[string]*line{}}
	if l.maxQueue <= 0 {
		l.maxQueue = DefaultMaxQueue
	}
	if l.maxWait <= 0 {
		l.maxWait = DefaultMaxWait
	}
	return l
}

// Caller is where a call comes from.
type Caller struct {
	// Client is what shares are counted by. Lines remember names: bound their length.
	Client string
	// Weight is the client's share in relation to those of others, from 0.001 to
	// 1,000. 0 means 1, and so does what is not a positive number.
	Weight   float64
	Priority Priority
}

// share is how much of the time of a class an item of c takes.
func (c *Caller) share() float64 {
	const most = 1000
	if !(c.Weight > 0) {
		return 1
	}
	return 1 / min(max(c.Weight, 1./most), most)
}

// Ticket is what is known of a request. It is safe for concurrent use.
type Ticket struct {
	unwatched

	lines    *Lines
	caller   Caller
	waited   atomic.Int64
	attempts atomic.Int64
	used     atomic.Bool // first is
	admitted atomic.Bool
	first    turn
}

var _ inflight.Line = (*Ticket)(nil)

// With returns a context for one request. Calls that pass a guard under it wait in
// the line of that guard; calls inside of these do not. Another watcher of ctx,
// such as that of a node, is replaced.
func (l *Lines) With(ctx context.Context, c Caller) (context.Context, *Ticket) {
	t := new(Ticket)
	l.Issue(t, c)
	return inflight.Watch(ctx, t), t
}

// Issue initialises t, which must be the zero Ticket, for a request of c.
func (l *Lines) Issue(t *Ticket, c Caller) {
	c.Priority = min(c.Priority, Batch)
	t.lines, t.caller = l, c
}

// Waited returns how long the request has waited in lines and for limits, over all
// attempts. A wait that has not ended does not count.
func (t *Ticket) Waited() time.Duration { return time.Duration(t.waited.Load()) }

// Attempts returns how many attempts were admitted, resends after a 429 included.
func (t *Ticket) Attempts() int { return int(t.attempts.Load()) }

// Turn implements inflight.Line.
func (t *Ticket) Turn(guard string, ahead bool) inflight.Turn {
	u := &t.first
	if t.used.Swap(true) {
		u = new(turn)
	}
	u.ticket, u.name, u.ahead, u.began = t, guard, ahead, t.lines.clock.Elapsed()
	u.since = u.began - t.Waited()
	return u
}

// Admitted implements inflight.Watcher.
func (t *Ticket) Admitted(throttle.Bound) {
	t.admitted.Store(true)
	t.attempts.Add(1)
}

// Rejected implements inflight.Watcher: a breaker has stopped an attempt that was
// admitted.
func (t *Ticket) Rejected(error) { t.attempts.Add(-1) }

// unwatched is what a Ticket does not need to know of its calls.
type unwatched struct{}

func (unwatched) Waits()                            {}
func (unwatched) Queued()                           {}
func (unwatched) Judged(adaptive.Feedback, error)   {}
func (unwatched) Retries(int, time.Duration, error) {}
func (unwatched) Rested(context.Context) bool       { return true }

// Stats is a line at one moment.
type Stats struct {
	Line    string        // the name of the guard
	Waiting int           // calls, the one that asks the guard included
	Oldest  time.Duration // how long the first of them has waited
	Clients []Client      // those that wait and recent ones, by name
}

// Client is a client in a line.
type Client struct {
	Name     string
	Waiting  int   // calls
	Admitted int64 // attempts, those that did not have to wait included, since the client was forgotten last
}

// Stats returns the lines in which calls wait and recent ones, by name.
func (l *Lines) Stats() []Stats {
	all := l.snapshot()
	slices.SortFunc(all, func(a, b Stats) int { return strings.Compare(a.Line, b.Line) })
	for i := range all {
		slices.SortFunc(all[i].Clients, func(a, b Client) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}

// snapshot is Stats in no order: calls wait for the lock, so it is not sorted here.
func (l *Lines) snapshot() []Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Elapsed()
	oldest := map[*line]time.Duration{}
	for t := l.waiting.first; t != nil; t = t.later {
		oldest[t.line] = max(oldest[t.line], now-t.since)
	}
	all := make([]Stats, 0, len(l.lines))
	for name, n := range l.lines {
		s := Stats{Line: name, Waiting: n.order.len(), Oldest: oldest[n], Clients: make([]Client, 0, len(n.clients))}
		for name, c := range n.clients {
			s.Clients = append(s.Clients, Client{name, c.waiting, c.admitted})
		}
		all = append(all, s)
	}
	return all
}
