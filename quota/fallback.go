package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

const (
	defaultStoreTimeout = 500 * time.Millisecond
	defaultStoreOpen    = time.Second
	defaultStoreMaxOpen = 30 * time.Second
	// A call that reaches its caller's deadline within this fraction of the timeout does not show that the store is down.
	// Otherwise a few callers with deadlines of a millisecond would open the breaker for all. Envoy's default is 20 ms.
	hasty = 50
)

var errTimeout = errors.New("no answer in time")

// errNoBatch is for calls that the store does not take in a batch: each has to be a Take. The error of a Take may be
// errors.ErrUnsupported too, such as that of a system call, and then the store has failed.
var errNoBatch = fmt.Errorf("quota: not in a batch: %w", errors.ErrUnsupported)

// Fallback sets what a process does while its store is unavailable. The zero value fails every Take with the
// error of the store or, while the breaker is open, with a *breaker.OpenError.
type Fallback struct {
	// Share of each limit, but at least 1, is what this process admits without the store: 1/n for n
	// processes. Only what was admitted without the store counts. A call that costs more than its share of a
	// window allows fails.
	Share float64
	// Unlimited admits every call, with neither windows nor slots. It excludes Share.
	Unlimited bool
	// Timeout is how long a Take may take. 0 means 500 ms. A Take that reaches its caller's deadline within a
	// fiftieth of it does not count as a failure.
	Timeout time.Duration
	// Breaker decides when the store is no longer called. Open and MaxOpen default to 1 s and 30 s, Name to
	// "quota store"; nil for Classify means that errors about a request, a key or a lease are not failures.
	Breaker breaker.Config
	// Clock replaces the real clock in tests, also that of Breaker.
	Clock clockwork.Clock
}

// FallbackStats counts what became of the calls of Take since WithFallback.
type FallbackStats struct {
	Asked    int64         // the store was asked
	Failed   int64         // of these, failed, but not because of the request, or a caller's cancellation or early deadline
	Degraded int64         // were answered without the store
	Breaker  breaker.Stats // of the store; its Cause is the last failure
}

// FallbackStore is a Store with a Fallback. Make one with WithFallback. It is safe for concurrent use.
type FallbackStore struct {
	store   Store
	prompt  bool // store never waits, so that it needs no timeout
	config  Fallback
	breaker *breaker.Breaker
	local   Store // nil: there is no share

	asked, failed, degraded atomic.Int64
}

// WithFallback returns s with a fallback for Take. A Grant that was made without s has a Degraded error.
// Tickets of s go to s; those of the fallback stay in this process, and their Token is 0.
//
// When s is back, what was admitted without it is not in its windows: for one length of a window, as much
// as the shares of all processes may be admitted in excess.
func WithFallback(s Store, f Fallback) (*FallbackStore, error) {
	p := invalid.Problems{Owner: "quota"}
	if s == nil || invalid.Nil(s) {
		p.Addf("Store", "it is nil: give the store that the fallback is for")
	}
	if !(f.Share >= 0 && f.Share <= 1) {
		p.Addf("Share", "%g is not between 0 and 1: give 1/n for n processes", f.Share)
	}
	if f.Unlimited && f.Share != 0 {
		p.Addf("Unlimited", "it is set together with Share: leave one of them out")
	}
	if f.Timeout < 0 {
		p.Addf("Timeout", "%s is negative: use 0 for %s", f.Timeout, defaultStoreTimeout)
	}
	p.AddPart("Breaker", f.Breaker.Validate())
	if err := p.Err(); err != nil {
		return nil, err
	}
	f.Timeout = cmp.Or(f.Timeout, defaultStoreTimeout)
	c := f.Breaker
	c.Name = cmp.Or(c.Name, "quota store")
	c.Open = cmp.Or(c.Open, min(defaultStoreOpen, cmp.Or(c.MaxOpen, defaultStoreOpen)))
	c.MaxOpen = cmp.Or(c.MaxOpen, max(defaultStoreMaxOpen, c.Open))
	if c.Classify == nil {
		c.Classify = classify
	}
	if f.Clock != nil {
		c.Clock = f.Clock
	}
	b, err := breaker.New(c)
	if err != nil {
		return nil, err
	}
	d := &FallbackStore{store: s, config: f, breaker: b}
	_, d.prompt = s.(*memory)
	if f.Share > 0 {
		d.local = NewMemoryStore(f.Clock)
	}
	return d, nil
}

