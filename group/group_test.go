//go:build unix

package group_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// patience is how long another goroutine or process may take, which a busy machine holds up.
const patience = 2 * time.Minute

func address(t *testing.T) string {
	t.Helper()
	return "unix:" + filepath.Join(t.TempDir(), "s")
}

func joined(t *testing.T, address string) *group.Group {
	t.Helper()
	g, err := group.Join(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func guarded(t *testing.T, g *group.Group, p guard.Policy) *guard.Guard {
	t.Helper()
	made, err := g.Guard(p)
	require.NoError(t, err)
	return made
}

func nothing(context.Context) error { return nil }

// Members share one limit, and get an even share of it.
func TestMembersShareALimit(t *testing.T) {
	const members, slots, calls = 4, 3, 200
	at := address(t)
	var inFlight, most atomic.Int64
	var wg sync.WaitGroup
	for range members {
		g := guarded(t, joined(t, at), guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: slots}})
		for range 8 {
			wg.Go(func() {
				for range calls / 8 {
					assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
						n := inFlight.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						inFlight.Add(-1)
						return nil
					}))
				}
			})
		}
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int64(slots))
	assert.Positive(t, most.Load())
}

func TestRoles(t *testing.T) {
	at := address(t)
	a, b := joined(t, at), joined(t, at)
	assert.Equal(t, group.Leading, a.Stats().Role)
	assert.Equal(t, group.Following, b.Stats().Role)
	g := guarded(t, b, guard.Policy{Name: "k"})
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	a.Close()
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	require.Eventually(t, func() bool { return b.Stats().Role == group.Leading }, patience, time.Millisecond)
	assert.ErrorIs(t, func() error { _, err := a.Guard(guard.Policy{Name: "k"}); return err }(), group.ErrClosed)
	b.Close()
	assert.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), group.ErrClosed)
	g.Reopen()
	assert.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), group.ErrClosed, "it would wait for ever")
}

// Names are sent as JSON, in which all that is not UTF-8 is one character: two such names would be one key.
func TestANameThatIsNotUTF8(t *testing.T) {
	g := joined(t, address(t))
	for _, name := range []string{"account \xfe", "account \xff"} {
		_, err := g.Guard(guard.Policy{Name: name})
		require.ErrorAs(t, err, new(*fault.FieldError))
		assert.ErrorContains(t, err, "UTF-8")
	}
}

func TestTry(t *testing.T) {
	at := address(t)
	a := guarded(t, joined(t, at), guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}})
	b := guarded(t, joined(t, at), guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, b.Try(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
		assert.ErrorIs(t, a.Try(ctx, throttle.Cost{}, nothing), throttle.ErrLimited)
		return nil
	}))
	assert.Zero(t, b.Stats().InFlight)
}

// A quota that is used up ends the calls of all members.
func TestAUsedUpQuota(t *testing.T) {
	at := address(t)
	a := guarded(t, joined(t, at), guard.Policy{Name: "k"})
	b := guarded(t, joined(t, at), guard.Policy{Name: "k"})
	err := a.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Terminal})
		return errors.New("used up")
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	for _, g := range []*guard.Guard{a, b} {
		assert.ErrorIs(t, g.Try(t.Context(), throttle.Cost{}, nothing), adaptive.ErrQuotaExhausted)
		assert.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), adaptive.ErrQuotaExhausted)
	}
	a.Reopen()
	require.NoError(t, a.Do(t.Context(), throttle.Cost{}, nothing))
	soon(t, func() bool { return b.Do(t.Context(), throttle.Cost{}, nothing) == nil })
}

