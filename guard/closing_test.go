package guard_test

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// answers makes calls that fail with each error, a second apart.
func answers(t *testing.T, l *guard.Guard, errs ...error) {
	t.Helper()
	var wg sync.WaitGroup
	for i, err := range errs {
		wg.Go(func() {
			assert.Error(t, do(t.Context(), l, func(context.Context) error {
				time.Sleep(time.Duration(i+1) * time.Second)
				return err
			}))
		})
	}
	wg.Wait()
}

func TestALongRetryAfterIsReturnedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error {
			return &adaptive.RateLimitHit{RetryAfter: 10*time.Minute + 1}
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, time.Minute, l.Stats().View.GateUntil.Sub(began), "then one call looks")

		l = made(t, guard.Policy{})
		fn, _ := rejectedOnce(10 * time.Minute)
		require.NoError(t, do(t.Context(), l, fn), "ten minutes are waited out")
	})
}

func TestALongRetryAfterClosesTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		var queued, sent atomic.Int64
		call := func(fn func(context.Context) error) error {
			return do(t.Context(), l, func(ctx context.Context) error {
				sent.Add(1)
				return fn(ctx)
			})
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = call(func(context.Context) error {
				time.Sleep(time.Second)
				return &adaptive.RateLimitHit{RetryAfter: time.Hour}
			})
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				var hit *adaptive.RateLimitHit
				if errors.As(call(func(context.Context) error { return nil }), &hit) && hit.RetryAfter == time.Hour {
					queued.Add(1)
				}
			})
		}
		wg.Wait()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, call(func(context.Context) error { return nil }), &hit, "a later call")
		assert.Equal(t, int64(5), queued.Load(), "the waiting calls")
		assert.Equal(t, int64(1), sent.Load(), "none is sent after the rejection")

		time.Sleep(2 * time.Hour)
		require.NoError(t, call(func(context.Context) error { return nil }), "it opens again by itself")
	})
}

func TestResetKeepsTheClosingOfALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 5 * time.Hour})
		require.NoError(t, l.Reset())
		began := time.Now()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(t.Context(), l, ok(0)), &hit)
		assert.Zero(t, time.Since(began))
	})
}

// shut is a provider that admits nothing until an instant, and says for how long.
func shut(until time.Time, sent *[]time.Duration) func(context.Context) error {
	began := time.Now()
	return func(context.Context) error {
		*sent = append(*sent, time.Since(began))
		if left := time.Until(until); left > 0 {
			return &adaptive.RateLimitHit{RetryAfter: left}
		}
		return nil
	}
}

func minutes(n ...int) (all []time.Duration) {
	for _, m := range n {
		all = append(all, time.Duration(m)*time.Minute)
	}
	return all
}

// The time that a provider names may be wrong.
func TestOneCallLooksWhetherALongRetryAfterIsTrue(t *testing.T) {
	for name, law := range map[string]adaptive.Law{"lazy": nil, "AIMD": adaptive.AIMD{}, "Measured": adaptive.Measured{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, guard.Policy{Law: law})
				var sent []time.Duration
				call := shut(time.Now().Add(50*365*24*time.Hour), &sent)
				for range 1 + 4*60*6 {
					var hit *adaptive.RateLimitHit
					require.ErrorAs(t, do(t.Context(), l, call), &hit)
					assert.Equal(t, 24*time.Hour, hit.RetryAfter, "it fits an HTTP header")
					time.Sleep(10 * time.Second)
				}
				assert.Equal(t, minutes(0, 1, 3, 7, 15, 31, 63, 123, 183), sent)
				time.Sleep(time.Hour)
				require.NoError(t, do(t.Context(), l, ok(0)), "it was not true")
				require.NoError(t, do(t.Context(), l, ok(0)))
			})
		})
	}
}

func TestTheOthersWaitForTheCallThatLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour})
		time.Sleep(time.Hour)
		var sent atomic.Int64
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					sent.Add(1)
					time.Sleep(time.Second)
					return nil
				}))
			})
		}
		synctest.Wait()
		assert.EqualValues(t, 1, sent.Load())
		wg.Wait()
		assert.EqualValues(t, 5, sent.Load())
	})
}

// Responses to other calls in flight about the same closing do not delay a look.
func TestCallsInFlightAtTheClosingCountOnce(t *testing.T) {
	for name, err := range map[string]error{"a long Retry-After": &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour}, "a used-up quota": statusError(402)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, guard.Policy{})
				answers(t, l, err, err, err, err, err)
				time.Sleep(55 * time.Second)
				require.Error(t, do(t.Context(), l, ok(0)))
				time.Sleep(time.Second)
				require.NoError(t, do(t.Context(), l, ok(0)))
			})
		})
	}
}

