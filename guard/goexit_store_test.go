package guard_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// exitingStore is a store of which a method ends its goroutine, once.
type exitingStore struct {
	quota.Store

	at   string // which method
	take func() (quota.Grant, error)
}

func (s *exitingStore) exit(method string) {
	if s.at == method {
		s.at = ""
		runtime.Goexit()
	}
}

func (s *exitingStore) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if s.take != nil {
		if g, err := s.take(); g.Wait > 0 || err != nil {
			return g, err
		}
	}
	return s.Store.Take(ctx, r)
}

func (s *exitingStore) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	s.exit("End")
	return s.Store.End(ctx, t, actual)
}

func (s *exitingStore) Renew(ctx context.Context, tickets []quota.Ticket, d time.Duration) ([]quota.Ticket, error) {
	s.exit("Renew")
	return s.Store.Renew(ctx, tickets, d)
}

// The lease of a call is no longer renewed if the store ends the goroutine that reports its end.
func TestGoexitInTheStoreAtTheEndOfACall(t *testing.T) {
	for name, f := range map[string]func(context.Context) error{
		"ended": nothing,
		"hung":  ok(time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := throttle.Limits{Concurrency: 1}
				s := &exitingStore{Store: quota.NewMemoryStore(nil), at: "End"}
				outer := made(t, guard.Policy{Name: "outer", Limits: one, Store: s})
				g := made(t, guard.Policy{Name: "g", Limits: one, Store: s, Within: []*guard.Guard{outer}, Timeout: time.Second})
				exits(t, g, f)
				assert.Zero(t, g.Stats().InFlight+outer.Stats().InFlight)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, do(ctx, g, nothing))
				assert.Equal(t, int64(1), outer.Stats().StoreErrors+g.Stats().StoreErrors)
				time.Sleep(time.Minute)
			})
		})
	}
}

// The next renewal is not the business of a store that ends the goroutine of one.
func TestGoexitInTheStoreAtARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.NewMemoryStore(nil)
		p := guard.Policy{Name: "g", Limits: throttle.Limits{Concurrency: 1}, Store: store}
		another := made(t, p)
		p.Store = &exitingStore{Store: store, at: "Renew"}
		require.NoError(t, do(t.Context(), made(t, p), func(ctx context.Context) error {
			for range 10 {
				time.Sleep(10 * time.Second)
				assert.ErrorIs(t, another.Try(ctx, throttle.Cost{}, nothing), throttle.ErrLimited)
			}
			return nil
		}))
	})
}

// exitingOnce is a controller that calls runtime.Goexit once, where exits says.
type exitingOnce struct {
	adaptive.State

	sent, unsent int                         // so far
	exits        func(sent, unsent int) bool // after a call was sent, or was not
}

func (l *exitingOnce) Start(now time.Time, seed uint64) (s adaptive.State, err error) {
	l.State, err = adaptive.AIMD{}.Start(now, seed)
	return l, err
}

func (l *exitingOnce) OnSend(now time.Time, s throttle.Sent) {
	l.State.OnSend(now, s)
	l.sent++
	l.exit()
}

func (l *exitingOnce) OnResult(now time.Time, s throttle.Sent, inFlight int, f adaptive.Feedback) {
	l.State.OnResult(now, s, inFlight, f)
	if f.Verdict == adaptive.Unsent {
		l.unsent++
		l.exit()
	}
}

func (l *exitingOnce) exit() {
	if l.exits(l.sent, l.unsent) {
		runtime.Goexit()
	}
}

// After a refusal one call asks the store at a time. If a law ends its goroutine, it no longer asks.
func TestGoexitInALawWhileTheStoreIsAsked(t *testing.T) {
	for name, exits := range map[string]func(sent, unsent int) bool{
		"before": func(sent, unsent int) bool { return sent == 2 && unsent == 1 },
		"after":  func(_, unsent int) bool { return unsent == 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				s := &exitingStore{Store: quota.NewMemoryStore(nil), take: func() (g quota.Grant, err error) {
					switch asked++; {
					case asked == 1:
						g.Wait = time.Second
					case asked == 2 && name == "after":
						err = errors.New("broken")
					}
					return g, err
				}}
				g := made(t, guard.Policy{
					Name: "g", Store: s, Law: &exitingOnce{exits: exits},
					Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100, time.Minute)}},
				})
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = do(t.Context(), g, nothing)
				}()
				<-done
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, do(ctx, g, nothing))
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}
