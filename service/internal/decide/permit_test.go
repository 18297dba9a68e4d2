package decide_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service/internal/decide"
)

func TestSettle(t *testing.T) {
	for name, tc := range map[string]struct{ used, left int64 }{"less": {3, 7}, "more": {9, 1}, "as much": {6, 4}, "none": {0, 10}, "far more": {30, 0}} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits)
			r := f.check(t, search(6))
			require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{tc.used}))
			assert.Equal(t, tc.left, f.left(t, search(1)))
		})
	}
}

func TestSettleBeyondTheLimitIsADebt(t *testing.T) {
	f := start(t, limits)
	r := f.check(t, search(10))
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{15}))
	f.clock.Advance(5 * time.Second)
	assert.False(t, f.check(t, search(1)).Allowed)
	f.clock.Advance(time.Second)
	assert.True(t, f.check(t, search(1)).Allowed)
}

// A number in a request does not stop calls for years.
func TestADebtIsBounded(t *testing.T) {
	f := start(t, strings.Replace(limits, "costs:", "  - {scope: trickle, capacity: 1000, refill_rate: 0.1}\ncosts:", 1))
	for scope, most := range map[string]time.Duration{"user": time.Hour, "trickle": 1000 * 10 * time.Second} {
		c := search(10)
		c.Scope = scope
		r := f.check(t, c)
		require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{decide.MaxActual}))
		c.Tokens = 1
		r = f.check(t, c)
		assert.False(t, r.Allowed)
		assert.LessOrEqual(t, r.RetryAfter, most)
	}
}

// The bound is never below what was reserved: a settlement would give back the rest.
func TestASettlementAfterALimitIsLowered(t *testing.T) {
	trickle := func(capacity string) string {
		return strings.Replace(limits, "costs:", "  - {scope: trickle, capacity: "+capacity+", refill_rate: 0.01}\ncosts:", 1)
	}
	f := start(t, trickle("1000"))
	c := search(900)
	c.Scope = "trickle"
	r := f.check(t, c)
	f.reload(t, trickle("400"))
	left := f.left(t, c)
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{900}))
	assert.Equal(t, left, f.left(t, c))
}

func TestCancel(t *testing.T) {
	f := start(t, limits)
	a, err := f.CheckAll(t.Context(), []decide.Check{search(6), org(3)})
	require.NoError(t, err)
	require.NoError(t, f.Cancel(t.Context(), a.Permit))
	assert.Equal(t, int64(10), f.left(t, search(1)))
	assert.Equal(t, int64(5), f.left(t, org(1)))
}

func problemOf(t *testing.T, err error) string {
	t.Helper()
	p, ok := errors.AsType[*decide.PermitError](err)
	require.True(t, ok, "%v", err)
	return p.Problem
}

// shared is a store that other processes may use. It has the marks of permits that have ended, too.
const shared = "runtime: {store: 'redis://shared'}"

// Marks are not beside the limits of a store in memory, which has bounded room.
func TestMarksAreApartFromLimitsInMemory(t *testing.T) {
	for text, want := range map[string]bool{limits: false, limits + shared: true} {
		f := start(t, text)
		marked := false
		f.store.set(func(s *shaky) { s.marked = func() { marked = true } })
		r := f.check(t, search(6))
		require.NoError(t, f.Cancel(t.Context(), r.Permit))
		assert.Equal(t, want, marked)
		assert.Equal(t, "ended", problemOf(t, f.Cancel(t.Context(), r.Permit)))
	}
}

// However many end a permit at once, it ends once: a second settlement would give back
// twice.
func TestAPermitEndsOnce(t *testing.T) {
	f := start(t, limits)
	f.check(t, search(4))
	r := f.check(t, search(4))
	var (
		ended atomic.Int64
		wg    sync.WaitGroup
	)
	for i := range 50 {
		wg.Go(func() {
			err := f.Cancel(t.Context(), r.Permit)
			if i%2 == 0 {
				err = f.Settle(t.Context(), r.Permit, []int64{0})
			}
			if err == nil {
				ended.Add(1)
			} else {
				assert.Equal(t, "ended", problemOf(t, err))
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, ended.Load(), int64(1))
	assert.Equal(t, int64(6), f.left(t, search(1)))
}

// Another replica with the same key ends a permit, once; also after a restart. One with
// another key does not know it.
func TestPermitsOfOtherReplicas(t *testing.T) {
	dir := t.TempDir()
	key := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(text, 32)), 0o600))
		return limits + "runtime: {store: 'redis://shared', permits: {key_file: " + path + ", max_age: 10m}}"
	}
	one := start(t, key("one", "k"))
	two := startOn(t, key("one", "k"), one.clock, one.store)
	other := startOn(t, key("other", "x"), one.clock, one.store)
	own := startOn(t, limits, one.clock, one.store)

	r := one.check(t, search(6))
	assert.Equal(t, "unknown", problemOf(t, other.Settle(t.Context(), r.Permit, []int64{1})))
	assert.Equal(t, "unknown", problemOf(t, own.Settle(t.Context(), r.Permit, []int64{1})))
	require.NoError(t, two.Settle(t.Context(), r.Permit, []int64{1}))
	assert.Equal(t, "ended", problemOf(t, one.Settle(t.Context(), r.Permit, []int64{1})))
	assert.Equal(t, int64(9), one.left(t, search(1)))
}