// A look finds out how long it is still closed, and a call waits for as long as
// that when it is no longer too long.
func TestALongRetryAfterThatIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		var sent []time.Duration
		call := shut(time.Now().Add(16*time.Minute), &sent)
		for range 10 {
			require.ErrorAs(t, do(t.Context(), l, call), new(*adaptive.RateLimitHit))
			time.Sleep(50 * time.Second)
		}
		require.NoError(t, do(t.Context(), l, call))
		require.Len(t, sent, 5)
		assert.Equal(t, []time.Duration{0, 100 * time.Second, 250 * time.Second}, sent[:3])
		assert.GreaterOrEqual(t, sent[4], 16*time.Minute)
	})
}

// Calls that may wait so long do, in their order, and the provider is asked as rarely.
func TestALongRetryAfterIsWaitedOutWithinMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(1)
		c.MaxWait = 2 * time.Hour
		l := made(t, c)
		var sent []time.Duration
		call := shut(time.Now().Add(time.Hour), &sent)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, call)) })
		}
		wg.Wait()
		require.Len(t, sent, 9)
		assert.Equal(t, minutes(0, 1, 3, 7, 15, 31, 60), sent[:7])
		assert.Less(t, sent[8], time.Hour+time.Minute)
	})
}

// Ten calls a second succeed, and all others get a Retry-After of a century.
func TestACenturyIsNotBelievedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 20}})
		var mu sync.Mutex
		var second, admitted int64
		call := func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if now := time.Now().Unix(); now != second {
				second, admitted = now, 0
			}
			if admitted++; admitted > 10 {
				return &adaptive.RateLimitHit{RetryAfter: 100 * 365 * 24 * time.Hour}
			}
			return nil
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _ = do(t.Context(), l, call) })
		}
		wg.Wait()
		require.Error(t, do(t.Context(), l, call), "it is believed at first")
		time.Sleep(time.Minute)
		for range 20 {
			wg.Go(func() {
				for range 10 {
					assert.NoError(t, do(t.Context(), l, call))
				}
			})
		}
		wg.Wait()
	})
}

// A million calls do not give up one after the other, each after MaxWait.
func TestAKeyThatRefusesEverythingIsClosedAfterMaxWait(t *testing.T) {
	for most, closed := range map[time.Duration]time.Duration{0: 15 * time.Minute, time.Minute: 15 * time.Minute, time.Hour: time.Hour} {
		t.Run(most.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := capped(5)
				c.MaxWait = most
				l := made(t, c)
				began := time.Now()
				var sent atomic.Int64
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						for range 200 {
							assert.Error(t, do(t.Context(), l, func(context.Context) error {
								sent.Add(1)
								time.Sleep(time.Second)
								return &adaptive.RateLimitHit{}
							}))
						}
					})
				}
				wg.Wait()
				assert.InDelta(t, closed.Minutes(), time.Since(began).Minutes(), 2)
				before := sent.Load()
				require.Error(t, do(t.Context(), l, ok(0)), "it is closed")
				time.Sleep(time.Minute)
				require.NoError(t, do(t.Context(), l, ok(0)), "one call looks")
				assert.Equal(t, before, sent.Load())
			})
		})
	}
}

func TestALookThatHangsHoldsTheOthersForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour})
		time.Sleep(time.Hour)
		hung, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.Error(t, do(hung, l, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}))
		})
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, do(ctx, l, ok(0)))
		assert.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, do(ctx, l, ok(0)))
		assert.Equal(t, time.Minute, time.Since(began), "it is open again")
		end()
		wg.Wait()
	})
}

// A refusal of a call that was sent before the closing says nothing about the look.
func TestALateRefusalDoesNotEndTheLook(t *testing.T) {
	for name, p := range map[string]guard.Policy{"a call without admission": {}, "an admitted call": capped(3)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, p)
				century := &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour}
				var wg sync.WaitGroup
				wg.Go(func() {
					assert.Error(t, do(t.Context(), l, func(context.Context) error {
						time.Sleep(90 * time.Second)
						return century
					}))
				})
				synctest.Wait()
				answers(t, l, century)
				time.Sleep(70 * time.Second)
				require.NoError(t, do(t.Context(), l, ok(30*time.Second)), "it looks")
				wg.Wait()
				require.NoError(t, do(t.Context(), l, ok(0)))
			})
		})
	}
}

