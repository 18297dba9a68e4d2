package decide

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/asleep"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

// Options are what a Decider is made of.
type Options struct {
	Store  quota.Store
	Config *rules.Config
	Clock  clockwork.Clock          // nil: the real one
	Asleep func() time.Duration     // how long this machine has been suspended in all; nil: as the system says
	See    func(Observation)        // every answer; nil: not
	Shift  func(jump time.Duration) // the clock of the store has jumped; nil: not
	Outage func(err error)          // the store has failed, called again every minute; a nil err: it answers again. nil: not
	Damage func(err error)          // the store cannot read some limits, called once a minute at most. nil: not
}

// Observation is what became of one check.
type Observation struct {
	Scope    string
	Known    bool   // the scope is configured
	Outcome  string // allowed, refused, unavailable or invalid
	Tokens   int64  // that were taken
	Share    float64
	Degraded Reason
	Took     time.Duration
}

// Decider answers checks. It is safe for concurrent use. Close it.
type Decider struct {
	raw      quota.Store
	fallback *quota.FallbackStore
	guarded  *skewGuard // fallback, with the guard against clocks that jump
	ended    ended      // permits that have no mark in the store: of a store in memory, or of an outage
	runtime  rules.Runtime
	rules    atomic.Pointer[rules.Set]
	permits  permits
	clock    clock.Clock
	skew     skew
	lines    lines
	blocked  blocked
	see      func(Observation)
	outage   func(error)
	damage   func(error)
	damaged  atomic.Int64           // when damage was called, of clock; 0: never
	broken   atomic.Pointer[string] // why the present file is not served

	probe  probe
	end    context.CancelFunc
	life   context.Context //nolint:containedctx // it ends with Close
	wg     sync.WaitGroup
	closed sync.Once
}

// New returns a Decider, which probes the store until Close.
func New(o Options) (*Decider, error) {
	r := o.Config.Runtime
	f := quota.Fallback{
		Timeout: r.Timeout, Clock: o.Clock, Unlimited: r.Outage == rules.Open,
		Breaker: breaker.Config{Failures: r.Breaker.Failures, Successes: r.Breaker.Successes, Open: r.Breaker.Open, MaxOpen: r.Breaker.MaxOpen},
	}
	if r.Outage == rules.Local {
		f.Share = r.LocalShare
	}
	fallback, err := quota.WithFallback(o.Store, f)
	if err != nil {
		return nil, err
	}
	d := &Decider{
		raw: o.Store, fallback: fallback, runtime: r,
		permits: newPermits(o.Config.Key, r.Permits.MaxAge, r.Store == rules.Memory), clock: clock.New(o.Clock), see: o.See,
		skew: skew{shift: o.Shift, asleep: o.Asleep}, outage: o.Outage, damage: o.Damage,
	}
	d.ended = newEnded(d.permits.life)
	d.guarded = &skewGuard{fallback, d}
	if d.see == nil {
		d.see = func(Observation) {}
	}
	if d.skew.asleep == nil {
		d.skew.asleep = asleep.Total
	}
	d.rules.Store(o.Config.Rules)
	d.life, d.end = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	d.probe.rename()
	d.wg.Go(d.probes)
	return d, nil
}

// Close ends the probes and all Acquires. It does not close the store.
func (d *Decider) Close() {
	d.closed.Do(d.end)
	d.wg.Wait()
}

// SetRules replaces the rules. What was used stays used: stores keep the history of a key
// when its limits change.
func (d *Decider) SetRules(s *rules.Set) { d.rules.Store(s) }

// Rules returns the present rules.
func (d *Decider) Rules() *rules.Set { return d.rules.Load() }

// Store returns the store with the outage policy, the breaker and the guard against clocks that jump, as checks use it.
func (d *Decider) Store() quota.Store { return d.guarded }

// SetProblem says why the present file is not served; empty if it is.
func (d *Decider) SetProblem(problem string) { d.broken.Store(&problem) }

func (d *Decider) problem() string {
	if p := d.broken.Load(); p != nil {
		return *p
	}
	return ""
}

