package registry_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func TestRegisterOfATakenName(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 4/s"))
	_, err := r.Register("bioportal", guard.Policy{Name: "something else"})
	require.NoError(t, err)
	assert.Equal(t, "bioportal", r.Get("bioportal").Name())
	for _, name := range []string{"ols", "OLS", " Bioportal\n"} {
		l, err := r.Register(name, policy(t, "1/s"))
		assert.Nil(t, l)
		var exists *registry.ExistsError
		require.ErrorAs(t, err, &exists)
		assert.Equal(t, strings.ToLower(strings.TrimSpace(name)), exists.Name)
		assert.ErrorContains(t, err, "Replace changes its guard in place")
	}
	assert.Equal(t, "4/s", r.Get("ols").Stats().Limits.String())
}

func TestNamesThatAreRefused(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	for name, problem := range map[string]string{
		"": "the name is empty", "  ": "the name is empty", "a\x00b": "cannot be printed",
		"Default": "set default", "crawl/*": "set it in the Config", "*": "a name before a slash", "a/*/b": "only the last part", "crawl*/b": "a part of its own", "crawl/**": "a part of its own", "default/b": "take another name", "a/": "ends with a slash", strings.Repeat("x", 300): "longer than 256 bytes",
	} {
		for about, give := range map[string]func(string, guard.Policy) (*guard.Guard, error){
			"Register": r.Register, "GetOrCreate": r.GetOrCreate, "Replace": r.Replace,
		} {
			_, err := give(name, guard.Policy{})
			assert.ErrorContains(t, err, problem, about)
			assert.ErrorAs(t, err, new(*fault.FieldError))
		}
	}
	assert.Empty(t, r.Names())
}

// A configuration that cannot be used leaves the name free.
func TestAConfigurationThatCannotBeUsed(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	bad := guard.Policy{MaxWait: -1}
	for about, give := range map[string]func(string, guard.Policy) (*guard.Guard, error){
		"Register": r.Register, "GetOrCreate": r.GetOrCreate, "Replace": r.Replace,
	} {
		l, err := give("ols", bad)
		assert.Nil(t, l, about)
		assert.ErrorContains(t, err, `guard "ols": MaxWait: -1ns is negative`, about)
		assert.False(t, exists(r, "ols"), about)
	}
	l, err := r.Register("ols", policy(t, "1/s"))
	require.NoError(t, err)
	_, err = r.Replace("ols", bad)
	require.Error(t, err)
	assert.Equal(t, "1/s", l.Stats().Limits.String())

	r = newRegistry(t, text(t, "ols: 4/s"))
	_, err = r.Replace("ols", bad) // before it was made
	require.Error(t, err)
	assert.Equal(t, "4/s", r.Get("ols").Stats().Limits.String())
}

func TestReplaceOfWhatWasNotMadeYet(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 4/s"))
	l, err := r.Replace("ols", policy(t, "5/s"))
	require.NoError(t, err)
	assert.Same(t, l, r.Get("ols"))
	assert.Equal(t, "5/s", l.Stats().Limits.String())
	l, err = r.Replace("bioportal", policy(t, "6/s"))
	require.NoError(t, err)
	assert.Same(t, l, r.Get("bioportal"))
}

// A law of a preset's configuration has its Name, which is not the registry's.
func TestReplaceIgnoresTheNameOfTheConfiguration(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	l := r.For("ols")
	_, err := r.Replace("ols", guard.Policy{Name: "openai/tier1"})
	require.NoError(t, err)
	assert.Equal(t, "ols", l.Name())
}

func TestRemoveLeavesTheLimiterToItsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, text(t, "default: 9/s; ols: 1/s"))
		l := r.Get("ols")
		require.NoError(t, do(t.Context(), l, func(context.Context) error { return nil }))
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, func(context.Context) error { return nil })) })
		synctest.Wait()
		assert.True(t, r.Remove(" OLS"))
		assert.False(t, r.Remove("ols"))
		assert.Nil(t, r.Get("ols"))
		next := r.For("ols")
		assert.NotSame(t, l, next)
		assert.Equal(t, "9/s", next.Stats().Limits.String(), "the configuration is gone, too")
		wg.Wait()
		assert.Equal(t, int64(2), l.Stats().Admitted)
	})
}

