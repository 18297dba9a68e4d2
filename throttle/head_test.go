package throttle

import (
	"context"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crowd makes n callers wait on a limiter with timers that never fire: the test
// inspects the queue instead, at any later time.
func crowd(t *testing.T, n int, lim Limits, opts ...Option) (l *Limiter, fake *clockwork.FakeClock) {
	t.Helper()
	fake = clockwork.NewFakeClock()
	l, err := New(lim, append(opts, WithClock(stuck{fake}))...)
	require.NoError(t, err)
	for range n {
		join(t, l)
	}
	return l, fake
}

// enter is acquire for a test that looks at the waiter.
func (l *Limiter) enter(ctx context.Context, c Cost, keeps bool) (*waiter, Permit, error) {
	var n load
	n.set(&c)
	l.lock()
	if p, ok := l.takeSlotLocked(&n, keeps); ok {
		l.unlock()
		return nil, p, nil
	}
	return l.enterLocked(ctx, &n, lastPlace, keeps)
}

// join has another caller wait, unless it can go at once.
func join(t *testing.T, l *Limiter) *waiter {
	t.Helper()
	return joinWith(t, l, Cost{})
}

func joinWith(t *testing.T, l *Limiter, c Cost) *waiter {
	t.Helper()
	w, _, err := l.enter(t.Context(), c, false)
	require.NoError(t, err)
	return w
}

type stuck struct{ *clockwork.FakeClock }

func (stuck) AfterFunc(time.Duration, func()) clockwork.Timer {
	return clockwork.NewFakeClock().AfterFunc(time.Hour, func() {})
}

func admittedAfter(l *Limiter, fake *clockwork.FakeClock, d time.Duration) int64 {
	before := l.Stats().Admitted
	fake.Advance(d)
	l.Update(nil)
	return l.Stats().Admitted - before
}

// 20,000 calls a second, one at a time, stay 20,000 on a timer that can only
// fire once in a millisecond.
func TestTheHeadKeepsCreditWhileItsTimerIsLate(t *testing.T) {
	l, fake := crowd(t, 500, Limits{Windows: []Window{Bucket(20_000, 1)}})
	require.Equal(t, int64(1), l.Stats().Admitted)
	for range 10 {
		assert.Equal(t, int64(20), admittedAfter(l, fake, time.Millisecond))
	}
	assert.Equal(t, int64(10), admittedAfter(l, fake, 500*time.Microsecond))
}

// A process that stood still for long does not make up for it.
func TestTheCreditIsBounded(t *testing.T) {
	l, fake := crowd(t, 500, Limits{Windows: []Window{Bucket(20_000, 1)}})
	assert.Equal(t, int64(1+200), admittedAfter(l, fake, time.Minute), "10 ms of it")
}

// A guard is for calls that are counted by another clock: every bit of credit would count there.
func TestNoCreditUnderAGuard(t *testing.T) {
	l, fake := crowd(t, 500, Limits{Windows: []Window{Bucket(20_000, 1)}}, WithMargin(50*time.Microsecond))
	assert.Equal(t, int64(1), admittedAfter(l, fake, time.Millisecond))
	assert.Zero(t, admittedAfter(l, fake, 100*time.Microsecond-1))
	assert.Equal(t, int64(1), admittedAfter(l, fake, 1))
}

// Credit is for calls that were already waiting, not for newcomers.
func TestTheCreditBeginsWithTheArrival(t *testing.T) {
	l, fake := crowd(t, 2, Limits{Windows: []Window{Bucket(20_000, 1)}})
	fake.Advance(time.Millisecond - 50*time.Microsecond)
	assert.Nil(t, join(t, l), "the late head went first, and the bucket was full again")
	assert.Equal(t, int64(2+1), l.Stats().Admitted)
	fake.Advance(50*time.Microsecond - 1)
	assert.False(t, l.Allow(Cost{}), "it refills from the newcomer on")
	fake.Advance(1)
	assert.True(t, l.Allow(Cost{}))
}

// Only lateness is credited: not the time that the head waited for a slot.
func TestNoCreditWhileSomethingElseBinds(t *testing.T) {
	l, fake := crowd(t, 1, Limits{Concurrency: 1, Windows: []Window{Bucket(1000, 2)}})
	p, err := l.TryAcquire(Cost{})
	require.NoError(t, err)
	for range 5 {
		join(t, l)
	}
	require.Zero(t, admittedAfter(l, fake, time.Millisecond), "the bucket would do, but there is no slot")
	fake.Advance(time.Second)
	p.Release()
	assert.Equal(t, int64(2+2), l.Stats().Admitted, "the burst, and no more")
}

// A sliding window is exact by the time of the admission, however late.
func TestASlidingWindowGivesNoCredit(t *testing.T) {
	l, fake := crowd(t, 100, Limits{Windows: []Window{Sliding(1, 50*time.Microsecond)}})
	for range 5 {
		assert.Equal(t, int64(1), admittedAfter(l, fake, time.Millisecond))
	}
}

// With both, each keeps its own time.
func TestCreditBesideASlidingWindow(t *testing.T) {
	l, fake := crowd(t, 100, Limits{Windows: []Window{Bucket(20_000, 1), Sliding(10, time.Second)}})
	assert.Equal(t, int64(9), admittedAfter(l, fake, time.Millisecond))
	assert.Zero(t, admittedAfter(l, fake, time.Second-time.Millisecond-1))
	assert.Equal(t, int64(1), admittedAfter(l, fake, 1), "the credit is gone, since the window held it back")
}

// A call that the slower of two buckets held back could not use the faster one
// before: the faster one is credited only from then on.
func TestCreditOfTheFasterOfTwoBuckets(t *testing.T) {
	l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(20_000, 1), Bucket(250, 1).Of(Points)}})
	for range 3 {
		joinWith(t, l, Cost{Points: 1})
	}
	for range 300 {
		join(t, l)
	}
	require.Equal(t, int64(1), l.Stats().Admitted)
	assert.Equal(t, int64(2+4*20), admittedAfter(l, fake, 12*time.Millisecond), "two after 4 and 8 ms, then 4 ms of 20,000 a second")
}

