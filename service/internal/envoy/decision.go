package envoy

import (
	"context"
	"errors"
	"math"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// decision is about one request.
type decision struct {
	store   quota.Store
	refunds *refunds
	asks    []ask
	buckets []bucket // what is asked of each key
	of      []int    // the bucket of each ask, or -1

	degraded bool
	lost     int64 // steps after the decision that failed
}

// bucket is what a request asks of one key, and what the store says about it.
type bucket struct {
	key    string
	limit  *limit
	hits   int64
	own    bool // it counts, also if it does not fit
	shadow bool

	over bool
	left int64
	wait time.Duration // until it fits, if it is over
	all  time.Duration // until nothing is used
}

func (s *Service) newDecision(asks []ask) *decision {
	d := &decision{store: s.options.Store, refunds: &s.refunds, asks: asks, of: make([]int, len(asks))}
	known := map[string]int{}
	for i := range asks {
		a := &asks[i]
		d.of[i] = -1
		if a.limit == nil || a.limit.unlimited {
			continue
		}
		j, ok := known[a.key]
		if !ok {
			j = len(d.buckets)
			known[a.key] = j
			d.buckets = append(d.buckets, bucket{key: a.key, limit: a.limit, shadow: a.limit.shadow})
		}
		d.of[i] = j
		b := &d.buckets[j]
		if a.limit.message.GetRequestsPerUnit() < b.limit.message.GetRequestsPerUnit() {
			b.limit = a.limit // several limits in one request: the tighter one
		}
		if !a.refund {
			b.hits += a.hits
			b.own = b.own || a.own
		}
	}
	for j := range d.buckets {
		b := &d.buckets[j]
		b.left = int64(b.limit.message.GetRequestsPerUnit())
	}
	return d
}

// never reports whether no waiting lets the hits fit.
func (b *bucket) never() bool { return b.hits > int64(b.limit.message.GetRequestsPerUnit()) }

// decide takes what was asked for if all of it fits, or nothing.
func (d *decision) decide(ctx context.Context, timeout time.Duration) error {
	ticket, admitted, err := d.take(ctx)
	if err != nil {
		return err
	}
	// It is decided, and only has to be written: also if Envoy has stopped waiting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	switch {
	case admitted && d.refused():
		// A check of 0 hits always fits. A limit that is below zero refuses it.
		admitted = false
		d.cancel(ctx, ticket)
	case admitted:
		for _, demand := range ticket.Demands {
			if demand.Cost.Points > 0 {
				d.refunds.add(ticket, demand)
			}
		}
	}
	d.report(ctx, admitted)
	d.giveBack(ctx)
	return nil
}

// cancel gives back everything that t took.
func (d *decision) cancel(ctx context.Context, t quota.Ticket) {
	if err := d.store.Cancel(ctx, t); err != nil {
		d.lost++
		return
	}
	for _, demand := range t.Demands {
		for j := range d.buckets {
			if b := &d.buckets[j]; b.key == demand.Key {
				b.left += demand.Cost.Points
			}
		}
	}
}

// refused reports whether a limit that is enforced is over.
func (d *decision) refused() bool {
	for j := range d.buckets {
		if b := &d.buckets[j]; b.over && !b.shadow {
			return true
		}
	}
	return false
}

// take asks the store once, and again without the shadows that alone refuse.
func (d *decision) take(ctx context.Context) (t quota.Ticket, admitted bool, err error) {
	for j := range d.buckets {
		b := &d.buckets[j]
		if b.never() {
			b.over, b.wait = true, b.limit.span.duration()
		}
	}
	peek := d.refused()
	const rounds = 3
	for round := 1; ; round++ {
		r, index := d.request(peek, round == rounds)
		if len(r.Demands) == 0 {
			return quota.Ticket{}, !peek, nil
		}
		g, err := d.store.Take(ctx, r)
		if err != nil {
			return quota.Ticket{}, false, err
		}
		d.degraded = d.degraded || g.Degraded != nil
		d.learn(&g, &r, index)
		switch {
		case peek:
			return quota.Ticket{}, false, nil
		case g.Wait == 0:
			return g.Ticket, true, nil
		case d.refused():
			return quota.Ticket{}, false, nil
		case round == rounds:
			return quota.Ticket{}, false, errNonsense
		}
	}
}