// classify says what an error of a store means for its breaker.
func classify(err error) breaker.Outcome {
	if about(err) {
		return breaker.Success
	}
	return breaker.Failure
}

// about reports whether an error is about the request or one of its keys, and not about the store.
func about(err error) bool {
	return errors.Is(err, ErrLeaseLost) || errors.As(err, new(*fault.FieldError)) || errors.As(err, new(*throttle.CostError))
}

// Take implements Store.
func (f *FallbackStore) Take(ctx context.Context, r Request) (g Grant, err error) {
	if err := r.Validate(); err != nil {
		return g, err
	}
	unavailable, err := f.ask(ctx, 1, func(ctx context.Context) (err error) {
		g, err = f.store.Take(ctx, r)
		return err
	})
	if unavailable != nil {
		return f.without(ctx, r, unavailable)
	}
	return g, err
}

// TakeBatch implements Batcher, if the store does.
func (f *FallbackStore) TakeBatch(ctx context.Context, r Request, n int) (grants []Grant, err error) {
	b, ok := f.store.(Batcher)
	if !ok || n < 1 {
		return nil, errors.ErrUnsupported
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	unavailable, err := f.ask(ctx, n, func(ctx context.Context) (err error) {
		grants, err = b.TakeBatch(ctx, r, n)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return errNoBatch
		case err == nil && len(grants) != n:
			return fmt.Errorf("quota: %d grants of a %T for %d calls", len(grants), b, n)
		}
		return err
	})
	if unavailable == nil {
		return grants, err
	}
	grants = make([]Grant, n)
	for i := range grants {
		if grants[i], err = f.without(ctx, r, unavailable); err != nil {
			for _, g := range grants[:i] {
				_ = f.Cancel(context.WithoutCancel(ctx), g.Ticket) // of this process: it does not fail
			}
			return nil, err
		}
		if grants[i].Wait > 0 {
			repeat(grants, i)
			f.degraded.Add(int64(n - i - 1))
			break
		}
	}
	return grants, nil
}

