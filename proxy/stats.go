package proxy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Stats are counts since New.
type Stats struct {
	Calls    int64          // requests that were passed on, or joined one
	Active   int64          // of these, in progress
	Joined   int64          // of these, that had the answer of an earlier request with their Idempotency-Key
	Attempts int64          // that limiters admitted for requests that have ended
	Refused  int64          // rate-limit responses of providers
	Hidden   int64          // of these, that no client saw
	Waited   time.Duration  // for limits, by all requests that have ended
	Errors   map[Code]int64 // answers of the proxy itself
	Draining bool
	Clients  []ClientStats // sorted by name
	Queues   []Queue       // sorted by name
}

// ClientStats are the counts of one client.
type ClientStats struct {
	// Name is the name that the client gave, or the upstream and the number of
	// its credential, as in names of limiters: "openai#key1".
	Name     string
	Weight   float64
	Calls    int64
	Active   int64
	Attempts int64
	Waited   time.Duration
	LastCall time.Time
}

// Queue is what waits for one limiter.
type Queue struct {
	Limiter string
	Waiting int
	Oldest  time.Duration // how long the first has waited
	Clients []QueueClient // those that wait, sorted by name
}

// QueueClient is what waits of one client.
type QueueClient struct {
	Name     string
	Waiting  int
	Admitted int64 // attempts, since the client was seen last
}

// mostClients bounds the clients that are counted apart. Further ones are "others".
const mostClients = 4096

const others = "others"

// tally counts.
type tally struct {
	mu      sync.Mutex // guards all below and the stats of clients
	stats   Stats
	clients map[string]*client
	weights map[string]float64
}

// client is one that is counted.
type client struct{ ClientStats }

func (t *tally) init(weights map[string]float64) {
	t.clients, t.weights, t.stats.Errors = map[string]*client{}, weights, map[Code]int64{}
}

// begin counts a request of a client until end is called.
func (t *tally) begin(name string, now time.Time) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clientLocked(name)
	c.Calls++
	c.Active++
	c.LastCall = now
	t.stats.Calls++
	t.stats.Active++
	return c
}

func (t *tally) end(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Active--
	t.stats.Active--
}

// clientLocked returns the counts for a name.
func (t *tally) clientLocked(name string) *client {
	c := t.clients[name]
	if c == nil && len(t.clients) >= mostClients {
		name = others
		c = t.clients[name]
	}
	if c == nil {
		c = &client{ClientStats{Name: name, Weight: cmp.Or(t.weights[name], 1)}}
		t.clients[name] = c
	}
	return c
}

func (t *tally) joined() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Joined++
}

func (t *tally) failed(code Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Errors[code]++
}

// done counts an exchange that has ended. status is that of the upstream's
// answer which the client got; 0: none.
func (t *tally) done(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused, attempts, waited := x.wire.refused.Load(), int64(x.ticket.Attempts()), x.ticket.Waited()
	t.stats.Refused += refused
	t.stats.Hidden += refused
	if refused > 0 && isRefusal(x.status) {
		t.stats.Hidden--
	}
	t.stats.Attempts += attempts
	t.stats.Waited += waited
	x.client.Attempts += attempts
	x.client.Waited += waited
}

// Stats returns a snapshot.
func (p *Proxy) Stats() Stats {
	t := &p.tally
	t.mu.Lock()
	s := t.stats
	s.Errors = maps.Clone(s.Errors)
	for _, c := range t.clients {
		s.Clients = append(s.Clients, c.ClientStats)
	}
	t.mu.Unlock()
	slices.SortFunc(s.Clients, func(a, b ClientStats) int { return cmp.Compare(a.Name, b.Name) })
	for _, l := range p.lines.Stats() {
		q := Queue{Limiter: l.Line, Waiting: l.Waiting, Oldest: l.Oldest}
		for _, c := range l.Clients {
			q.Clients = append(q.Clients, QueueClient(c))
		}
		s.Queues = append(s.Queues, q)
	}
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	s.Draining = p.work.draining
	return s
}