var errNonsense = errors.New("envoy: the store rejected the request without naming a limit")

// request demands what is not over yet. Of what never fits, and of a refused request,
// it asks for the use only. index has the bucket of each demand.
func (d *decision) request(peek, withoutShadows bool) (r quota.Request, index []int) {
	r = quota.Request{Uses: true, Peek: peek}
	for j := range d.buckets {
		b := &d.buckets[j]
		if len(b.limit.limits.Windows) == 0 || b.over && !b.never() || withoutShadows && b.shadow {
			continue
		}
		demand := quota.Demand{Key: b.key, Limits: b.limit.limits, Cost: throttle.Cost{Points: b.hits}}
		if b.never() {
			demand.Cost.Points = 0
		}
		r.Demands = append(r.Demands, demand)
		index = append(index, j)
	}
	return r, index
}

// learn keeps what a grant says about the buckets.
func (d *decision) learn(g *quota.Grant, r *quota.Request, index []int) {
	for i, j := range index {
		b := &d.buckets[j]
		if i < len(g.Uses) && len(g.Uses[i]) > 0 {
			use := g.Uses[i][0]
			b.left, b.all = use.Left, use.ResetsIn
			switch asked := r.Demands[i].Cost.Points; {
			case use.Left < 0, g.Wait > 0 && asked > use.Left:
				b.over = true
				b.wait = max(b.wait, use.FreesIn)
			}
		}
		if g.Wait > 0 && i == g.Demand {
			b.over, b.wait = true, max(b.wait, g.Wait)
		}
	}
}

// report charges the hits of descriptors with a hits_addend of their own which were not
// taken: they may report what was used already.
func (d *decision) report(ctx context.Context, admitted bool) {
	var r quota.Request
	var used []throttle.Cost
	for j := range d.buckets {
		b := &d.buckets[j]
		if !b.own || admitted && !b.over || len(b.limit.limits.Windows) == 0 {
			continue
		}
		r.Demands = append(r.Demands, quota.Demand{Key: b.key, Limits: b.limit.limits})
		used = append(used, throttle.Cost{Points: b.hits})
		b.left -= b.hits
	}
	if len(r.Demands) == 0 {
		return
	}
	g, err := d.store.Take(ctx, r) // of nothing, for a ticket that can be ended with more
	if err == nil {
		err = d.store.End(ctx, g.Ticket, used)
	}
	if err != nil {
		d.lost++
	}
}

// status is the answer to one descriptor.
func (d *decision) status(i int) *rls.RateLimitResponse_DescriptorStatus {
	a := &d.asks[i]
	s := &rls.RateLimitResponse_DescriptorStatus{Code: rls.RateLimitResponse_OK}
	switch {
	case a.limit == nil:
		return s
	case a.limit.unlimited:
		s.LimitRemaining = math.MaxUint32
		return s
	}
	b := &d.buckets[d.of[i]]
	s.CurrentLimit, s.LimitRemaining = b.limit.message, left(b.left)
	s.DurationUntilReset = durationpb.New(b.all)
	if b.over && !a.refund {
		s.DurationUntilReset = durationpb.New(b.wait)
		if !b.shadow {
			s.Code = rls.RateLimitResponse_OVER_LIMIT
		}
	}
	return s
}

func (d *decision) observation(i int) Observation {
	a := &d.asks[i]
	o := Observation{Rule: a.limit.path, Hits: a.hits, Shadow: a.limit.shadow, Refund: a.refund, Degraded: d.degraded}
	if a.limit.unlimited {
		o.Left, o.Limit = math.MaxUint32, math.MaxUint32
		return o
	}
	b := &d.buckets[d.of[i]]
	o.Key, o.Over, o.Left, o.Limit = b.key, b.over && !a.refund, b.left, int64(b.limit.message.GetRequestsPerUnit())
	return o
}