// Two refusals with no call between them do not show that no call would have got through.
func TestRefusalsFarApartDoNotCloseTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{MaxWait: time.Second})
		require.Error(t, do(t.Context(), l, func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: time.Minute} }))
		time.Sleep(24 * time.Hour)
		fn, _ := rejectedOnce(100 * time.Millisecond)
		require.NoError(t, do(t.Context(), l, fn))
	})
}

func TestReopenEndsThePauseBeforeTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour})
		l.Reopen()
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assert.Zero(t, time.Since(began))
	})
}

// A cooldown in the store cannot be taken back: it does not outlast the time until the first look.
func TestALongRetryAfterIsLookedAtWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Name: "api", Store: quota.NewMemoryStore(nil), MaxWait: 48 * time.Hour})
		began := time.Now()
		fn, _ := rejectedOnce(24 * time.Hour)
		require.NoError(t, do(t.Context(), l, fn))
		assert.Equal(t, time.Minute, time.Since(began))
		fn, _ = rejectedOnce(24 * time.Hour)
		require.NoError(t, do(t.Context(), l, fn), "it is not believed twice")
		assert.Less(t, time.Since(began), 2*time.Minute)
	})
}

func TestTheClosingAndItsEndAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []event.Event
		l := made(t, guard.Policy{Observer: event.Func(func(e event.Event) {
			if e.Kind == event.LimiterClosed || e.Kind == event.LimiterReopened {
				seen = append(seen, e)
			}
		})})
		began := time.Now()
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: time.Hour})
		time.Sleep(2 * time.Minute)
		require.NoError(t, do(t.Context(), l, ok(time.Second)))
		require.Len(t, seen, 2)
		assert.Equal(t, event.LimiterClosed, seen[0].Kind)
		assert.Equal(t, time.Hour, seen[0].Wait)
		assert.Equal(t, event.LimiterReopened, seen[1].Kind)
		assert.Equal(t, 2*time.Minute+2*time.Second, seen[1].Time.Sub(began))
	})
}

// A call with a deadline learns why the guard is closed, and not only that it is too late.
func TestAClosedGuardSaysWhyToACallWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		require.Error(t, do(t.Context(), l, func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: time.Hour} }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(ctx, l, ok(0)), &hit)
		assert.Equal(t, time.Hour, hit.RetryAfter)
	})
}

func TestANegativeRetryAfterIsNone(t *testing.T) {
	for _, after := range []time.Duration{-1, -time.Hour, math.MinInt64} {
		synctest.Test(t, func(t *testing.T) {
			g := made(t, guard.Policy{MaxWait: time.Minute})
			for _, answer := range []func(ctx context.Context) error{
				func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: after} },
				func(ctx context.Context) error { guard.Report(ctx, hitAfter(after)); return io.EOF },
			} {
				hit := new(adaptive.RateLimitHit)
				require.ErrorAs(t, do(t.Context(), g, answer), &hit)
				assert.Zero(t, hit.RetryAfter)
			}
		})
	}
}

// The time of a closure measures nothing, and nothing grows in it.
func TestALongClosureLeavesTheLearnedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{MaxWait: 2 * time.Hour, Law: adaptive.Measured{}})
		closes := time.Now().Add(2 * time.Minute)
		opens := closes.Add(time.Hour)
		var mu sync.Mutex
		var second, admitted int64
		refused := false
		call := func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			switch left := opens.Sub(now); {
			case now.After(closes) && left > 0:
				return &adaptive.RateLimitHit{RetryAfter: left}
			case left <= 0 && !refused: // the look
				refused = true
				return &adaptive.RateLimitHit{}
			}
			if now := now.Unix(); now != second {
				second, admitted = now, 0
			}
			if admitted++; admitted > 10 { // without a kind, a cap may be learned instead
				return &adaptive.RateLimitHit{Kind: adaptive.KindRequests}
			}
			return nil
		}
		var wg sync.WaitGroup
		var stop atomic.Bool
		for range 20 {
			wg.Go(func() {
				for !stop.Load() && do(t.Context(), l, call) == nil {
				}
			})
		}
		pace := func() float64 { return l.Stats().View.Pace[throttle.Requests] }
		time.Sleep(time.Until(closes))
		before := pace()
		assert.InDelta(t, 10, before, 3)
		time.Sleep(time.Until(opens) - time.Second)
		assert.InDelta(t, before, pace(), 4)
		time.Sleep(2 * time.Second)
		mu.Lock()
		assert.True(t, refused)
		mu.Unlock()
		assert.InDelta(t, before, pace(), 4)
		stop.Store(true)
		wg.Wait()
	})
}