// Check answers one check. Its error is a *fault.FieldError for bad input, or an
// *UnavailableError.
func (d *Decider) Check(ctx context.Context, c Check) (Result, error) {
	r, err := d.observed(ctx, c)
	note(ctx, &r, r.Allowed, err)
	return r, err
}

// observed is Check without a note in the span.
func (d *Decider) observed(ctx context.Context, c Check) (Result, error) {
	began := d.clock.Elapsed()
	r, err := d.check(ctx, c)
	d.observe(&r, err, d.clock.Elapsed()-began)
	return r, err
}

func (d *Decider) check(ctx context.Context, c Check) (Result, error) {
	if err := c.complete(""); err != nil {
		return Result{Check: c}, err
	}
	set := d.rules.Load()
	all := [1]ask{newAsk(set, &c)}
	r := Result{Check: c, Rule: all[0].rule.Name}
	a, err := d.take(ctx, all[:], c.DryRun)
	if err != nil {
		return r, err
	}
	r = a.Results[0]
	r.Permit, r.RetryAfter = a.Permit, a.RetryAfter
	return r, nil
}

// CheckAll takes everything in one step of the store, or nothing.
func (d *Decider) CheckAll(ctx context.Context, cs []Check) (All, error) {
	began := d.clock.Elapsed()
	_, asks, err := d.asks(cs)
	if err != nil {
		d.Invalid(ctx)
		return none(), err
	}
	a, err := d.take(ctx, asks, cs[0].DryRun)
	d.observeAll(ctx, &a, asks, err, d.clock.Elapsed()-began)
	return a, err
}

func none() All { return All{Blocking: -1, Tightest: -1} }

// Batch answers independent checks, in their order.
func (d *Decider) Batch(ctx context.Context, cs []Check) ([]Outcome, error) {
	if len(cs) == 0 || len(cs) > MaxBatch {
		return nil, field("checks", "%d checks are not between 1 and %d", len(cs), MaxBatch)
	}
	const workers = 16
	all := make([]Outcome, len(cs))
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(cs) {
				return
			}
			all[i].Result, all[i].Err = d.checkGuarded(ctx, cs[i])
		}
	}
	for range min(workers, len(cs)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return all, nil
}

// checkGuarded is Check in a goroutine of Batch, where a store that panics would end the
// process.
func (d *Decider) checkGuarded(ctx context.Context, c Check) (r Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = Result{Check: c}, panics.Error(v)
		}
	}()
	return d.observed(ctx, c) // a batch has one span for many checks
}

// Settle corrects a permit to the tokens that were used, one amount for each check, and
// ends it. Its error is a *fault.FieldError, an *UnavailableError, or a *PermitError for
// an unknown or ended permit.
func (d *Decider) Settle(ctx context.Context, permit string, actual []int64) error {
	if len(actual) == 0 {
		return field("actual", "it is missing: give the tokens that were used, one number for each check")
	}
	return d.endPermit(ctx, permit, actual)
}

// Cancel gives back what a permit took, and ends it. Its errors are those of Settle.
func (d *Decider) Cancel(ctx context.Context, permit string) error {
	return d.endPermit(ctx, permit, nil)
}