// Units that return to a bucket late were not there before: calls with a late
// timer are served first, and no call is credited for the rest.
func TestNoCreditForWhatComesBack(t *testing.T) {
	l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(1000, 10)}})
	p, err := l.TryAcquire(Cost{Requests: 10})
	require.NoError(t, err)
	for range 30 {
		join(t, l)
	}
	fake.Advance(5 * time.Millisecond)
	p.Cancel()
	assert.Equal(t, int64(1+5+9), l.Stats().Admitted, "one for each of 5 ms, and the burst but for what overflowed")
}

// A bucket that was not there before has no credit for that time.
func TestNoCreditFromBeforeAChange(t *testing.T) {
	l, fake := crowd(t, 50, Limits{Windows: []Window{Sliding(1, time.Millisecond)}})
	fake.Advance(5 * time.Millisecond)
	require.NoError(t, l.SetLimits(Limits{Windows: []Window{Bucket(20_000, 1)}}))
	assert.Equal(t, int64(1+1), l.Stats().Admitted)
}

// A call that was credited is given back as of then: what the bucket held
// before the next one was full, and all of it would have overflowed.
func TestACreditedCallGivesBackAsOfItsCredit(t *testing.T) {
	l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(1000, 1)}})
	require.True(t, l.Allow(Cost{}))
	first, _, err := l.enter(t.Context(), Cost{}, true)
	require.NoError(t, err)
	join(t, l)
	require.Equal(t, int64(2), admittedAfter(l, fake, 2*time.Millisecond), "as of 1 and 2 ms")
	first.permit.Cancel()
	assert.False(t, l.Allow(Cost{}))
	fake.Advance(time.Millisecond)
	assert.True(t, l.Allow(Cost{}))
}

// No call is credited for the time before the calls ahead of it were admitted.
func TestNoCreditFromBeforeThoseAhead(t *testing.T) {
	l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(20_000, 1).Of(Tokens), Bucket(250, 1).Of(Points)}})
	for range 3 {
		joinWith(t, l, Cost{Points: 1})
	}
	for range 300 {
		joinWith(t, l, Cost{Tokens: 1})
	}
	assert.Equal(t, int64(2+1+4*20), admittedAfter(l, fake, 12*time.Millisecond), "two after 4 and 8 ms, then 4 ms of 20,000 a second")
}

// The bound holds behind a call that the bucket does not count, too.
func TestTheCreditIsBoundedBehindOthers(t *testing.T) {
	l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(20_000, 1).Of(Points)}})
	l.PauseUntil(fake.Now().Add(time.Second))
	join(t, l)
	for range 500 {
		joinWith(t, l, Cost{Points: 1})
	}
	assert.Equal(t, int64(1+1+200), admittedAfter(l, fake, time.Minute), "10 ms of it")
}

