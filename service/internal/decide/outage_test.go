package decide_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/throttle"
)

func unavailable(t *testing.T, err error) *decide.UnavailableError {
	t.Helper()
	u, ok := errors.AsType[*decide.UnavailableError](err)
	require.True(t, ok, "%v", err)
	return u
}

func TestOutageClosed(t *testing.T) {
	f := start(t, limits)
	f.store.set(func(s *shaky) { s.err = errDown })
	for i := range 5 {
		_, err := f.Check(t.Context(), search(1))
		u := unavailable(t, err)
		assert.Equal(t, decide.StorageUnavailable, u.Reason, i)
		assert.Equal(t, time.Second, u.RetryAfter)
		require.ErrorIs(t, err, errDown)
	}
	before := f.store.takes
	_, err := f.Check(t.Context(), search(1))
	u := unavailable(t, err)
	assert.Equal(t, decide.BreakerOpen, u.Reason)
	assert.Equal(t, 10*time.Second, u.RetryAfter, "what is left of the open time")
	assert.Equal(t, before, f.store.takes, "the store is not asked")
	f.clock.Advance(500 * time.Millisecond)
	_, err = f.Check(t.Context(), search(1))
	assert.Equal(t, 9500*time.Millisecond, unavailable(t, err).RetryAfter)
	assert.Equal(t, "unhealthy", f.Health(t.Context()).Status)
	assert.Equal(t, decide.State("open"), f.Health(t.Context()).Breaker)
	assert.Equal(t, "unavailable", (<-f.seen).Outcome)
}

func TestOutageOpen(t *testing.T) {
	f := start(t, limits+"runtime: {outage: open}")
	f.store.set(func(s *shaky) { s.err = errDown })
	for i := range 20 {
		r := f.check(t, search(10))
		assert.True(t, r.Allowed)
		want := decide.StorageUnavailable
		if i >= 5 {
			want = decide.BreakerOpen
		}
		assert.Equal(t, want, r.Degraded, i)
		assert.Equal(t, int64(10), r.Remaining)
		assert.Empty(t, r.Permit, "there is nothing to settle")
	}
	assert.Equal(t, "degraded", f.Health(t.Context()).Status)
}

// With outage: local a replica admits its share, and settles it by itself.
func TestOutageLocal(t *testing.T) {
	f := start(t, limits+"runtime: {outage: local, local_share: 0.5}")
	f.check(t, search(2))
	f.store.set(func(s *shaky) { s.err = errDown })
	r := f.check(t, search(3))
	assert.True(t, r.Allowed)
	assert.Equal(t, decide.StorageUnavailable, r.Degraded)
	assert.Equal(t, int64(2), r.Remaining)
	assert.Equal(t, int64(5), r.Capacity)
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{1}))
	assert.Equal(t, "ended", problemOf(t, f.Settle(t.Context(), r.Permit, []int64{1})))
	assert.True(t, f.check(t, search(4)).Allowed)
	assert.False(t, f.check(t, search(1)).Allowed)
	_, err := f.Check(t.Context(), search(6))
	_ = unavailable(t, err) // more than the share
	quota := decide.Check{Scope: "trial", Identifier: "alice", Resource: "x"}
	assert.True(t, f.check(t, quota).Allowed)
	r = f.check(t, quota)
	assert.False(t, r.Allowed)
	assert.Less(t, r.RetryAfter, time.Minute, "the share of a one-shot quota is used up, but the store may be back soon")
}

// A store that hangs yields the policy within one timeout, for settling too.
func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shaky{MemoryStore: quota.NewMemoryStore(nil)}
		d := realTime(t, store)
		r, err := d.Check(t.Context(), search(1))
		require.NoError(t, err)
		store.set(func(s *shaky) { s.hangs = true })
		for range 3 {
			began := time.Now()
			_, err = d.Check(t.Context(), search(1))
			_ = unavailable(t, err)
			assert.Equal(t, 500*time.Millisecond, time.Since(began))
		}
		began := time.Now()
		_ = unavailable(t, d.Settle(t.Context(), r.Permit, []int64{0}))
		assert.Equal(t, 500*time.Millisecond, time.Since(began))
	})
}