func (d *Decider) endPermit(ctx context.Context, text string, actual []int64) error {
	p, err := d.permits.read(text, d.clock.Underlying().Now())
	if err != nil {
		return err
	}
	if actual != nil && len(actual) != len(p.checks) {
		return field("actual", "%d amounts for %d checks: give one for each, in their order", len(actual), len(p.checks))
	}
	for i, n := range actual {
		if n < 0 || n > MaxActual {
			return field(indexed("actual", i), "%d is not between 0 and %d", n, int64(MaxActual))
		}
	}
	set := d.rules.Load()
	asks := make([]ask, len(p.checks))
	for i := range p.checks {
		c := &p.checks[i]
		asks[i] = ask{check: c, key: keyOf(c), rule: set.Resolve(c.Scope, c.Resource), cost: p.costs[i]}
	}
	t := p.ticket
	var of []int
	t.Demands, of = demands(asks)
	var costs []throttle.Cost
	if actual != nil {
		costs = make([]throttle.Cost, len(t.Demands))
		for i, n := range actual {
			used := &costs[of[i]].Points
			*used = min(*used+n*(p.costs[i]/p.checks[i].Tokens), throttle.MaxAmount)
		}
		for i := range costs {
			costs[i].Points = min(costs[i].Points, mostCharged(&t.Demands[i]))
		}
	}
	// A jump of the clock may have forgotten the mark.
	if wait := d.skew.wait(d.clock.Elapsed()); wait > 0 {
		return &UnavailableError{Reason: ClockSkew, RetryAfter: atLeast(wait)}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Between the two steps a caller that leaves would leave the reservation behind.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), d.runtime.Timeout, errTimeout)
	defer cancel()
	// The mark comes first: a permit that is ended twice at once ends once, on any replica.
	first, err := d.mark(ctx, &p)
	switch {
	case err != nil:
		return unavailable(err, asks)
	case !first:
		return &PermitError{Problem: "ended"}
	}
	if costs == nil {
		err = d.fallback.Cancel(ctx, t)
	} else {
		err = d.fallback.End(ctx, t, costs)
	}
	switch {
	case errors.Is(err, quota.ErrLeaseLost):
		return &PermitError{Problem: "ended"}
	case err != nil:
		return unavailable(err, asks)
	}
	return nil
}

// mark notes that p ends, and reports whether it had not ended before. In a store in memory the mark would take the room of a limit.
func (d *Decider) mark(ctx context.Context, p *permit) (first bool, err error) {
	if p.local {
		return d.ended.add(binary.LittleEndian.Uint64(p.mac), d.clock.Elapsed()), nil
	}
	g, err := d.raw.Take(ctx, quota.Request{Demands: []quota.Demand{{
		Key: prefix + "ended/" + hex.EncodeToString(p.mac), Limits: d.permits.once, Cost: one,
	}}})
	return g.Wait == 0, err
}

// mostCharged is how much of d a settlement can charge: a number in a request must not stop calls for days. A bucket keeps
// a debt until it has refilled, and other windows forget theirs when they end.
func mostCharged(d *quota.Demand) int64 {
	const longest = time.Hour
	most := int64(throttle.MaxAmount)
	for _, w := range d.Limits.Windows {
		if w.Kind() == throttle.TokenBucket {
			most = min(most, max(w.Max(), d.Cost.Points, int64(w.Rate()*longest.Seconds())))
		}
	}
	return most
}

// Bucket returns what the store holds about one limit. It takes nothing.
func (d *Decider) Bucket(ctx context.Context, scope, identifier, resource string) (Bucket, error) {
	c := Check{Scope: scope, Identifier: identifier, Resource: resource, DryRun: true}
	if err := c.complete(""); err != nil {
		return Bucket{}, err
	}
	set := d.rules.Load()
	x := newAsk(set, &c)
	x.cost = 1
	a, err := d.take(ctx, []ask{x}, true)
	if err != nil {
		return Bucket{}, err
	}
	r := &a.Results[0]
	return Bucket{c.Scope, c.Identifier, c.Resource, r.Rule, r.Capacity, r.Remaining, r.Windows, r.ResetAt, r.Degraded}, nil
}

// Forget deletes what the store holds about one limit, which is then full.
func (d *Decider) Forget(ctx context.Context, scope, identifier, resource string) error {
	c := Check{Scope: scope, Identifier: identifier, Resource: resource}
	if err := c.complete(""); err != nil {
		return err
	}
	i, ok := d.raw.(quota.Inspector)
	if !ok {
		return &fault.FieldError{Owner: owner, Field: "store", Problem: "it cannot forget limits: use memory, SQLite or Redis"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.runtime.Timeout, errTimeout)
	defer cancel()
	if err := i.Forget(ctx, keyOf(&c)); err != nil {
		return unavailable(err, nil)
	}
	return nil
}
