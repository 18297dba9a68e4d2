package flowtest

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// arrival is a call that is about to be answered.
type arrival struct {
	provider *Provider
	key      string
	at       time.Duration
	settled  chan struct{} // closed when what follows is set
	index    int           // of the call in the record
	attempt  int
	step     Step
}

// tick is how long an arrival waits for others of the same instant. In a bubble
// time goes on when all goroutines are blocked, and not sooner.
const tick = time.Nanosecond

// arrive notes a call and returns how it is to be answered. It does so when
// whatever else arrives in this instant has arrived too.
func (r *Record) arrive(p *Provider, key string) *arrival {
	r.mu.Lock()
	a := &arrival{provider: p, key: key, at: r.Elapsed(), settled: make(chan struct{})}
	if n := len(r.arrivals); n == 0 || r.arrivals[n-1].at != a.at {
		time.AfterFunc(tick, func() { r.settle(a.at) })
	}
	r.arrivals = append(r.arrivals, a)
	r.mu.Unlock()
	<-a.settled
	return a
}

// settle answers the calls of one instant in an order of their own.
func (r *Record) settle(at time.Duration) {
	r.mu.Lock()
	var now, later []*arrival
	for _, a := range r.arrivals {
		if a.at == at {
			now = append(now, a)
		} else {
			later = append(later, a)
		}
	}
	r.arrivals = later
	r.mu.Unlock()
	slices.SortStableFunc(now, func(a, b *arrival) int {
		return cmp.Or(cmp.Compare(a.provider.name, b.provider.name), cmp.Compare(a.key, b.key))
	})
	for _, a := range now {
		r.admit(a)
	}
	for _, a := range now {
		close(a.settled)
	}
}

// admit gives a call its place in the record and its step.
func (r *Record) admit(a *arrival) {
	r.mu.Lock()
	p := a.provider
	call := p.nextLocked(a.key, a.at)
	step, rule := p.pickLocked(call)
	a.index, a.attempt = len(r.calls), call.Attempt
	r.calls = append(r.calls, call)
	r.mu.Unlock()
	if rule != nil {
		step = ask(rule, call)
	}
	a.step = step
	if !step.refuses {
		r.mu.Lock()
		p.admitted = append(p.admitted, a.at)
		p.open = append(p.open, a.index)
		r.mu.Unlock()
	}
}

// ask has a rule of the user's decide. Its panic is that of the call.
func ask(rule func(Call) Step, c Call) (s Step) {
	defer func() {
		if v := recover(); v != nil {
			s = Panic(v)
		}
	}()
	return rule(c)
}

// end notes how the call of a came out.
func (r *Record) end(a *arrival, o Outcome, status int, err error) {
	now := r.Elapsed()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.calls[a.index]
	c.End, c.Outcome, c.Status, c.Err = now, o, status, err
	if o == Refused {
		c.RetryAfter = a.step.retryAfter
	}
	a.provider.ended[a.key] = now
}

// run plays the step of a call up to its answer. The error is why there is none.
func (a *arrival) run(ctx context.Context) error {
	for _, f := range a.step.do {
		f()
	}
	if err := a.step.wait(ctx, a); err != nil {
		return err
	}
	if a.step.panics {
		panic(a.step.value)
	}
	return nil
}