// Recovery does not wait for the open time of the breaker: within two seconds of the
// return of the store it is asked again, by the probe's account.
func TestRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shaky{MemoryStore: quota.NewMemoryStore(nil)}
		d := realTime(t, store)
		store.set(func(s *shaky) { s.err = errDown })
		for range 10 {
			_, err := d.Check(t.Context(), search(1))
			_ = unavailable(t, err)
		}
		<-time.After(time.Minute)
		_, err := d.Check(t.Context(), search(1))
		_ = unavailable(t, err)
		require.NotEqual(t, breaker.Closed, d.Stats().Breaker.State)
		store.set(func(s *shaky) { s.err = nil })
		<-time.After(2 * time.Second)
		r, err := d.Check(t.Context(), search(1))
		require.NoError(t, err)
		assert.True(t, r.Allowed)
		assert.Empty(t, r.Degraded)
		assert.Equal(t, "healthy", d.Health(t.Context()).Status)
		assert.True(t, d.Health(t.Context()).StoreReachable)
	})
}

// A damaged key of the probe says nothing about the store either.
func TestADamagedProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := realTime(t, &badProbe{MemoryStore: quota.NewMemoryStore(nil)})
		<-time.After(time.Second / 2)
		require.False(t, d.Health(t.Context()).StoreReachable)
		<-time.After(time.Second)
		assert.True(t, d.Health(t.Context()).StoreReachable)
	})
}

// badProbe is a store that cannot read the first key that a probe asks for.
type badProbe struct {
	quota.MemoryStore

	bad string
}

func (b *badProbe) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if key := r.Demands[0].Key; strings.Contains(key, "probe/") {
		if b.bad == "" {
			b.bad = key
		}
		if b.bad == key {
			return quota.Grant{}, &fault.FieldError{Owner: "store", Field: "key", Problem: "damaged"}
		}
	}
	return b.MemoryStore.Take(ctx, r)
}

// What callers cancel is no failure of the store.
func TestCancelledChecksDoNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shaky{MemoryStore: quota.NewMemoryStore(nil), hangs: true}
		d := realTime(t, store)
		for range 20 {
			ctx, cancel := cancelAfter(t, 10*time.Millisecond)
			_, err := d.Check(ctx, search(1))
			cancel()
			require.ErrorIs(t, err, errGone)
		}
		assert.Equal(t, breaker.Closed, d.Stats().Breaker.State)
	})
}

func TestSkew(t *testing.T) {
	for name, tc := range map[string]struct{ jump, closed time.Duration }{
		"ahead":       {30 * time.Second, 30 * time.Second},
		"back":        {-20 * time.Second, 20 * time.Second},
		"far ahead":   {48 * time.Hour, time.Hour},
		"a little":    {900 * time.Millisecond, 0},
		"back little": {-900 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits+"runtime: {outage: open}")
			f.check(t, search(1))
			f.store.set(func(s *shaky) { s.ahead = tc.jump })
			r, err := f.Check(t.Context(), search(1))
			if tc.closed == 0 {
				require.NoError(t, err)
				assert.True(t, r.Allowed)
				return
			}
			u := unavailable(t, err)
			assert.Equal(t, decide.ClockSkew, u.Reason, "it fails closed although the policy is open")
			assert.Equal(t, tc.closed, u.RetryAfter)
			assert.Equal(t, breaker.Closed, f.Stats().Breaker.State)
			assert.Zero(t, f.Stats().Failed)
			h := f.Health(t.Context())
			assert.Equal(t, "unhealthy", h.Status)
			assert.Equal(t, decide.ClockSkew, h.Reason)
			assert.Equal(t, int64(1), h.Jumps)
			f.clock.Advance(tc.closed - time.Nanosecond)
			_, err = f.Check(t.Context(), search(1))
			_ = unavailable(t, err)
			f.clock.Advance(time.Nanosecond)
			assert.True(t, f.check(t, search(1)).Allowed)
			assert.Equal(t, int64(1), f.Health(t.Context()).Jumps)
		})
	}
}

// Envoy's limits and those of clients are in the same store, and fail closed as well.
func TestSkewOfTheStore(t *testing.T) {
	r := quota.Request{Demands: []quota.Demand{{
		Key: "envoy/d/a=b", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(9, time.Minute)}},
	}}}
	for name, take := range map[string]func(s quota.Store) error{
		"a call": func(s quota.Store) error {
			_, err := s.Take(t.Context(), r)
			return err
		},
		"a batch": func(s quota.Store) error {
			grants, err := s.(quota.Batcher).TakeBatch(t.Context(), r, 2)
			if err == nil {
				assert.Len(t, grants, 2)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits+"runtime: {outage: open}")
			require.NoError(t, take(f.Store()))
			f.store.set(func(s *shaky) { s.ahead = time.Minute })
			assert.Equal(t, decide.ClockSkew, unavailable(t, take(f.Store())).Reason, "what it took stays taken")
			_, err := f.Check(t.Context(), search(1))
			assert.Equal(t, decide.ClockSkew, unavailable(t, err).Reason, "a jump that others see is one for all")
			before := f.store.takes
			assert.Equal(t, time.Minute, unavailable(t, take(f.Store())).RetryAfter)
			assert.Equal(t, before, f.store.takes)
			f.clock.Advance(time.Minute)
			require.NoError(t, take(f.Store()))
		})
	}
}