func TestReset(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 4/s; bioportal: 2/s"))
	quota := adaptive.Feedback{Verdict: adaptive.Terminal}
	for _, l := range r.All() {
		answered(t, l, quota)
	}
	require.NoError(t, r.Get("OLS").Reset())
	assert.NoError(t, r.Get("ols").Stats().Closed)
	assert.ErrorIs(t, r.Get("bioportal").Stats().Closed, adaptive.ErrQuotaExhausted)
	require.NoError(t, r.ResetAll())
	assert.NoError(t, r.Get("bioportal").Stats().Closed)
}

func TestResetAllNamesWhatFailed(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 1/s"))
	var starts atomic.Int64
	for _, name := range []string{"a", "b"} {
		_, err := r.Register(name, guard.Policy{Law: startLaw(func() error {
			if starts.Add(1) > 4 { // to check the controller, and to start it
				return errors.New("no more")
			}
			return nil
		})})
		require.NoError(t, err)
	}
	assert.EqualError(t, r.ResetAll(), "registry: a: no more\nregistry: b: no more")
}

// startLaw is a controller with a Start that calls a function.
type startLaw func() error

func (l startLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	if err := l(); err != nil {
		return nil, err
	}
	return adaptive.AIMD{}.Start(now, seed)
}

func TestPrewarmMakesWhatIsConfigured(t *testing.T) {
	r := newRegistry(t, text(t, "default: 1/s; ols: 4/s; bioportal: 2/s"))
	require.NoError(t, r.Prewarm())
	assert.Equal(t, []string{"bioportal", "ols"}, r.Names(), "no limiter of a template")
	for _, k := range r.Stats().Keys {
		assert.NotNil(t, r.Get(k.Name))
	}
}

// A guard that takes long to make delays only callers that ask for it. There
// is no bubble around it: a mutex that is waited for does not let virtual time go on.
func TestMakingOneKeyNeverBlocksAnother(t *testing.T) {
	r := newRegistry(t, text(t, "default: 1/s; ols: 1/s"))
	release, making := make(chan struct{}), make(chan struct{})
	var started atomic.Int64
	slow := guard.Policy{Law: startLaw(func() error {
		if started.Add(1) == 1 {
			close(making)
		}
		<-release
		return nil
	})}
	var wg sync.WaitGroup
	got := make([]*guard.Guard, 12)
	wg.Go(func() { got[0], _ = r.GetOrCreate("slow", slow) })
	<-making
	for i := range got[1:] {
		wg.Go(func() {
			switch i % 3 {
			case 0:
				got[1+i], _ = r.GetOrCreate("SLOW", slow)
			case 1:
				got[1+i] = r.Get("slow")
			default:
				got[1+i] = r.For("slow", "host")
			}
		})
	}
	assert.True(t, exists(r, "slow"))
	assert.NotNil(t, r.Get("ols"))
	assert.NotNil(t, r.For("other"))
	_, err := r.Register("third", guard.Policy{})
	require.NoError(t, err)
	_, err = r.Register("slow", guard.Policy{})
	require.ErrorAs(t, err, new(*registry.ExistsError))
	assert.Equal(t, []string{"ols", "other", "slow", "third"}, r.Names())
	assert.Len(t, r.Stats().Keys, 4)
	require.NoError(t, r.ResetAll())
	assert.True(t, r.Remove("third"))
	close(release)
	wg.Wait()
	assert.Equal(t, int64(2), started.Load(), "it is checked and made once")
	for _, l := range got {
		assert.Same(t, r.Get("slow"), l)
	}
}

// A law that panics is its user's to deal with, and leaves the name free.
func TestALawThatPanics(t *testing.T) {
	bad := guard.Policy{Law: startLaw(func() error { panic("law") })}
	r := newRegistry(t, text(t, "b: 4/s"))
	for about, give := range map[string]func(string, guard.Policy) (*guard.Guard, error){
		"Register": r.Register, "GetOrCreate": r.GetOrCreate, "Replace": r.Replace,
	} {
		assert.PanicsWithValue(t, "law", func() { _, _ = give("a", bad) }, about)
		assert.False(t, exists(r, "a"), about)
	}
	assert.Panics(t, func() { _, _ = r.Replace("b", bad) })
	assert.Equal(t, "4/s", r.Get("b").Stats().Limits.String(), "what is configured stays")
	assert.Panics(t, func() { _, _ = r.Replace("b", bad) })
	assert.Equal(t, "4/s", r.Get("b").Stats().Limits.String())
	_, err := r.Replace("b", policy(t, "5/s"))
	assert.NoError(t, err)
}

