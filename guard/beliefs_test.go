package guard_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// server is a provider with a token bucket, and what else it makes of a call.
type server struct {
	mu    sync.Mutex
	rate  float64 // calls per second
	burst float64
	left  float64
	at    time.Time
	began time.Time
	lasts time.Duration // a call that is taken, on average
	luck  *rand.Rand

	// answer says what becomes of a call; admitted is what the bucket says.
	answer func(at time.Duration, admitted bool) adaptive.Feedback

	ended func() // a call that was taken has; nil: nothing happens

	taken, refused int
	last           time.Duration // of those that were taken
}

func newServer(rate, burst float64) *server {
	now := time.Now()
	return &server{rate: rate, burst: burst, left: burst, at: now, began: now, lasts: 300 * time.Millisecond, luck: rand.New(rand.NewPCG(1, 2))}
}

func (s *server) call(ctx context.Context) error {
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	now := time.Now()
	s.left = min(s.burst, s.left+s.rate*now.Sub(s.at).Seconds())
	s.at = now
	admitted := s.left >= 1
	f := s.answer(now.Sub(s.began), admitted)
	if f.Verdict == adaptive.OK {
		s.left--
		s.taken++
		s.last = now.Sub(s.began)
	} else {
		s.refused++
	}
	lasts := time.Duration((0.5 + s.luck.Float64()) * float64(s.lasts))
	s.mu.Unlock()
	guard.Report(ctx, f)
	if f.Verdict != adaptive.OK {
		return errTurnedAway
	}
	time.Sleep(lasts)
	if s.ended != nil {
		s.ended()
	}
	return nil
}

// work sends calls of a cost through a new guard, so many at a time, until all are
// done or the time is up, and returns how long the taken ones took.
func (s *server) work(t *testing.T, p guard.Policy, calls, parallel int, c throttle.Cost, most time.Duration) time.Duration {
	t.Helper()
	l := made(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	s.began = time.Now()
	todo := make(chan struct{}, calls)
	for range calls {
		todo <- struct{}{}
	}
	close(todo)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for range todo {
				err := l.Do(ctx, c, s.call)
				for ; err != nil && ctx.Err() == nil; err = l.Do(ctx, c, s.call) {
					if errors.As(err, new(*adaptive.RateLimitHit)) {
						time.Sleep(time.Second) // the guard is closed
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, ctx.Err(), "%d of %d calls in %v, %d refused", s.taken, calls, most, s.refused)
	return s.last
}

func rejected(after time.Duration) adaptive.Feedback {
	return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: after}
}

var errTurnedAway = errors.New("turned away")

var taken = adaptive.Feedback{Verdict: adaptive.OK}

func TestACallLargerThanWhatTheHeaderCanEverHoldIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(100, 100)
		s.answer = func(time.Duration, bool) adaptive.Feedback {
			f := taken
			f.Meters[throttle.Tokens] = adaptive.Meter{Known: true, Limit: 30_000, Remaining: 29_000, Reset: 2 * time.Second}
			return f
		}
		s.work(t, guard.Policy{Law: adaptive.Measured{}}, 20, 4, throttle.Cost{Tokens: 40_000}, 30*time.Minute)
	})
}

func TestOneOverloadInAHundredCostsNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, luck := newServer(20, 20), rand.New(rand.NewPCG(1, 1))
		s.answer = func(_ time.Duration, admitted bool) adaptive.Feedback {
			switch {
			case luck.Float64() < 0.01:
				return adaptive.Feedback{Verdict: adaptive.Overloaded}
			case !admitted:
				return rejected(time.Second)
			}
			return taken
		}
		took := s.work(t, guard.Policy{}, 6000, 32, throttle.Cost{}, time.Hour)
		assert.Less(t, took, 330*time.Second, "300 s are possible")
	})
}

func TestAHeaderOfOneCallPerSecondIsFollowedAtThatRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1, 1)
		s.answer = func(_ time.Duration, admitted bool) adaptive.Feedback {
			f := taken
			if !admitted {
				f = rejected(time.Second)
			}
			f.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 1, Reset: time.Second}
			return f
		}
		took := s.work(t, guard.Policy{Law: adaptive.Measured{}}, 300, 8, throttle.Cost{}, time.Hour)
		assert.Less(t, took, 360*time.Second, "300 s are possible")
	})
}

func TestAnOutageIsNoWindow(t *testing.T) {
	for name, after := range map[string]time.Duration{"that says for how long": time.Second, "that does not": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const from, to = 5 * time.Minute, 25 * time.Minute
				s := newServer(10, 10)
				s.answer = func(at time.Duration, admitted bool) adaptive.Feedback {
					if !admitted || at > from && at < to {
						return rejected(after)
					}
					return taken
				}
				took := s.work(t, guard.Policy{Law: adaptive.Measured{}, MaxWait: time.Hour}, 9000, 32, throttle.Cost{}, 3*time.Hour)
				assert.Less(t, took, 42*time.Minute, "35 are possible: five before the outage, ten after it")
			})
		})
	}
}