// MaxWait covers what was asked for, and not what fits an HTTP header.
func TestAWaitOfMoreThanADay(t *testing.T) {
	for asked, c := range map[time.Duration]struct {
		most  time.Duration
		waits bool
	}{
		100 * 365 * 24 * time.Hour: {24 * time.Hour, false},
		31 * time.Hour:             {30 * time.Hour, false},
		30 * time.Hour:             {31 * time.Hour, true},
	} {
		t.Run(asked.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, guard.Policy{MaxWait: c.most})
				var sent []time.Duration
				began := time.Now()
				err := do(t.Context(), l, shut(began.Add(asked), &sent))
				if c.waits {
					require.NoError(t, err)
					return
				}
				assert.Zero(t, time.Since(began))
				assert.EqualError(t, err, `adaptive: rate limit hit on "guard", retry after at least 24h0m0s`)
			})
		})
	}
}

// keyEvents are the events about a key that the provider closes.
func keyEvents(seen *[]string) event.Observer {
	var mu sync.Mutex // guards seen
	return event.Func(func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == event.LimiterClosed || e.Kind == event.LimiterReopened || e.Kind == event.LimiterVerdict {
			*seen = append(*seen, string(e.Kind)+": "+e.Reason)
		}
	})
}

func TestAClosingIsOneEvent(t *testing.T) {
	hour := &adaptive.RateLimitHit{RetryAfter: time.Hour}
	for name, c := range map[string]struct {
		err    error
		most   time.Duration
		reason string
	}{
		"a long Retry-After":           {hour, 0, "the provider asks to wait for 1h0m0s"},
		"one that calls only wait for": {hour, 2 * time.Hour, "the provider asks to wait for 1h0m0s"},
		"a used-up quota":              {statusError(402), 0, "quota exhausted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []string
				l := made(t, guard.Policy{MaxWait: c.most, Limits: throttle.Limits{Concurrency: 5}, Observer: keyEvents(&seen)})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				var wg sync.WaitGroup
				for range 2 { // the second time some of them look
					for i := range 5 {
						wg.Go(func() {
							assert.Error(t, do(ctx, l, func(context.Context) error {
								time.Sleep(time.Duration(i+1) * time.Second)
								return c.err
							}))
						})
					}
					time.Sleep(2 * time.Minute)
					if c.most == 0 {
						wg.Wait()
					}
				}
				cancel()
				wg.Wait()
				assert.Equal(t, []string{"limiter.closed: " + c.reason}, seen)
			})
		})
	}
}

func TestADoubtIsAnEventAndInWhy(t *testing.T) {
	const doubts = "(long waits that the provider asks for are not trusted)"
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		l := made(t, guard.Policy{Law: adaptive.AIMD{}, Observer: keyEvents(&seen)})
		century := &adaptive.RateLimitHit{RetryAfter: 100 * 365 * 24 * time.Hour}
		answers(t, l, century)
		assert.NotContains(t, l.Stats().Why, doubts)
		time.Sleep(2 * time.Minute)
		require.NoError(t, do(t.Context(), l, ok(time.Second)))
		assert.Contains(t, l.Stats().Why, ", 0 waiting "+doubts+": nothing holds it back")
		require.Len(t, seen, 3)
		assert.Equal(t, "limiter.verdict: a call got through during a long wait that the provider had asked for: such a wait is no longer trusted", seen[1])
		assert.Equal(t, "limiter.reopened: a call found it open", seen[2])
		answers(t, l, century) // refused until it is believed
		assert.NotContains(t, l.Stats().Why, doubts)
		require.Len(t, seen, 5)
		assert.Equal(t, "limiter.verdict: no call gets through: long waits that the provider asks for are trusted again", seen[3])
		assert.Contains(t, seen[4], "limiter.closed: the provider asks to wait for 36500 days or longer")
	})
}

// Refusals during a wait that the provider asks for are no silence, up to its end.
func TestALongRetryAfterIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		l := made(t, guard.Policy{Observer: keyEvents(&seen)})
		var sent []time.Duration
		call := shut(time.Now().Add(25*time.Minute), &sent)
		var err error
		for range 15 { // looks after 1, 3 and 7 minutes
			err = do(t.Context(), l, call)
			require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
			time.Sleep(time.Minute)
		}
		require.NoError(t, do(t.Context(), l, call), "the look after a quarter of an hour is asked to wait for ten minutes")
		assert.Equal(t, []string{"limiter.closed: the provider asks to wait for 25m0s", "limiter.reopened: a call found it open"}, seen[:2])
	})
}