// An observer of a change may make further changes, or query the registry.
func TestAnObserverMayUseTheRegistry(t *testing.T) {
	var r *registry.Registry
	again := true
	c := text(t, "a: 1/s")
	c.Observer = event.Func(func(event.Event) {
		assert.NoError(t, r.Get("a").Reset())
		assert.Len(t, r.Stats().Keys, 1)
		if again {
			again = false
			_, err := r.Replace("a", policy(t, "3/s"))
			assert.NoError(t, err)
		}
	})
	r = newRegistry(t, c)
	l := r.Get("a")
	_, err := r.Replace("a", policy(t, "2/s"))
	require.NoError(t, err)
	assert.Same(t, l, r.Get("a"))
	assert.Equal(t, "3/s", l.Stats().Limits.String())
}

// A caller that waited for a configuration that failed applies its own.
func TestTheBadConfigurationOfAnother(t *testing.T) {
	for about, give := range map[string]func(*registry.Registry, guard.Policy) (*guard.Guard, error){
		"GetOrCreate": func(r *registry.Registry, c guard.Policy) (*guard.Guard, error) {
			return r.GetOrCreate("ols", c)
		},
		"Replace": func(r *registry.Registry, c guard.Policy) (*guard.Guard, error) { return r.Replace("ols", c) },
		"For":     func(r *registry.Registry, _ guard.Policy) (*guard.Guard, error) { return r.For("ols"), nil },
	} {
		t.Run(about, func(t *testing.T) {
			r := newRegistry(t, text(t, "default: 4/s"))
			release, making := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := r.Register("ols", guard.Policy{Law: startLaw(func() error {
					close(making)
					<-release
					return errors.New("bad")
				})})
				assert.ErrorContains(t, err, "bad")
			})
			<-making
			for range 4 {
				wg.Go(func() {
					l, err := give(r, policy(t, "4/s"))
					assert.NoError(t, err)
					assert.Equal(t, "4/s", l.Stats().Limits.String())
					assert.Same(t, l, r.Get("ols"))
				})
			}
			runtime.Gosched() // most of them wait by now
			close(release)
			wg.Wait()
		})
	}
}

// A failed registration leaves the guard that took its name meanwhile.
func TestABadConfigurationThatWasRemovedMeanwhile(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	release, making := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := r.Register("ols", guard.Policy{Law: startLaw(func() error {
			close(making)
			<-release
			return errors.New("bad")
		})})
		assert.ErrorContains(t, err, "bad")
	})
	<-making
	assert.True(t, r.Remove("ols"))
	l, err := r.Register("ols", guard.Policy{})
	require.NoError(t, err)
	close(release)
	wg.Wait()
	assert.Same(t, l, r.Get("ols"))
}

func TestOfManyWhoCreateOneKeyOneDoes(t *testing.T) {
	const workers, keys = 4, 3000
	r := newRegistry(t, text(t, "default: 1/s"))
	var got [workers][keys]*guard.Guard
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for k := range keys { // they run abreast, and meet at many of them
				got[i][k] = r.For(strconv.Itoa(k))
			}
		})
	}
	wg.Wait()
	for i := range workers {
		require.True(t, got[i] == got[0], "two limiters of one name")
	}
}