// ask makes n calls of the store, if the breaker allows it. Either error is nil: why there is no answer of the store, or
// what it answered.
func (f *FallbackStore) ask(ctx context.Context, n int, do func(ctx context.Context) error) (unavailable, err error) {
	t, err := f.breaker.Allow(ctx)
	if err == nil {
		err = f.askBefore(ctx, t, n, do)
	}
	switch {
	case err == nil || about(err) || errors.Is(err, errNoBatch):
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return err, nil
}

func (f *FallbackStore) askBefore(ctx context.Context, t breaker.Ticket, n int, do func(ctx context.Context) error) error {
	defer t.Cancel() // if the store panics, or was not asked
	f.asked.Add(int64(n))
	timed := ctx
	if !f.prompt {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeoutCause(ctx, f.config.Timeout, errTimeout)
		defer cancel()
	}
	began := time.Now() // deadlines are in real time
	err := do(timed)
	switch {
	case errors.Is(err, errNoBatch):
		f.asked.Add(int64(-n))
		return err
	case err != nil && ctx.Err() != nil && time.Since(began) < f.config.Timeout/hasty:
		return err
	}
	t.End(ctx, err)
	if err != nil && !about(err) && !errors.Is(ctx.Err(), context.Canceled) {
		f.failed.Add(int64(n))
	}
	return err
}

// without answers r without the store, because of an error.
func (f *FallbackStore) without(ctx context.Context, r Request, reason error) (g Grant, err error) {
	switch {
	case f.local != nil:
		if g, err = f.share(ctx, r); err != nil {
			if ctx.Err() != nil {
				return Grant{}, context.Cause(ctx)
			}
			return Grant{}, reason // the share of a window is less than the cost
		}
		if g.Wait > 0 { // the store may be back before that
			g.Wait = min(g.Wait, cmp.Or(f.breaker.Stats().RetryAfter, f.config.Timeout))
			g.Bound.Wait = g.Wait
		}
	case !f.config.Unlimited:
		return Grant{}, reason
	case r.Uses:
		g.Uses = make([][]throttle.WindowUse, len(r.Demands))
		for i := range r.Demands {
			g.Uses[i] = unused(r.Demands[i].Limits.Windows)
		}
	}
	f.degraded.Add(1)
	g.Degraded = reason
	return g, nil
}

// share takes from this process's share of the limits.
func (f *FallbackStore) share(ctx context.Context, r Request) (Grant, error) {
	demands := r.Demands
	r.Demands = slices.Clone(demands)
	for i := range r.Demands {
		r.Demands[i].Limits = scaled(demands[i].Limits, f.config.Share)
	}
	g, err := f.local.Take(ctx, r)
	if g.Ticket.ID != "" {
		g.Ticket.ID = localTicket + strconv.FormatInt(g.Ticket.Token, 36) + "." + g.Ticket.ID
		g.Ticket.Token, g.Ticket.Demands = 0, slices.Clone(demands)
	}
	return g, err
}

func scaled(l throttle.Limits, share float64) throttle.Limits {
	windows := make([]throttle.Window, len(l.Windows))
	for i, w := range l.Windows {
		windows[i] = w.Scaled(share)
	}
	if l.Concurrency > 0 {
		l.Concurrency = max(1, int(float64(l.Concurrency)*share))
	}
	l.Windows = windows
	return l
}

func unused(windows []throttle.Window) []throttle.WindowUse {
	uses := make([]throttle.WindowUse, 0, len(windows))
	for _, w := range windows {
		uses = append(uses, throttle.WindowUse{Window: w, Left: w.Max()})
	}
	return uses
}

// The ID of a ticket that was made without the store begins with localTicket, its token there and a dot.
const localTicket = "local."

// of returns the store that a ticket is from, and the ticket as that store made it.
func (f *FallbackStore) of(t Ticket) (Store, Ticket) {
	rest, local := strings.CutPrefix(t.ID, localTicket)
	token, id, ok := strings.Cut(rest, ".")
	if !local || !ok || f.local == nil {
		return f.store, t
	}
	t.ID = id
	t.Token, _ = strconv.ParseInt(token, 36, 64)
	return f.local, t
}

// End implements Store.
func (f *FallbackStore) End(ctx context.Context, t Ticket, actual []throttle.Cost) error {
	s, t := f.of(t)
	return s.End(ctx, t, actual)
}

// Cancel implements Store.
func (f *FallbackStore) Cancel(ctx context.Context, t Ticket) error {
	s, t := f.of(t)
	return s.Cancel(ctx, t)
}

// Renew implements Store.
func (f *FallbackStore) Renew(ctx context.Context, tickets []Ticket, lease time.Duration) (lost []Ticket, err error) {
	var ours, theirs []Ticket
	original := map[string]Ticket{}
	for _, t := range tickets {
		if s, own := f.of(t); s == f.local && f.local != nil {
			ours = append(ours, own)
			original[own.ID] = t
		} else {
			theirs = append(theirs, t)
		}
	}
	if len(ours) == 0 {
		return f.store.Renew(ctx, tickets, lease)
	}
	gone, err := f.local.Renew(ctx, ours, lease)
	for _, t := range gone {
		lost = append(lost, original[t.ID])
	}
	if err == nil && len(theirs) > 0 {
		gone, err = f.store.Renew(ctx, theirs, lease)
		lost = append(lost, gone...)
	}
	return lost, err
}

// Cooldown implements Store. It holds for the fallback too, whether or not the store can be reached.
func (f *FallbackStore) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if f.local != nil {
		if err := f.local.Cooldown(ctx, key, d); err != nil {
			return err
		}
	}
	return f.store.Cooldown(ctx, key, d)
}

// Changed implements Waker, if the store does.
func (f *FallbackStore) Changed(ctx context.Context, keys ...string) (<-chan struct{}, error) {
	if w, ok := f.store.(Waker); ok {
		return w.Changed(ctx, keys...)
	}
	return nil, fmt.Errorf("quota: a %T announces nothing", f.store)
}

// Unwrap returns the store that the fallback is for, such as to inspect it.
func (f *FallbackStore) Unwrap() Store { return f.store }

// Reset closes the breaker, with zero counts, so that the store is called again at once. Call it when the store
// is known to work again, for example after a successful probe.
func (f *FallbackStore) Reset() { f.breaker.Reset() }

// Stats returns a snapshot.
func (f *FallbackStore) Stats() FallbackStats {
	return FallbackStats{f.asked.Load(), f.failed.Load(), f.degraded.Load(), f.breaker.Stats()}
}

var (
	_ Store   = (*FallbackStore)(nil)
	_ Batcher = (*FallbackStore)(nil)
	_ Waker   = (*FallbackStore)(nil)
)