// A store in memory is another one after a restart, and a permit of the former would
// give back what was never taken.
func TestPermitsOfAStoreInMemoryEndWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("k", 32)), 0o600))
	text := limits + "runtime: {permits: {key_file: " + path + "}}"
	before := start(t, text)
	r := before.check(t, search(10))
	after := start(t, text)
	after.check(t, search(10))
	assert.Equal(t, "unknown", problemOf(t, after.Cancel(t.Context(), r.Permit)))
	assert.Zero(t, after.left(t, search(1)))
	require.NoError(t, before.Cancel(t.Context(), r.Permit))
}

func TestPermitsExpire(t *testing.T) {
	f := start(t, limits+"runtime: {permits: {max_age: 10m}}")
	r := f.check(t, search(6))
	f.clock.Advance(10 * time.Minute)
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{6}))
	r = f.check(t, search(6))
	f.clock.Advance(10*time.Minute + time.Second)
	assert.Equal(t, "expired", problemOf(t, f.Settle(t.Context(), r.Permit, []int64{1})))
}

// A permit is unknown after a change of any of its bytes.
func TestPermitsAreAuthenticated(t *testing.T) {
	f := start(t, limits)
	permit := f.check(t, search(6)).Permit
	raw, err := base64.RawURLEncoding.DecodeString(permit)
	require.NoError(t, err)
	for i := range raw {
		bad := append([]byte(nil), raw...)
		bad[i] ^= 1
		assert.Equal(t, "unknown", problemOf(t, f.Cancel(t.Context(), base64.RawURLEncoding.EncodeToString(bad))))
	}
	for _, text := range []string{"", "x", "!", permit + "A", permit[1:], strings.Repeat("A", 200_000)} {
		assert.Equal(t, "unknown", problemOf(t, f.Cancel(t.Context(), text)), text)
	}
	require.NoError(t, f.Cancel(t.Context(), permit))
}

// A caller that leaves while its permit ends leaves no reservation behind: the mark that
// the permit has ended would refuse its second attempt.
func TestSettleOutlivesItsCaller(t *testing.T) {
	f := start(t, limits+shared)
	r := f.check(t, search(6))
	ctx, leave := context.WithCancel(t.Context())
	f.store.set(func(s *shaky) { s.marked = leave })
	require.NoError(t, f.Cancel(ctx, r.Permit))
	require.Error(t, ctx.Err())
	assert.Equal(t, int64(10), f.left(t, search(1)))
	r = f.check(t, search(6))
	require.ErrorIs(t, f.Cancel(ctx, r.Permit), context.Canceled)
	require.NoError(t, f.Cancel(t.Context(), r.Permit), "a caller that had left before ends nothing")
}

// After a jump of the store's clock the mark of an ended permit may be forgotten.
func TestPermitsAfterAJump(t *testing.T) {
	f := start(t, limits)
	r := f.check(t, search(6))
	f.store.set(func(s *shaky) { s.ahead = time.Minute })
	_, err := f.Check(t.Context(), search(1))
	_ = unavailable(t, err)
	assert.Equal(t, decide.ClockSkew, unavailable(t, f.Cancel(t.Context(), r.Permit)).Reason)
	f.clock.Advance(time.Minute)
	require.NoError(t, f.Cancel(t.Context(), r.Permit))
}

// Permits may end all the time. With limits in memory, one that has ended takes little memory.
func TestEndedPermitsTakeLittleMemory(t *testing.T) {
	f := start(t, limits)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const permits = 20_000
	before := heap()
	for range permits {
		require.NoError(t, f.Cancel(t.Context(), f.check(t, search(1)).Permit))
	}
	assert.Less(t, int64(heap()-before)/permits, int64(100), "bytes of a permit")
}

func TestSettleValidates(t *testing.T) {
	f := start(t, limits)
	permit := f.check(t, search(6)).Permit
	require.ErrorContains(t, f.Settle(t.Context(), permit, nil), "actual: it is missing")
	require.ErrorContains(t, f.Settle(t.Context(), permit, []int64{1, 2}), "actual: 2 amounts for 1 checks")
	require.ErrorContains(t, f.Settle(t.Context(), permit, []int64{-1}), "actual[0]: -1 is not between")
	require.ErrorContains(t, f.Settle(t.Context(), permit, []int64{decide.MaxActual + 1}), "actual[0]")
	require.NoError(t, f.Settle(t.Context(), permit, []int64{6}))
}

// Settling after the limits have changed leaves the new limits in place.
func TestSettleKeepsLimitsThatHaveChanged(t *testing.T) {
	f := start(t, limits)
	r := f.check(t, search(6))
	f.reload(t, "rate_limits: [{scope: user, resource: search, capacity: 20, refill_rate: 1}]")
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{2}))
	b, err := f.Bucket(t.Context(), "user", "alice", "search")
	require.NoError(t, err)
	assert.Equal(t, int64(20), b.Capacity)
	assert.Equal(t, "bucket 1 points/s burst 20", f.store.ended[0].Limits.String(), "a store may apply the limits of a ticket")
	assert.Equal(t, int64(8), b.Remaining)
}

func FuzzPermit(f *testing.F) {
	f.Add("", int64(0))
	f.Add("AdrWo7ANCENMVjY3TVVTATPE", int64(5))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		x := start(t, limits)
		if err := x.Settle(t.Context(), text, []int64{n}); err == nil {
			t.Fatal("a permit that was not issued was settled")
		}
	})
}
