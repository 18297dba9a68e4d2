package guard

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/throttle"
)

// engine is what this package uses of a throttle.Limiter besides its public
// methods. It is described there.
type engine interface {
	Govern(g ruler)
	SetMaxQueue(n int)

	Lock() (now time.Time)
	Unlock()
	Serve()

	Sent(p throttle.Permit) (throttle.Sent, bool)
	End(p throttle.Permit, actual throttle.Cost) *throttle.Sent
	Retract(p throttle.Permit) *throttle.Sent
	Close(t time.Time, cause error)
	Exclude(t time.Time, over *throttle.CostError)
	Open(cause error)
	InFlight() int
	Add(n int)
	Total() throttle.Sent

	Acquire(ctx context.Context, c throttle.Cost, seq int64, o onlooker) (throttle.Permit, error)
	AcquireAll(ctx context.Context, limiters []*throttle.Limiter, c throttle.Cost, places []int64, permits []throttle.Permit, o onlooker) error
	Earliest(limiters []*throttle.Limiter, c throttle.Cost) time.Duration
	TryAcquireAll(limiters []*throttle.Limiter, c throttle.Cost, permits []throttle.Permit) error
}

// onlooker is that of package throttle.
type onlooker = interface{ Queued() }

// ruler is the governor of package throttle.
type ruler = interface {
	Admit(now time.Time, c throttle.Cost, inFlight int) (wait time.Duration)
	Slack(now time.Time)
	OnSend(now time.Time, s throttle.Sent)
	OnUnsent(now time.Time, s throttle.Sent)
}

// limit makes the limiter and opens it.
func (g *Guard) limit(lim throttle.Limits, law ruler, opts ...throttle.Option) (err error) {
	if g.throttle, err = throttle.New(lim, opts...); err != nil {
		return err
	}
	g.engine = hook.Open[engine](g.throttle)
	if law != nil {
		g.engine.Govern(law)
	}
	return nil
}

// update runs f under the limiter's lock, and then serves the queue. f does not
// call the limiter.
func (g *Guard) update(f func(now time.Time)) {
	now := g.engine.Lock()
	defer g.engine.Serve()
	f(now)
}

// look runs f, which changes nothing, under the limiter's lock.
func (g *Guard) look(f func(now time.Time)) {
	now := g.engine.Lock()
	defer g.engine.Unlock()
	f(now)
}

// sent is what was noted when p was admitted; false if it has ended.
func (g *Guard) sent(p throttle.Permit) (s throttle.Sent, live bool) {
	g.engine.Lock()
	defer g.engine.Unlock()
	return g.engine.Sent(p)
}
