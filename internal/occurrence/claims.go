package occurrence

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
)

// Claims are the parts that the runs of one scope have opened in journals, and
// all runs inside their items: they are of one owner. It is safe for concurrent use.
type Claims struct {
	ID string // of the owner; unique

	mu  sync.Mutex // guards all
	all map[any]*Claim
}

func newClaims() *Claims { return &Claims{ID: rand.Text(), all: map[any]*Claim{}} }

// ClaimsOf returns those of the scope of ctx; without a scope, new ones.
func ClaimsOf(ctx context.Context) *Claims {
	if b, ok := ctx.Value(bookKey{}).(*Book); ok {
		return b.claims
	}
	return newClaims()
}

// Claim counts the runs that have one part at the same time, as with Dedup, or when
// an attempt that hung was given up.
type Claim struct {
	of     *Claims
	key    any
	users  int           // of Take and Give, and runs; guarded by of.mu
	turn   chan struct{} // holds one while the claim is taken or given
	runs   int           // guarded by turn
	shared atomic.Bool
}

// enter returns the claim for key, for leave.
func (c *Claims) enter(key any) *Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[key]
	if one == nil {
		one = &Claim{of: c, key: key, turn: make(chan struct{}, 1)}
		c.all[key] = one
	}
	one.users++
	return one
}

func (c *Claim) leave() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(c.of.all, c.key)
	}
}

// Take calls open to open the part that key names for another run, and returns the claim for
// Give. One call at a time takes or gives a part.
func (c *Claims) Take(ctx context.Context, key any, open func() error) (*Claim, error) {
	claim := c.enter(key)
	taken := false
	defer func() {
		if !taken {
			claim.leave()
		}
	}()
	select {
	case claim.turn <- struct{}{}:
		defer func() { <-claim.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := open(); err != nil {
		return nil, err
	}
	taken = true
	if claim.runs++; claim.runs > 1 {
		claim.shared.Store(true)
	}
	return claim, nil
}

// Give ends what Take has begun. For the last run of a part it calls release.
func (c *Claim) Give(release func()) {
	defer c.leave()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.runs--; c.runs == 0 {
		release()
	}
}

// Shared reports whether another run has had the part at the same time, since the first of them took it.
func (c *Claim) Shared() bool { return c.shared.Load() }
