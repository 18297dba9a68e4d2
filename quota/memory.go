package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/throttle"
)

// instant is a point in time as the duration since the store was made.
type instant = meter.Instant

// MemoryStore is a store in memory, for many keys in one process and for tests. It is as exact as a
// throttle.Limiter and safe for concurrent use.
//
// A key without history, lease and cooldown is forgotten: its next use starts with full buckets, under
// the limits of the demand. Above 2,097,152 keys, keys that have not been used for a long time are forgotten
// with their history, unless they have a lease or a cooldown. So many keys take 1 to 1.5 GB if most were used once; a sliding
// window with many recent calls takes up to 16 KB.
//
// A call that waits for a slot is asked to retry within 25 ms.
type MemoryStore interface {
	Store
	Batcher
	Inspector
	Waker
}

// mostKeys is how many keys a MemoryStore remembers with a history alone. Services make keys from what their clients send.
const mostKeys = 1 << 21

type memory struct {
	clock clock.Clock
	most  int // mostKeys

	mu     sync.Mutex // guards everything below
	last   instant
	seq    int64 // of the last ticket
	keys   map[string]*memoryKey
	ring   []*memoryKey // the same, in no order
	hand   int          // where the sweep of the ring goes on
	leases map[string]*memoryLease
	wakes  map[string]map[chan struct{}]struct{} // by key, see Changed
}

// NewMemoryStore returns an empty store; a nil clock means the real one.
func NewMemoryStore(c clockwork.Clock) MemoryStore { return newMemory(c) }

func newMemory(c clockwork.Clock) *memory {
	return &memory{
		clock: clock.New(c), most: mostKeys, keys: map[string]*memoryKey{}, leases: map[string]*memoryLease{},
		wakes: map[string]map[chan struct{}]struct{}{},
	}
}

// Take implements Store.
func (s *memory) Take(ctx context.Context, r Request) (Grant, error) {
	if ctx.Err() != nil {
		return Grant{}, context.Cause(ctx)
	}
	if err := r.Validate(); err != nil {
		return Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	g := s.takeLocked(now, &r)
	if r.Uses {
		for i := range r.Demands {
			g.Uses = append(g.Uses, s.usesLocked(now, &r.Demands[i]))
		}
	}
	return g, nil
}

// TakeBatch implements Batcher.
func (s *memory) TakeBatch(ctx context.Context, r Request, n int) ([]Grant, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.Peek || r.Uses || n < 1 {
		return nil, errors.ErrUnsupported
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	grants := make([]Grant, n)
	for i := range grants {
		if grants[i] = s.takeLocked(now, &r); grants[i].Wait > 0 {
			repeat(grants, i)
			break
		}
	}
	return grants, nil
}

// repeat makes all grants behind the one at i, which is refused, the same.
func repeat(grants []Grant, i int) {
	for j := i + 1; j < len(grants); j++ {
		grants[j] = grants[i]
	}
}

func (s *memory) takeLocked(now instant, r *Request) Grant {
	g := s.askLocked(now, r)
	if g.Wait == 0 && !r.Peek {
		g.Ticket = s.admitLocked(now, r)
	}
	return g
}

// askLocked returns what the call has to wait for, if anything.
func (s *memory) askLocked(now instant, r *Request) Grant {
	var b meter.Bound
	if !r.Peek {
		s.sweepLocked(now, 2*len(r.Demands))
	}
	for i := range r.Demands {
		d := &r.Demands[i]
		k := s.keys[d.Key]
		if k == nil {
			continue
		}
		under := s.underLocked(now, k, d.Limits)
		if !r.Peek {
			k.limited, k.used = under, now
		}
		b.Later(i, s.boundLocked(now, k, under, d))
	}
	return Grant{Wait: b.Wait, Bound: tally.Bound(b, r.Demands[b.Demand].Limits), Demand: b.Demand}
}

// admitLocked takes what r demands.
func (s *memory) admitLocked(now instant, r *Request) Ticket {
	// Gauges made for this call have to count it as one that they charge: seq is raised after it.
	t := Ticket{strconv.FormatInt(s.seq+1, 36), int64(now), s.seq + 1, slices.Clone(r.Demands)}
	l := memoryLease{id: t.ID, ends: after(now, r.Lease)}
	for i := range r.Demands {
		d := &r.Demands[i]
		if len(d.Limits.Windows) == 0 && d.Limits.Concurrency == 0 {
			continue // nothing to remember
		}
		k := s.keyLocked(now, d)
		k.charge(now, d.Cost)
		if d.Limits.Concurrency > 0 {
			l.hold(k)
		}
	}
	s.seq++
	if len(l.slots) > 0 {
		s.leases[l.id] = &l
	}
	return t
}

// End implements Store. Amounts outside 0..throttle.MaxAmount are clamped.
func (s *memory) End(ctx context.Context, t Ticket, actual []throttle.Cost) error {
	if err := ValidateEnd(t, actual); err != nil {
		return err
	}
	return s.end(ctx, t, func(i int, reserved meter.Amounts) meter.Amounts {
		if actual == nil {
			return reserved
		}
		return tally.Used(actual[i])
	})
}

// Cancel implements Store.
func (s *memory) Cancel(ctx context.Context, t Ticket) error {
	return s.end(ctx, t, func(int, meter.Amounts) meter.Amounts { return meter.Amounts{} })
}

func (s *memory) end(ctx context.Context, t Ticket, used func(i int, reserved meter.Amounts) meter.Amounts) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.ID == "" {
		return nil // nothing was taken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	if t.Leased() {
		l := s.leaseLocked(now, t)
		if l == nil {
			s.wakeAllLocked(t.Demands)
			return fmt.Errorf("%w: ticket %s", ErrLeaseLost, t.ID)
		}
		s.endLocked(l)
	}
	for i := range t.Demands {
		reserved := tally.Amounts(t.Demands[i].Cost)
		s.settleLocked(now, &t, &t.Demands[i], reserved, used(i, reserved))
	}
	s.wakeAllLocked(t.Demands)
	return nil
}

// Renew implements Store.
func (s *memory) Renew(ctx context.Context, tickets []Ticket, lease time.Duration) (lost []Ticket, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := ValidateRenew(tickets, lease); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	for _, t := range tickets {
		if !t.Leased() {
			continue
		}
		if l := s.leaseLocked(now, t); l != nil {
			l.renew(after(now, lease))
		} else {
			lost = append(lost, t)
		}
	}
	return lost, nil
}

// Cooldown implements Store. Without a positive d it changes nothing.
func (s *memory) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := ValidateCooldown(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	s.sweepLocked(now, 2)
	if d > 0 {
		k := s.keyLocked(now, &Demand{Key: key})
		k.cooled = max(k.cooled, after(now, d))
	}
	return nil
}

// nowLocked never steps back, whatever an injected clock does.
func (s *memory) nowLocked() instant {
	s.last = max(s.last, s.clock.Elapsed())
	return s.last
}

// after is now + d, as far as instants reach.
func after(now instant, d time.Duration) instant { return now + min(d, throttle.Forever-now) }
