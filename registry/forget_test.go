package registry_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

const idle = 4 * time.Minute

// forgetful is a registry that forgets the guards below "crawl" after idle,
// by the clock.
func forgetful(t require.TestingT, spec registry.Spec) (*registry.Registry, *clockwork.FakeClock) {
	clock := clockwork.NewFakeClock()
	spec.Idle = idle
	r, err := registry.New(registry.Config{Default: spec, Guards: map[string]registry.Spec{
		"crawl": {}, "crawl/*": spec, "other/*": {Idle: time.Minute},
	}, Clock: clock})
	require.NoError(t, err)
	return r, clock
}

// sweep has every guard visited at least once: each 16th use visits four.
func sweep(r *registry.Registry) {
	guards, _ := r.Kept()
	for range 4*guards + 64 {
		r.For("other", "host")
	}
}

// pass has a time pass for guards that are not used, as visits see it: one sees
// the last use, and another one that there was none since.
func pass(r *registry.Registry, clock *clockwork.FakeClock, d time.Duration) {
	sweep(r)
	clock.Advance(d)
	sweep(r)
}

// passLong is a time after which idle guards are forgotten.
func passLong(r *registry.Registry, clock *clockwork.FakeClock) {
	pass(r, clock, idle)
	pass(r, clock, idle)
}

func TestGuardsOfATemplateAreForgottenWhenIdle(t *testing.T) {
	r, clock := forgetful(t, registry.Spec{Law: registry.Measured})
	for _, path := range [][]string{{"crawl", "a.org"}, {"unknown"}} {
		g := r.For(path...)
		answered(t, g, adaptive.Feedback{Verdict: adaptive.Hit})
		learned, err := g.Save()
		require.NoError(t, err)
		require.NotEmpty(t, learned)
		name := g.Name()
		pass(r, clock, idle-time.Second)
		require.True(t, exists(r, name), "%s was used until then", name)
		passLong(r, clock)
		require.False(t, exists(r, name))
		require.Nil(t, r.Get(name))
		require.NotContains(t, r.Names(), name)

		held := r.For(path...)
		assert.Same(t, g, held, "it is still held")
		passLong(r, clock)
		require.False(t, exists(r, name))
		runtime.KeepAlive(held)
		runtime.GC() // from here on nothing else holds it
		runtime.GC()
		saved, err := r.For(path...).Save()
		require.NoError(t, err)
		assert.Equal(t, string(learned), string(saved), "what it had learned comes back")
	}
	assert.True(t, exists(r, "crawl"), "which is no template")
}

// What a caller has set is not lost with a guard that nothing else holds, whether it was forgotten before or after.
func TestAGuardThatWasSetIsNotForgotten(t *testing.T) {
	set := func(g *guard.Guard) { require.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 7}})) }
	for about, change := range map[string]func(r *registry.Registry, clock *clockwork.FakeClock){
		"before": func(r *registry.Registry, clock *clockwork.FakeClock) {
			set(r.For("crawl", "a.org"))
			passLong(r, clock)
		},
		"after": func(r *registry.Registry, clock *clockwork.FakeClock) {
			g := r.For("crawl", "a.org")
			passLong(r, clock)
			require.False(t, exists(r, g.Name()))
			set(g)
			passLong(r, clock)
		},
		"after it was remembered": func(r *registry.Registry, clock *clockwork.FakeClock) {
			g := r.For("crawl", "a.org")
			passLong(r, clock)
			require.Same(t, g, r.For("crawl", "a.org"))
			set(g)
			passLong(r, clock)
		},
		"in a crowd": func(r *registry.Registry, _ *clockwork.FakeClock) {
			set(r.For("crawl", "a.org"))
			for i := range 2 * registry.MostUnused {
				r.For("crawl", strconv.Itoa(i))
			}
			sweep(r)
		},
	} {
		t.Run(about, func(t *testing.T) {
			r, clock := forgetful(t, registry.Spec{})
			change(r, clock)
			runtime.GC()
			runtime.GC()
			assert.Equal(t, 7, r.For("crawl", "a.org").Policy().Limits.Concurrency)
		})
	}
	r, clock := forgetful(t, registry.Spec{})
	g := r.For("crawl", "a.org")
	r.Remove(g.Name())
	set(g)
	passLong(r, clock)
	assert.NotSame(t, g, r.For("crawl", "a.org"), "it was removed")
}

// A guard that was removed has no part in what becomes of the next one of its name.
func TestSettingARemovedGuardKeepsNoOther(t *testing.T) {
	set := func(g *guard.Guard) { require.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 7}})) }
	r, clock := forgetful(t, registry.Spec{})
	removed := r.For("crawl", "a.org")
	r.Remove(removed.Name())
	next := r.For("crawl", "a.org")
	require.NotSame(t, removed, next)
	set(removed)
	passLong(r, clock)
	require.False(t, exists(r, next.Name()), "it has the policy of its template")
	set(removed)
	assert.False(t, exists(r, next.Name()))
	assert.Same(t, next, r.For("crawl", "a.org"))
}

