package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/headrace/headrace/guard"
)

const (
	mostLimiters = 64
	mostClients  = 100
	mostKeys     = 100
	settled      = time.Minute // a limiter without a call for so long may make room
)

// row is what a guard reports at one moment.
type row struct {
	name       string
	stats      guard.Stats
	hits, cuts int64
}

// tracked is a limiter that is shown.
type tracked struct {
	Limiter

	series *series
	now    row
	before row       // at the last sample
	begun  time.Time // it is tracked
	active time.Time // it was seen to do something
	wait   float64   // seconds, on average over the last waits that ended; 0 while none waits
	still  float64   // seconds that calls wait and no wait ends
	sent   []byte    // what readers know of it
}

// board is all that is shown at a moment. It is handed the time.
type board struct {
	limiters map[string]*tracked
	gone     []string // those that made room since the last frame
	more     int
	sampled  time.Time
	clients  []Share
	keys     []Key
	counted  time.Time // the clients
	events   []Line
	told     int64 // the last event that readers know
}

// reports are what is known of limiters besides what guards report.
type reports struct {
	failed map[string]int64 // calls
	queues []Queue
}

// update takes over what guards report.
func (b *board) update(now time.Time, rows []row, more reports) {
	queues := make(map[string]Queue, len(more.queues))
	for _, q := range more.queues {
		queues[q.Limiter] = q
	}
	b.more = 0
	seen := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		seen[r.name] = true
		t := b.limiters[r.name]
		if t == nil {
			if t = b.admit(now, r); t == nil {
				b.more++
				continue
			}
		}
		t.Limiter = limiter(r.name, now, &r.stats, r.hits, r.cuts)
		t.Failed = more.failed[r.name]
		if q := queues[r.name]; q.Waiting > 0 {
			t.Waiting, t.OldestWait = max(t.Waiting, q.Waiting), rounded(q.Oldest.Seconds())
		}
		if r.stats.InFlight+r.stats.Waiting > 0 || r.stats.Admitted != t.now.stats.Admitted {
			t.active = now
		}
		t.now = *r
		t.PerSecond = rounded(t.series.fine.recent())
	}
	for name := range b.limiters {
		if !seen[name] {
			b.remove(name)
		}
	}
}

// sample adds a point to each timeline.
func (b *board) sample(now time.Time) {
	since := now.Sub(b.sampled)
	for _, t := range b.limiters {
		t.sample(now, since)
		t.PerSecond = rounded(t.series.fine.recent())
	}
	b.sampled = now
}

// admit makes room for a limiter; nil: there is none.
func (b *board) admit(now time.Time, r *row) *tracked {
	if len(b.limiters) >= mostLimiters {
		var idle *tracked
		for _, t := range b.limiters {
			if now.Sub(t.active) >= settled && (idle == nil || t.active.Before(idle.active)) {
				idle = t
			}
		}
		if idle == nil || r.stats.InFlight+r.stats.Waiting == 0 {
			return nil
		}
		b.remove(idle.Name)
	}
	t := &tracked{series: newSeries(), now: *r, before: *r, begun: now, active: now}
	b.limiters[r.name] = t
	return t
}

func (b *board) remove(name string) {
	delete(b.limiters, name)
	b.gone = append(b.gone, name)
}

func (t *tracked) sample(now time.Time, since time.Duration) {
	r, p := &t.now, &t.before
	s := sample{
		at: now.UnixMilli(), rate: float32(t.Rate), hits: int32(more(r.hits, p.hits)), slots: int32(t.Cap), //nolint:gosec // what a second has fits
		inFlight: int32(t.InFlight), waiting: int32(t.Waiting), //nolint:gosec // calls fit
	}
	counted := since > 0 && since < time.Hour
	if counted {
		s.admitted = float32(rounded(float64(more(r.stats.Admitted, p.stats.Admitted)) / since.Seconds()))
	}
	switch waits := more(r.stats.Waits, p.stats.Waits); {
	case waits > 0:
		t.wait, t.still = time.Duration(more(int64(r.stats.Waited), int64(p.stats.Waited))).Seconds()/float64(waits), 0
	case t.Waiting == 0:
		t.wait, t.still = 0, 0
	case counted && p.stats.Waiting > 0:
		t.still += min(since, now.Sub(t.begun)).Seconds()
	}
	s.wait = float32(rounded(max(t.wait, t.still, t.OldestWait)))
	t.series.add(s)
	t.before = *r
}

// more is what a count has grown by. A guard that was reset begins anew.
func more(now, before int64) int64 {
	if now < before {
		return now
	}
	return now - before
}

// count takes over what clients got.
func (b *board) count(now time.Time, clients []Client) {
	before := map[string]Share{}
	for _, c := range b.clients {
		before[c.Name] = c
	}
	since := now.Sub(b.counted).Seconds()
	b.clients, b.counted = []Share{}, now
	for _, c := range clients[:min(len(clients), mostClients)] {
		s := Share{Client: c}
		if p, known := before[c.Name]; known && since > 0 {
			part := min(1, since/10)
			s.PerSecond = rounded(p.PerSecond*(1-part) + part*float64(more(c.Admitted, p.Admitted))/since)
			if s.PerSecond < 0.001 {
				s.PerSecond = 0
			}
		}
		b.clients = append(b.clients, s)
	}
}

// frame is what changes between two moments, for readers that know the first.
type frame struct {
	Time     time.Time          `json:"time"`
	Draining bool               `json:"draining"`
	More     int                `json:"more"`
	Limiters []json.RawMessage  `json:"limiters,omitempty"`
	Gone     []string           `json:"gone,omitempty"`
	Samples  map[string]columns `json:"samples,omitempty"`
	Clients  []Share            `json:"clients"` // null: as they were
	Keys     []Key              `json:"keys"`    // null: as they were
	Events   []Line             `json:"events,omitempty"`
}

// delta is the frame of what readers do not know yet; samples and clients are those of this moment, if there are new ones.
func (b *board) delta(now time.Time, draining, sampled bool) frame {
	f := frame{Time: now, Draining: draining, More: b.more, Gone: b.gone}
	b.gone = nil
	for _, t := range b.sorted() {
		text, err := json.Marshal(t.Limiter)
		if err == nil && !bytes.Equal(text, t.sent) {
			t.sent = text
			f.Limiters = append(f.Limiters, text)
		}
		if sampled {
			if f.Samples == nil {
				f.Samples = map[string]columns{}
			}
			var c columns
			last := &t.series.fine
			c.add(&last.all[(last.next+len(last.all)-1)%len(last.all)])
			f.Samples[t.Name] = c
		}
	}
	if sampled {
		f.Clients, f.Keys = b.clients, b.keys
	}
	for _, e := range b.events {
		if e.ID > b.told {
			f.Events = append(f.Events, e)
			b.told = e.ID
		}
	}
	return f
}

func (b *board) sorted() []*tracked {
	all := make([]*tracked, 0, len(b.limiters))
	for _, t := range b.limiters {
		all = append(all, t)
	}
	slices.SortFunc(all, func(x, y *tracked) int { return cmp.Compare(x.Name, y.Name) })
	return all
}
