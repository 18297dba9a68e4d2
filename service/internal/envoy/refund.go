package envoy

import (
	"context"
	"sync"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

const (
	mostTickets = 16_384 // that can be given back
	mostRefunds = 32     // steps of the store for the refunds of one request
)

// refunds remembers the last tickets, so that hits can be given back. A store gives back
// what a ticket took, and a refund of Envoy has none. The zero value is empty.
type refunds struct {
	mu     sync.Mutex // guards everything below
	oldest int        // in ring, once it is full
	ring   []*taken
	byKey  map[string][]*taken // oldest first
}

// taken is what a ticket took from one key.
type taken struct {
	key    string
	ticket quota.Ticket // with the one demand
	left   int64        // not given back yet
}

// add remembers what t took from a demand.
func (r *refunds) add(t quota.Ticket, d quota.Demand) {
	t.Demands = []quota.Demand{d}
	x := &taken{key: d.Key, ticket: t, left: d.Cost.Points}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = map[string][]*taken{}
	}
	if len(r.ring) < mostTickets {
		r.ring = append(r.ring, x)
	} else {
		r.dropLocked(r.ring[r.oldest])
		r.ring[r.oldest] = x
		r.oldest = (r.oldest + 1) % mostTickets
	}
	r.byKey[x.key] = append(r.byKey[x.key], x)
}

func (r *refunds) dropLocked(x *taken) {
	switch all := r.byKey[x.key]; {
	case len(all) == 0 || all[0] != x: // it was given back
	case len(all) == 1:
		delete(r.byKey, x.key)
	default:
		all[0] = nil
		r.byKey[x.key] = all[1:]
	}
}

// part takes up to n hits of key out of what can be given back, as a ticket of their
// own: of the last one, because its window ends last.
func (r *refunds) part(key string, n int64) (t quota.Ticket, hits int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.byKey[key]
	if len(all) == 0 {
		return quota.Ticket{}, 0
	}
	x := all[len(all)-1]
	t, hits = x.ticket, min(n, x.left)
	demand := x.ticket.Demands[0]
	demand.Cost = throttle.Cost{Points: hits}
	t.Demands = []quota.Demand{demand}
	if x.left -= hits; x.left == 0 {
		all[len(all)-1] = nil
		if r.byKey[key] = all[:len(all)-1]; len(all) == 1 {
			delete(r.byKey, key)
		}
	}
	return t, hits
}

// giveBack gives back the hits of descriptors with is_negative_hits.
func (d *decision) giveBack(ctx context.Context) {
	steps := 0
	for i := range d.asks {
		a := &d.asks[i]
		if !a.refund || d.of[i] < 0 {
			continue
		}
		for n := a.hits; n > 0 && steps < mostRefunds; steps++ {
			t, hits := d.refunds.part(a.key, n)
			if hits == 0 {
				break
			}
			if err := d.store.Cancel(ctx, t); err != nil {
				d.lost++
				break
			}
			n -= hits
			d.buckets[d.of[i]].left += hits
		}
	}
}