// A forgotten guard that no caller holds leaves the memory, although a Set on it would return it to the registry.
func TestAForgottenGuardIsCollected(t *testing.T) {
	r, clock := forgetful(t, registry.Spec{})
	g := weak.Make(r.For("crawl", "a.org"))
	passLong(r, clock)
	sweep(r)
	runtime.GC()
	runtime.GC()
	assert.Nil(t, g.Value())
}

// Names may come from outside, such as the hosts of a crawl: their number is bounded within the idle time, too.
func TestACrowdOfUnusedGuardsIsForgotten(t *testing.T) {
	r, _ := forgetful(t, registry.Spec{})
	held := r.For("crawl", "held")
	call := held.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	busy, most := r.For("crawl", "busy"), 0
	for i := range 4 * registry.MostUnused {
		require.NotNil(t, r.For("crawl", strconv.Itoa(i)))
		if i == registry.MostUnused/2 {
			sweep(r)
			require.True(t, exists(r, "crawl/0"), "there are few")
		}
		if i%100 == 0 {
			require.Same(t, busy, r.For("crawl", "busy"))
		}
		guards, _ := r.Kept()
		most = max(most, guards)
	}
	assert.LessOrEqual(t, most, registry.MostUnused*3/2)
	assert.False(t, exists(r, "crawl/0"))
	assert.True(t, exists(r, "crawl/busy"))
	assert.True(t, exists(r, "crawl/held"))
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
}

func TestAGuardThatLimitsIsNotForgotten(t *testing.T) {
	hold := errors.New("maintenance")
	for about, tc := range map[string]struct {
		spec string
		do   func(r *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) (undo func())
	}{
		"a running call": {"unlimited", func(_ *registry.Registry, _ *clockwork.FakeClock, g *guard.Guard) func() {
			call := g.Begin(throttle.Cost{})
			_, err := call.Admit(context.Background())
			require.NoError(t, err)
			return func() { _, _ = call.End(adaptive.Feedback{Verdict: adaptive.OK}) }
		}},
		"a window": {"5/h", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			answered(t, g, adaptive.Feedback{Verdict: adaptive.OK})
			return func() { clock.Advance(time.Hour) }
		}},
		"a pause": {"unlimited", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			g.Pause(clock.Now().Add(time.Hour))
			return g.Resume
		}},
		"a closing": {"unlimited", func(_ *registry.Registry, _ *clockwork.FakeClock, g *guard.Guard) func() {
			g.Close(hold)
			return g.Reopen
		}},
		"a Retry-After": {"unlimited", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			answered(t, g, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: adaptive.MaxRetryAfter})
			return func() { clock.Advance(time.Hour) }
		}},
		"a used-up quota": {"unlimited", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			answered(t, g, adaptive.Feedback{Verdict: adaptive.Terminal}) // closed for a minute, and then one call probes
			return func() { clock.Advance(time.Hour) }
		}},
		"a breaker that is to be probed": {"unlimited", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			for range 5 {
				answered(t, g, adaptive.Feedback{Verdict: adaptive.Transient}) // open for ten seconds
			}
			require.ErrorAs(t, g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }), new(*breaker.OpenError))
			return func() { clock.Advance(time.Hour) }
		}},
		"a failure that a breaker has counted": {"unlimited", func(_ *registry.Registry, clock *clockwork.FakeClock, g *guard.Guard) func() {
			answered(t, g, adaptive.Feedback{Verdict: adaptive.Transient})
			return func() { clock.Advance(time.Hour) }
		}},
		"a policy of its own": {"unlimited", func(r *registry.Registry, _ *clockwork.FakeClock, g *guard.Guard) func() {
			_, err := r.Replace(g.Name(), guard.Policy{Limits: limits(t, "7/s")})
			require.NoError(t, err)
			return nil
		}},
	} {
		t.Run(about, func(t *testing.T) {
			r, clock := forgetful(t, registry.Spec{Limits: limits(t, tc.spec), Law: registry.Measured, Breaker: true})
			const name = "crawl/a.org"
			undo := tc.do(r, clock, r.For(name))
			passLong(r, clock)
			require.True(t, exists(r, name))
			if undo == nil {
				return
			}
			undo()
			passLong(r, clock)
			assert.False(t, exists(r, name))
		})
	}
}

// Calls of a caller that keeps a guard count as use of it.
func TestAGuardThatIsUsedIsNotForgotten(t *testing.T) {
	r, clock := forgetful(t, registry.Spec{})
	g := r.For("crawl", "a.org")
	for range 20 {
		pass(r, clock, idle/2)
		answered(t, g, adaptive.Feedback{Verdict: adaptive.OK})
	}
	assert.Same(t, g, r.Get("crawl/a.org"))
}