// A call that is larger than a limit of the group fails with a *throttle.CostError, alone: those behind it and those of other members keep waiting.
func TestALimitOfTheGroupBelowACall(t *testing.T) {
	at := address(t)
	limit := throttle.Sliding(100, time.Hour).Of(throttle.Tokens)
	first, second := joined(t, at), joined(t, at)
	a := guarded(t, first, guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1, Windows: []throttle.Window{limit}}})
	held := a.Begin(throttle.Cost{})
	_, err := held.Admit(t.Context())
	require.NoError(t, err)
	b := guarded(t, second, guard.Policy{Name: "k"}) // the limits of the first one apply

	outer, err := guard.New(guard.Policy{Name: "outer"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	waiting := 0
	wait := func(g *guard.Guard, tokens int64, ended func(error)) {
		wg.Go(func() { ended(g.Do(t.Context(), throttle.Cost{Tokens: tokens}, nothing)) })
		waiting++
		require.Eventually(t, func() bool { return a.Stats().Waiting+b.Stats().Waiting == waiting }, patience, time.Millisecond)
	}
	small := func(err error) { assert.NoError(t, err) }
	large := func(err error) {
		var cost *throttle.CostError
		if assert.ErrorAs(t, err, &cost) {
			assert.Equal(t, throttle.CostError{Limiter: "k", Unit: throttle.Tokens, Amount: 101, Max: 100, Window: limit}, *cost)
		}
	}
	wait(a, 1, small)
	for _, g := range []*guard.Guard{b, guard.Join(outer, b)} {
		wait(g, 1, small)
		wait(g, 101, large)
		wait(g, 1, small)
	}
	_, _ = held.End(adaptive.Feedback{Verdict: adaptive.OK})
	wg.Wait()
	require.NoError(t, b.Stats().Closed)
	assert.ErrorAs(t, b.Try(t.Context(), throttle.Cost{Tokens: 102}, nothing), new(*throttle.CostError))
	assert.NoError(t, b.Do(t.Context(), throttle.Cost{Tokens: 2}, nothing))
}

// What was learned is forgotten by the leader, by the members, and by the leader that is next.
func TestResetIsForTheGroup(t *testing.T) {
	at := address(t)
	first, second := joined(t, at), joined(t, at)
	p := guard.Policy{Name: "k", Law: adaptive.AIMD{Initial: 8}}
	a, b := guarded(t, first, p), guarded(t, second, p)
	for _, f := range []adaptive.Feedback{{Verdict: adaptive.Hit, RetryAfter: time.Millisecond}, {Verdict: adaptive.Terminal}} {
		call := b.Begin(throttle.Cost{})
		_, err := call.Admit(t.Context())
		require.NoError(t, err)
		_, _ = call.End(f)
	}
	soon(t, func() bool { return b.Stats().View.Concurrency == 4 })
	require.ErrorIs(t, b.Do(t.Context(), throttle.Cost{}, nothing), adaptive.ErrQuotaExhausted)
	require.NoError(t, b.Reset())
	require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
	soon(t, func() bool { return a.Stats().View.Concurrency == 8 && b.Stats().View.Concurrency == 8 })
	first.Close()
	soon(t, func() bool { return second.Stats().Role == group.Leading })
	require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
	soon(t, func() bool { return b.Stats().View.Concurrency == 8 })
}

// One process judges whether a long wait is believed: the one that admits the calls.
func TestALongWaitIsJudgedByTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guarded(t, group.ByItself(t), guard.Policy{Name: "k"})
		cause := errors.New("busy")
		waits := func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: 5 * time.Hour, Cause: cause} }
		hit := new(adaptive.RateLimitHit)
		require.ErrorAs(t, g.Do(t.Context(), throttle.Cost{}, waits), &hit)
		assert.Equal(t, 5*time.Hour, hit.RetryAfter)
		assert.ErrorIs(t, hit, cause, "the call that met it has all of it")
		require.ErrorAs(t, g.Do(t.Context(), throttle.Cost{}, nothing), &hit, "the key is closed")
		time.Sleep(time.Minute)
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing), "the wait was not true")

		calls := 0
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			if calls++; calls == 1 {
				return waits(ctx)
			}
			return nil
		}))
		assert.Equal(t, 2, calls)
	})
}