// A newcomer first serves the calls with timers that should have fired.
func TestANewcomerServesALateHeadFirst(t *testing.T) {
	l, fake := crowd(t, 3, Limits{Windows: []Window{Bucket(1000, 1)}})
	fake.Advance(time.Millisecond)
	_, err := l.TryAcquire(Cost{})
	var limited *LimitedError
	require.ErrorAs(t, err, &limited)
	assert.Equal(t, 2*time.Millisecond, limited.RetryAfter, "behind the one that waits")
	assert.Equal(t, int64(2), l.Stats().Admitted)
	fake.Advance(time.Millisecond)
	assert.False(t, l.Allow(Cost{}))
	assert.Equal(t, int64(3), l.Stats().Admitted)
	fake.Advance(time.Millisecond)
	assert.True(t, l.Allow(Cost{}))
}

// If a call ends while the timer is late, waiting calls do not lose their credit.
func TestTheEndOfACallDoesNotCostTheCredit(t *testing.T) {
	for name, end := range map[string]func(Permit){
		"released": Permit.Release,
		"settled":  func(p Permit) { p.Settle(Cost{Tokens: 5}) },
		"observed": func(p Permit) { p.End(Cost{Tokens: 1}, func(time.Time, Sent) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			l, fake := crowd(t, 0, Limits{Windows: []Window{Bucket(1000, 20), Sliding(1000, time.Hour).Of(Tokens)}})
			var open []Permit
			for range 20 {
				p, err := l.TryAcquire(Cost{Tokens: 10})
				require.NoError(t, err)
				open = append(open, p)
			}
			for range 200 {
				join(t, l)
			}
			for i, p := range open {
				fake.Advance(5 * time.Millisecond)
				end(p)
				require.Equal(t, int64(20+5*(i+1)), l.Stats().Admitted)
			}
		})
	}
}

// Credit is given once: new limits begin with what was really left. With a
// larger burst it would otherwise stay out for good, and more would follow.
func TestCreditIsPaidBackWhenTheLimitsChange(t *testing.T) {
	l, fake := crowd(t, 50, Limits{Windows: []Window{Bucket(1000, 1)}})
	require.Equal(t, int64(5), admittedAfter(l, fake, 5*time.Millisecond), "the first of them was 4 ms late")
	require.NoError(t, l.SetLimits(Limits{Windows: []Window{Bucket(1000, 1), Sliding(1<<30, time.Hour)}}))
	assert.Zero(t, admittedAfter(l, fake, 5*time.Millisecond-1))
	assert.Equal(t, int64(1), admittedAfter(l, fake, 1))
	require.NoError(t, l.SetLimits(Limits{Windows: []Window{Bucket(1000, 1)}}))
	assert.Equal(t, int64(1), admittedAfter(l, fake, time.Millisecond), "it is paid back once")
}

// A change of the limits does not keep a call from giving back what it took,
// unless part of that was credit, which the change has paid back already.
func TestGivingBackAfterAChange(t *testing.T) {
	bucket, sliding := Bucket(1000, 5), Sliding(5, time.Hour)
	for _, tc := range []struct {
		name   string
		w      Window
		credit bool
		spent  int64
	}{
		{"a bucket", bucket, false, 0},
		{"a bucket, with credit", bucket, true, 5 + 8},
		{"a sliding window", sliding, false, 0},
		{"a sliding window, with credit beside it", sliding, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lim := Limits{Windows: []Window{tc.w.Of(Tokens), Bucket(1000, 2)}}
			l, fake := crowd(t, 0, lim)
			if tc.credit {
				require.True(t, l.Allow(Cost{Requests: 2}))
				join(t, l)
				require.Equal(t, int64(1), admittedAfter(l, fake, 9*time.Millisecond), "8 ms late")
			}
			p, err := l.TryAcquire(Cost{Tokens: 5})
			require.NoError(t, err)
			lim.Windows = append(lim.Windows, Sliding(1<<30, time.Hour))
			require.NoError(t, l.SetLimits(lim))
			p.Cancel()
			assert.Equal(t, tc.spent, l.gauges[0].Spent(l.last))
		})
	}
}

// Limits that are set again, also with another concurrency, do not take back
// the credit that a bucket has given for a late timer.
func TestEqualLimitsCostABucketNothing(t *testing.T) {
	lim := Limits{Windows: []Window{Bucket(1000, 1)}}
	l, fake := crowd(t, 500, lim)
	alone, other := crowd(t, 500, lim)
	for i := range 50 {
		late := time.Duration(1+i%7)*time.Millisecond + time.Millisecond/3
		require.Equal(t, admittedAfter(alone, other, late), admittedAfter(l, fake, late))
		lim.Concurrency = 1000 + i%2
		require.NoError(t, l.SetLimits(lim))
		require.Equal(t, lim, l.Limits())
	}
	require.Equal(t, alone.Stats().Admitted, l.Stats().Admitted)
}