// Under the race detector: everything at once, on few keys.
func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	r := newRegistry(t, text(t, "default: 1000/s; a: 1000/s"))
	names := []string{"a", "b", "c/x", "c"}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 40 {
				name := names[(i+n)%len(names)]
				switch n % 9 {
				case 0:
					_, _ = r.Register(name, guard.Policy{MaxWait: time.Duration(i%3-1) * time.Hour}) // some cannot be used
				case 1:
					law := []adaptive.Law{nil, adaptive.AIMD{}}[i%2]
					if name == "c/x" { // which may leave learning to c
						law = nil
					}
					_, err := r.Replace(name, guard.Policy{Law: law, Limits: throttle.Limits{Concurrency: 1 + n}})
					assert.NoError(t, err)
					_, err = r.Replace(name, guard.Policy{MaxWait: -1})
					assert.Error(t, err)
				case 2:
					r.Remove(name)
				case 3:
					if g := r.Get(name); g != nil {
						_ = g.Reset()
					}
					assert.NoError(t, r.ResetAll())
				case 4:
					for got, l := range r.All() {
						assert.Equal(t, got, l.Name())
					}
				case 5:
					assert.GreaterOrEqual(t, len(r.Stats().Keys), len(r.Stats().Blocking(0)))
				case 6:
					if err := r.Prewarm(); err != nil {
						assert.ErrorContains(t, err, "MaxWait", "what another has just registered")
					}
					_, _ = r.Names(), exists(r, name)
				case 7:
					_, err := r.GetOrCreate(name, guard.Policy{})
					assert.NoError(t, err)
				default:
					assert.NotNil(t, r.For(name))
					assert.NoError(t, do(t.Context(), r.For("c", "x"), func(context.Context) error { return nil }))
				}
			}
		})
	}
	wg.Wait()
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, text(t, "slow: 1/s; fast: 100/s; idle: 1/s; cap: 1 concurrent; dead: 1/s"))
		assert.Len(t, r.Stats().Keys, 5)
		answered(t, r.Get("dead"), adaptive.Feedback{Verdict: adaptive.Terminal})
		var wg sync.WaitGroup
		call := func(name string, n int, d time.Duration) {
			for range n {
				wg.Go(func() {
					assert.NoError(t, do(t.Context(), r.Get(name), func(context.Context) error {
						time.Sleep(d)
						return nil
					}))
				})
			}
		}
		call("slow", 3, 0)
		call("fast", 50, 0)
		call("cap", 2, time.Minute)
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		s := r.Stats()
		blocking := s.Blocking(math.MaxInt)
		require.Len(t, blocking, 2)
		assert.Equal(t, "slow", blocking[0].Name, "one waits on each, and this one has had waits before")
		assert.Equal(t, throttle.BoundByWindow, blocking[0].Bound.Kind)
		assert.Equal(t, "cap", blocking[1].Name)
		assert.Equal(t, throttle.BoundByConcurrency, blocking[1].Bound.Kind)
		assert.GreaterOrEqual(t, s.Total.Waits, int64(1), "and those of no time")
		s.Total.Waits = 0
		assert.Equal(t, registry.KeyStats{
			Stats: guard.Stats{Stats: throttle.Stats{InFlight: 1, Waiting: 2, Admitted: 54, Waited: time.Second, LongestWait: time.Second}},
		}, s.Total)
		require.Len(t, s.Keys, 5)
		assert.Error(t, s.Keys[1].Closed)
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by the concurrency until a call ends", s.Keys[0].Why)
		assert.Equal(t, 1, s.Keys[0].Limits.Concurrency)
		wg.Wait()
		s = r.Stats()
		assert.Equal(t, time.Minute, s.Total.LongestWait, "of all, not in sum")
		assert.Equal(t, []string{"cap"}, namesOf(s.Blocking(1)))
		assert.Equal(t, []string{"cap", "slow"}, namesOf(s.Blocking(9)))
		assert.Empty(t, s.Blocking(-1))
		assert.Equal(t, []string{"cap", "dead", "fast", "idle", "slow"}, namesOf(s.Keys))

		answered(t, r.Get("fast"), adaptive.Feedback{Verdict: adaptive.Hit})
		assert.Equal(t, int64(1), r.Stats().Total.Hits)
	})
}

func TestBlockingPutsThoseFirstWhoHoldUpMostNow(t *testing.T) {
	key := func(name string, waiting int, waited time.Duration) registry.KeyStats {
		return registry.KeyStats{Name: name, Stats: guard.Stats{Stats: throttle.Stats{Waiting: waiting, Waited: waited}}}
	}
	s := registry.Stats{Keys: []registry.KeyStats{
		key("idle", 0, 0), key("past", 0, time.Hour), key("few", 1, time.Second), key("many", 9, 0), key("earlier", 1, time.Minute),
	}}
	assert.Equal(t, []string{"many", "earlier", "few", "past"}, namesOf(s.Blocking(9)))
	assert.Equal(t, "idle", s.Keys[0].Name, "it is a copy")
}

func namesOf(keys []registry.KeyStats) (names []string) {
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}