func TestSilentRejectionsAreOursAfterOneThatSaidForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first := newServer(10, 10), true
		s.answer = func(_ time.Duration, admitted bool) adaptive.Feedback {
			switch {
			case admitted:
				return taken
			case first:
				first = false
				return rejected(time.Second)
			}
			return rejected(0)
		}
		took := s.work(t, guard.Policy{}, 3000, 32, throttle.Cost{}, time.Hour)
		assert.Less(t, took, 400*time.Second, "300 s are possible")
		assert.Less(t, s.refused, 450, "15 % of the calls")
	})
}

// shedding is a service that turns calls away with f while more than most are in flight.
func shedding(s *server, most int, f adaptive.Feedback) {
	var inside atomic.Int64
	s.ended = func() { inside.Add(-1) }
	s.answer = func(time.Duration, bool) adaptive.Feedback {
		if inside.Load() >= int64(most) {
			return f
		}
		inside.Add(1)
		return taken
	}
}

func TestAServiceThatShedsIsNotFlooded(t *testing.T) {
	for name, f := range map[string]adaptive.Feedback{
		"plain 503":              {Verdict: adaptive.Transient, Kind: adaptive.KindOverload},
		"overloaded":             {Verdict: adaptive.Overloaded},
		"503 that says how long": {Verdict: adaptive.Overloaded, RetryAfter: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(1e6, 1e6)
				shedding(s, 20, f)
				took := s.work(t, guard.Policy{}, 8_000, 64, throttle.Cost{}, time.Hour)
				assert.Less(t, took, 180*time.Second, "120 s are possible, without a pause")
				assert.Less(t, s.refused, 800, "one call in ten; 64 of them come at once to 20 places")
			})
		})
	}
}

// A failure that says nothing of a service that is full bounds nothing.
func TestOtherFailuresAreNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1e6, 1e6)
		shedding(s, 20, adaptive.Feedback{Verdict: adaptive.Transient})
		s.work(t, guard.Policy{}, 1000, 64, throttle.Cost{}, time.Hour)
		assert.Greater(t, s.refused, 1000)
	})
}

func TestAnOutageOfTheWholeServiceIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from, to = time.Minute, 21 * time.Minute
		s := newServer(10, 10)
		s.answer = func(at time.Duration, admitted bool) adaptive.Feedback {
			switch {
			case at > from && at < to:
				return adaptive.Feedback{Verdict: adaptive.Overloaded}
			case !admitted:
				return rejected(time.Second)
			}
			return taken
		}
		took := s.work(t, guard.Policy{MaxWait: time.Hour}, 3000, 32, throttle.Cost{}, 2*time.Hour)
		assert.Less(t, took, 27*time.Minute, "25 are possible: one before the outage, four after it")
		assert.Less(t, s.refused, 250, "a knock each half minute")
	})
}

func TestHeadersOfAnotherQuotaDoNotOverruleThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(10, 10)
		s.answer = func(_ time.Duration, admitted bool) adaptive.Feedback {
			f := taken
			if !admitted {
				f = rejected(time.Second)
			}
			f.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 6000, Remaining: 5900, Reset: time.Second}
			return f
		}
		took := s.work(t, guard.Policy{Law: adaptive.Measured{}}, 3000, 32, throttle.Cost{}, time.Hour)
		assert.Less(t, took, 8*time.Minute, "5 are possible")
		assert.Less(t, s.refused, 450, "15 % of the calls: they are believed again now and then")
	})
}

// A plain 503 pauses calls for a moment, whatever time it names: it is no pause that the provider asks for.
func TestAPlain503ObeysNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.Measured{}})
		began := time.Now()
		for range 3 {
			err := l.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
				guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient, Kind: adaptive.KindOverload, RetryAfter: 3 * time.Hour})
				return errTurnedAway
			})
			require.ErrorIs(t, err, errTurnedAway)
		}
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestOnePlain503StartsNoLaw(t *testing.T) {
	for name, c := range map[string]struct {
		apart time.Duration
		bound bool
	}{"two at once": {time.Second, true}, "two in a minute": {time.Minute, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, guard.Policy{})
				for range 2 {
					_ = l.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
						guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient, Kind: adaptive.KindOverload})
						return errTurnedAway
					})
					time.Sleep(c.apart)
				}
				assert.Equal(t, c.bound, l.Stats().View.Concurrency > 0)
			})
		})
	}
}

// Pauses after an overload fill the provider's bucket, which spills: the mean since the last 429 is below the limit.
func TestARateIsNoLessThanWhatWasAdmittedLately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, luck := newServer(10, 10), rand.New(rand.NewPCG(1, 1))
		s.answer = func(_ time.Duration, admitted bool) adaptive.Feedback {
			switch {
			case luck.Float64() < 0.01:
				return adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: time.Second}
			case !admitted:
				return rejected(time.Second)
			}
			return taken
		}
		took := s.work(t, guard.Policy{}, 6000, 32, throttle.Cost{}, time.Hour)
		assert.Less(t, took, 660*time.Second, "600 s are possible")
	})
}