func TestRemoveAndResetForgetWhatIsRemembered(t *testing.T) {
	for about, forget := range map[string]func(*registry.Registry){
		"Remove": func(r *registry.Registry) { r.Remove("crawl/a.org") }, "ResetAll": func(r *registry.Registry) { assert.NoError(t, r.ResetAll()) },
	} {
		r, clock := forgetful(t, registry.Spec{Law: registry.Measured})
		answered(t, r.For("crawl", "a.org"), adaptive.Feedback{Verdict: adaptive.Hit})
		passLong(r, clock)
		require.False(t, exists(r, "crawl/a.org"))
		runtime.GC()
		runtime.GC()
		forget(r)
		saved, err := r.For("crawl", "a.org").Save()
		require.NoError(t, err)
		assert.Empty(t, saved, about)
	}
}

// Whatever happens, a guard that limits a call or was used lately is in the
// registry, and there is never a second one beside a guard that is held.
func TestNothingIsForgottenThatMatters(t *testing.T) {
	forgotten := 0
	rapid.Check(t, func(t *rapid.T) {
		r, clock := forgetful(t, registry.Spec{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Minute)}}})
		type host struct {
			guard   *guard.Guard
			running []*guard.Call
			until   time.Time // it is not forgotten before
			closed  bool
		}
		hosts := map[string]*host{}
		at := func() *host {
			name := "crawl/" + rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "host")
			g := r.For(name)
			h := hosts[name]
			if h == nil {
				h = &host{guard: g}
				hosts[name] = h
			}
			require.True(t, h.guard == g, "two guards of one name")
			h.until = later(h.until, clock.Now().Add(idle))
			return h
		}
		for range 40 {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				call := at().guard
				c := call.Begin(throttle.Cost{})
				if h := hosts[call.Name()]; !h.closed && call.Stats().PausedUntil.IsZero() {
					_, err := c.Admit(context.Background())
					require.NoError(t, err)
					h.running = append(h.running, c)
				}
			case 1:
				if h := at(); len(h.running) > 0 {
					_, _ = h.running[0].End(adaptive.Feedback{Verdict: adaptive.OK})
					h.running = h.running[1:]
				}
			case 2:
				h, d := at(), time.Duration(rapid.IntRange(1, 60).Draw(t, "minutes"))*time.Minute
				h.guard.Pause(clock.Now().Add(d))
				h.until = later(h.until, clock.Now().Add(d))
			case 3:
				if h := at(); h.closed {
					h.guard.Reopen()
					h.closed = false
				} else {
					h.guard.Close(errors.New("closed"))
					h.closed = true
				}
			default:
				clock.Advance(time.Duration(rapid.IntRange(1, 15).Draw(t, "pass")) * time.Minute)
				sweep(r)
			}
			for name, h := range hosts {
				known := exists(r, name)
				require.True(t, known || len(h.running) == 0 && !h.closed && !clock.Now().Before(h.until), name)
				if !known {
					forgotten++
				}
			}
		}
	})
	assert.Positive(t, forgotten)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A crawl of any number of hosts, a second each, takes a bounded amount of memory.
func TestAnyNumberOfHostsTakesBoundedMemory(t *testing.T) {
	r, clock := forgetful(t, registry.Spec{})
	const inUse = int(idle / time.Second)
	most, memories := 0, 0
	for i := range 12 * registry.MostMemories / 4 {
		r.For("crawl", strconv.Itoa(i))
		clock.Advance(time.Second)
		guards, remembered := r.Kept()
		most, memories = max(most, guards), max(memories, remembered)
		if i%1024 == 0 {
			runtime.GC()
		}
	}
	assert.Less(t, most, 3*inUse)
	assert.LessOrEqual(t, memories, registry.MostMemories+2*1024, "those that wait for the garbage collector included")
	assert.Greater(t, memories, registry.MostMemories/2, "the test is large enough")
}

// Guards are forgotten while others ask for them, and a host has one all the same.
func TestForgettingWhileOthersAsk(t *testing.T) {
	r, clock := forgetful(t, registry.Spec{Limits: throttle.Limits{Concurrency: 1}})
	var inside [8]sync.Mutex
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 1500 {
				clock.Advance(idle)
				host := (i*7 + worker) % len(inside)
				_ = r.For("crawl", strconv.Itoa(host)).Try(context.Background(), throttle.Cost{}, func(context.Context) error {
					if assert.True(t, inside[host].TryLock(), "two guards of one host") {
						runtime.Gosched()
						inside[host].Unlock()
					}
					return nil
				})
			}
		})
	}
	wg.Wait()
}
