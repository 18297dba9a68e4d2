package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
)

const (
	tick = 250 * time.Millisecond // between two frames
	slow = 20 * time.Millisecond  // a look that takes longer is taken once a second at most
	soon = 50 * time.Millisecond  // between two looks that requests cause
)

// Dashboard shows limiters. It is an http.Handler and an event.CallObserver, and safe for concurrent use.
type Dashboard struct {
	c        Config
	registry *registry.Registry // nil: there are guards only
	mux      *http.ServeMux
	started  time.Time
	incoming incoming

	ctx  context.Context //nolint:containedctx // of everything that New started, until Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	looking sync.Mutex // held while guards and clients are looked at; taken before mu

	mu       sync.Mutex // guards everything below
	board    board
	took     time.Duration // the last refresh
	looked   time.Time     // at guards
	sampled  time.Time
	draining bool
	readers  map[*reader]struct{}
}

// New returns a Dashboard that watches its limiters until Close. The error joins all problems of c, each a
// *fault.FieldError.
func New(c Config) (*Dashboard, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Title, c.Guards, c.Hosts = cmp.Or(c.Title, "headrace"), slices.Clone(c.Guards), slices.Clone(c.Hosts)
	d := &Dashboard{
		c: c, registry: c.Registry, started: time.Now(), incoming: incoming{failed: map[string]int64{}},
		board: board{limiters: map[string]*tracked{}}, readers: map[*reader]struct{}{},
	}
	if d.registry == nil && len(c.Guards) == 0 {
		d.registry = registry.Default()
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.mux = d.routes()
	d.wg.Go(d.run)
	return d, nil
}

// Close ends the streams of readers, and what Serve and Listen began. It waits for them, and may be called twice.
func (d *Dashboard) Close() {
	d.mu.Lock()
	d.stop()
	d.mu.Unlock()
	d.wg.Wait()
}

// beginLocked starts f, which Close waits for, and reports whether it did: not after Close.
func (d *Dashboard) beginLocked(f func()) bool {
	if d.ctx.Err() != nil {
		return false
	}
	d.wg.Go(f)
	return true
}

func (d *Dashboard) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		d.look(time.Now())
		select {
		case <-ticker.C:
		case <-d.ctx.Done():
			return
		}
	}
}

// look reads guards, and sends a frame to the readers. Once a second it takes samples, and reads clients and keys.
func (d *Dashboard) look(now time.Time) {
	d.mu.Lock()
	due := now.Sub(d.sampled) >= fineEvery-fineEvery/20 // tickers are late and early
	spared := !due && (len(d.readers) == 0 || d.took > slow)
	d.mu.Unlock()
	if spared {
		return
	}
	var clients []Client
	if due && d.c.Clients != nil {
		clients = survivable(d.c.Clients)
	}
	var keys []Key
	if due && d.c.Keys != nil {
		keys = survivable(d.c.Keys)
	}
	d.refresh(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	if due {
		d.sampled = now
		d.board.sample(now)
		if d.c.Clients != nil {
			d.board.count(now, clients)
		}
		if d.c.Keys != nil {
			d.board.keys = append([]Key{}, keys[:min(len(keys), mostKeys)]...)
		}
	}
	if len(d.readers) == 0 {
		d.board.gone = nil
		return
	}
	if text, err := json.Marshal(d.board.delta(now, d.draining, due)); err == nil {
		d.sendLocked(text)
	}
}

// refresh reads guards.
func (d *Dashboard) refresh(now time.Time) {
	d.looking.Lock()
	defer d.looking.Unlock()
	rows := d.rows()
	var queues []Queue
	if d.c.Queues != nil {
		queues = survivable(d.c.Queues)
	}
	lines, failed := d.incoming.take()

	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.update(now, rows, reports{failed, queues})
	d.board.events = lines
	d.looked, d.took = now, time.Since(now)
}

// rows are the guards that there are. Those that are only configured were never used.
func (d *Dashboard) rows() (all []row) {
	known := map[string]bool{}
	if d.registry != nil {
		for _, k := range d.registry.Stats().Keys {
			if k.Why != "" { // else it is only configured
				all = append(all, row{k.Name, k.Stats, k.Hits, k.Cuts})
				known[k.Name] = true
			}
		}
	}
	for _, g := range d.c.Guards {
		if s := g.Stats(); !known[g.Name()] {
			all = append(all, row{g.Name(), s, s.View.Hits, s.View.Cuts})
			known[g.Name()] = true
		}
	}
	return all
}

// find returns the guard of a name; nil: there is none.
func (d *Dashboard) find(name string) (g *guard.Guard, registered bool) {
	if d.registry != nil && slices.Contains(d.registry.Names(), name) {
		return d.registry.Get(name), true
	}
	for _, g := range d.c.Guards {
		if g.Name() == name {
			return g, false
		}
	}
	return nil, false
}

// Status returns the current state.
func (d *Dashboard) Status() Status {
	d.refresh(time.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.statusLocked()
}

// recent is a refresh for a request, unless there was one a moment ago.
func (d *Dashboard) recent(now time.Time) {
	d.mu.Lock()
	spared := now.Sub(d.looked) < soon
	d.mu.Unlock()
	if !spared {
		d.refresh(now)
	}
}

func (d *Dashboard) statusLocked() Status {
	s := Status{
		Title: d.c.Title, Time: time.Now(), Started: d.started, Actions: d.c.Token != "", Drains: d.c.Drain != nil, Draining: d.draining,
		Limiters: []Limiter{}, More: d.board.more, Clients: slices.Clone(d.board.clients), Keys: slices.Clone(d.board.keys), Events: slices.Clone(d.board.events),
	}
	for _, t := range d.board.sorted() {
		s.Limiters = append(s.Limiters, t.Limiter)
	}
	return s
}

// survivable calls f, which is user code.
func survivable[T any](f func() T) (v T) {
	defer func() { _ = recover() }()
	return f()
}