// The probe sees a jump without a caller.
func TestTheProbeSeesAJump(t *testing.T) {
	f := start(t, limits)
	f.store.set(func(s *shaky) { s.ahead = time.Minute })
	f.clock.Advance(time.Second)
	f.idle(t)
	before := f.store.takes
	_, err := f.Check(t.Context(), search(1))
	assert.Equal(t, decide.ClockSkew, unavailable(t, err).Reason)
	assert.Equal(t, before, f.store.takes)
}

// While the machine is suspended its monotonic clock stands still: the clock of the store has not jumped.
func TestASuspensionIsNoJump(t *testing.T) {
	f := start(t, limits)
	pass := func(store, asleep time.Duration) (decide.Result, error) {
		f.store.set(func(s *shaky) { s.ahead += store })
		f.slept.Add(int64(asleep))
		return f.Check(t.Context(), search(1))
	}
	for _, night := range []time.Duration{8 * time.Hour, 5 * time.Second, 9 * time.Hour} {
		r, err := pass(night, night)
		require.NoError(t, err)
		assert.True(t, r.Allowed)
	}
	f.clock.Advance(time.Second)
	f.idle(t)
	_, err := pass(0, 2*time.Hour) // the store's clock stood still as well
	require.NoError(t, err)
	require.Zero(t, f.Health(t.Context()).Jumps)
	f.clock.Advance(time.Second)
	f.idle(t)

	_, err = pass(time.Hour+30*time.Second, time.Hour)
	assert.Equal(t, 30*time.Second, unavailable(t, err).RetryAfter, "it has jumped as well")
	f.clock.Advance(30 * time.Second)
	_, err = pass(time.Minute, 0)
	assert.Equal(t, time.Minute, unavailable(t, err).RetryAfter, "an earlier suspension is no reason")
	assert.Equal(t, int64(2), f.Health(t.Context()).Jumps)
}

// Clocks run apart a little, for as long as it may be; many small jumps are jumps.
func TestDriftIsNoJump(t *testing.T) {
	f := start(t, limits)
	for i := range 2000 {
		f.clock.Advance(10 * time.Second)
		f.store.set(func(s *shaky) { s.ahead += 5 * time.Millisecond })
		_, err := f.Check(t.Context(), search(1))
		require.NoError(t, err, i)
	}
	assert.Zero(t, f.Health(t.Context()).Jumps)
	for range 10 {
		f.clock.Advance(time.Second)
		f.store.set(func(s *shaky) { s.ahead += 500 * time.Millisecond })
		_, _ = f.Check(t.Context(), search(1))
	}
	assert.NotZero(t, f.Health(t.Context()).Jumps)
}

// A slow clock has not jumped: it only delays. It has when it catches up at once.
func TestASlowClockIsNoJump(t *testing.T) {
	for name, slow := range map[string]time.Duration{"half speed": time.Second, "almost standing still": 1999 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits)
			for i := range 600 {
				f.store.set(func(s *shaky) { s.ahead -= slow })
				f.clock.Advance(2 * time.Second)
				f.idle(t)
				_, err := f.Check(t.Context(), search(1))
				require.NoError(t, err, i)
			}
			assert.Zero(t, f.Health(t.Context()).Jumps)
			f.store.set(func(s *shaky) { s.ahead = 0 })
			_, err := f.Check(t.Context(), search(1))
			assert.Equal(t, min(600*slow, time.Hour), unavailable(t, err).RetryAfter)
		})
	}
}

// A clock that goes back is not slow, however long it went well before. It may be slow after that.
func TestAClockThatGoesBackIsNotSlow(t *testing.T) {
	f := start(t, limits)
	tick := func(step time.Duration) {
		f.store.set(func(s *shaky) { s.ahead += step })
		f.clock.Advance(2 * time.Second)
		f.idle(t)
	}
	for range 100 {
		tick(0)
	}
	require.Zero(t, f.Health(t.Context()).Jumps)
	tick(-time.Minute)
	require.Equal(t, int64(1), f.Health(t.Context()).Jumps)
	for range 20 {
		tick(-1500 * time.Millisecond)
	}
	assert.Equal(t, int64(1), f.Health(t.Context()).Jumps)
}
