package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// plain returns a client of go-redis on the server, to look at and to break what the store keeps.
func plain(t *testing.T, s *redistest.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func leased(key string, slots int, windows ...throttle.Window) quota.Request {
	return quota.Request{Lease: time.Minute, Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Concurrency: slots, Windows: windows}}}}
}

func taken(t *testing.T, s *redisstore.Store, r quota.Request) quota.Ticket {
	t.Helper()
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, g.Wait, "%s", g.Bound)
	return g.Ticket
}

func TestScriptsAndDataAreLost(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	r := leased("a", 1, throttle.Sliding(2, time.Minute))

	first := taken(t, s, r)
	require.NoError(t, c.ScriptFlush(t.Context()).Err())
	require.NoError(t, s.End(t.Context(), first, nil), "the script is loaded again")

	second := taken(t, s, r)
	assert.Greater(t, second.Token, first.Token)
	require.NoError(t, c.FlushAll(t.Context()).Err())
	third := taken(t, s, r)
	assert.Greater(t, third.Token, second.Token, "tokens increase although the key was lost")
	require.ErrorIs(t, s.End(t.Context(), second, nil), quota.ErrLeaseLost)
	lost, err := s.Renew(t.Context(), []quota.Ticket{second, third}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, []quota.Ticket{second}, lost)
}

// A refund for what a lost key has counted would be that of other calls.
func TestALostKeyOwesNothing(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(10, time.Hour), "bucket": throttle.Bucket(0.001, 10), "calendar": throttle.Fixed(10, 1000*24*time.Hour, time.Time{}),
	} {
		r := quota.Request{Demands: []quota.Demand{{Key: name, Limits: throttle.Limits{Windows: []throttle.Window{w}}, Cost: throttle.Cost{Requests: 6}}}}
		before := taken(t, s, r)
		require.NoError(t, c.Del(t.Context(), s.Names(name)...).Err())
		taken(t, s, r)
		require.NoError(t, s.Cancel(t.Context(), before))
		g, err := s.Take(t.Context(), r)
		require.NoError(t, err)
		assert.Positive(t, g.Wait, name)
	}
}

// Keys that are evicted one by one at any moment: every call returns, and with a lost lease at worst.
func TestEviction(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	clock := clockwork.NewRealClock()
	ctx, stop := context.WithCancel(t.Context())
	var evictor sync.WaitGroup
	evictor.Go(func() {
		for ctx.Err() == nil {
			name := s.Names(strconv.Itoa(rand.IntN(3)))[rand.IntN(2)]
			_ = c.Del(ctx, name).Err()
			clock.Sleep(time.Millisecond)
		}
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				var r quota.Request
				for i := range 3 {
					r.Demands = append(r.Demands, quota.Demand{Key: strconv.Itoa(i), Limits: throttle.Limits{Concurrency: 6, Windows: []throttle.Window{
						throttle.Sliding(500, 10*time.Millisecond), throttle.Bucket(1e5, 500), throttle.Fixed(500, 7*time.Millisecond, time.Time{}),
					}}})
				}
				r.Lease = time.Second
				g, err := s.Take(t.Context(), r)
				if err == nil && g.Wait == 0 {
					if err = s.End(t.Context(), g.Ticket, []throttle.Cost{{Requests: 2}, {}, {}}); errors.Is(err, quota.ErrLeaseLost) {
						err = nil
					}
				}
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	stop()
	evictor.Wait()
}

func TestAMissingPassword(t *testing.T) {
	server := redistest.Start(t)
	require.NoError(t, plain(t, server).ConfigSet(t.Context(), "requirepass", "hunter2").Err())
	s, err := redisstore.Open("redis://"+server.Addr, redisstore.WithTimeout(patience))
	require.NoError(t, err)
	_, err = s.Take(t.Context(), request("a"))
	require.ErrorContains(t, err, "redisstore: the server requires a password, which the URL or the client's options have to set: ")
	require.NoError(t, s.Close())
}

// What is wrong with one key is not a failure of the store: an error names the key, and the others are served.
func TestDamagedKeysFailAlone(t *testing.T) {
	server := redistest.Start(t)
	c := plain(t, server)
	for name, spoil := range map[string]func(names []string) error{
		"text":      func(names []string) error { return c.Set(t.Context(), names[0], "foreign", 0).Err() },
		"empty":     func(names []string) error { return c.Set(t.Context(), names[0], "", 0).Err() },
		"msgpack":   func(names []string) error { return c.Set(t.Context(), names[0], "\x91\x7f", 0).Err() },
		"list":      func(names []string) error { return c.LPush(t.Context(), names[0], 1).Err() },
		"slots":     func(names []string) error { return c.Set(t.Context(), names[1], "foreign", 0).Err() },
		"slot list": func(names []string) error { return c.LPush(t.Context(), names[1], 1).Err() },
	} {
		for _, opened := range []func(testing.TB, *redistest.Server, ...redisstore.Option) *redisstore.Store{open, openRueidis} {
			s := opened(t, server, redisstore.WithPrefix(name+":"))
			r := leased("good", 100)
			r.Demands = append(r.Demands, leased("bad", 100).Demands...)
			ticket := taken(t, s, r)
			require.NoError(t, c.Del(t.Context(), s.Names("bad")...).Err())
			require.NoError(t, spoil(s.Names("bad")))
			f, err := quota.WithFallback(s, quota.Fallback{Timeout: time.Minute})
			require.NoError(t, err)
			for range 10 {
				_, err := f.Take(t.Context(), r)
				requireDamaged(t, err, "bad")
			}
			_, err = f.Take(t.Context(), leased("good", 100))
			require.NoError(t, err, "the store works")
			assert.Zero(t, f.Stats().Failed)
			requireDamaged(t, s.End(t.Context(), ticket, nil), "bad")
			_, err = s.Look(t.Context(), "bad")
			requireDamaged(t, err, "bad")
			for key, err := range s.Keys(t.Context(), "") {
				if err == nil {
					assert.Equal(t, "good", key)
				} else {
					require.ErrorAs(t, err, new(*fault.FieldError))
					require.ErrorContains(t, err, s.Names("bad")[0], "its name in Redis, which has no other")
				}
			}
			require.NoError(t, s.Forget(t.Context(), "bad"), "Forget is the remedy")
			taken(t, s, r)
		}
	}
}

func requireDamaged(t *testing.T, err error, key string) {
	t.Helper()
	f, ok := errors.AsType[*fault.FieldError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "the limits of "+strconv.Quote(key), f.Field)
	assert.Contains(t, f.Problem, "Forget removes it")
}

// A value that has changed in one place could admit any number of calls.
func TestDamagedValues(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	taken(t, s, request("a"))
	name := s.Names("a")[0]
	value, err := c.Get(t.Context(), name).Result()
	require.NoError(t, err)
	for i := range value {
		damaged := []byte(value)
		damaged[i] ^= 0x10
		require.NoError(t, c.Set(t.Context(), name, damaged, 0).Err())
		_, err := s.Take(t.Context(), request("a"))
		requireDamaged(t, err, "a")
		require.NoError(t, c.Set(t.Context(), name, value[:i], 0).Err())
		_, err = s.Take(t.Context(), request("a"))
		requireDamaged(t, err, "a")
	}
	require.NoError(t, c.Set(t.Context(), name, value, 0).Err())
	taken(t, s, request("a"))
}

// Every key expires, and not before its history.
func TestKeysExpire(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	taken(t, s, leased("a", 5, throttle.Sliding(1000, time.Hour), throttle.Bucket(1, 100)))
	taken(t, s, leased("slots", 5))
	taken(t, s, request("minute"))
	taken(t, s, quota.Request{Demands: []quota.Demand{{Key: "unlimited"}}})
	require.NoError(t, s.Cooldown(t.Context(), "cold", 3*time.Hour))
	for key, want := range map[string][2]time.Duration{
		"a": {time.Hour, time.Minute}, "slots": {time.Minute, time.Minute}, "minute": {time.Minute, 0}, "unlimited": {0, 0}, "cold": {3 * time.Hour, 0},
	} {
		for i, name := range s.Names(key) {
			ttl := c.PTTL(t.Context(), name).Val()
			if i == 1 && want[1] == 0 {
				assert.Negative(t, ttl, "%s has no slots", key)
				continue
			}
			assert.Greater(t, ttl, want[i]-20*time.Second, key)
			assert.LessOrEqual(t, ttl, want[i]+2*time.Second, key)
		}
	}
}

// The value of a busy key stays small, and is exact again when its window was empty.
func TestBusyKeysAreSmall(t *testing.T) {
	server := redistest.Start(t)
	clock := clockwork.NewFakeClockAt(time.Now())
	s, c := open(t, server, redisstore.WithClock(clock)), plain(t, server)
	r := quota.Request{Demands: []quota.Demand{{Key: "organisation/user-4711", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100_000, time.Minute)}}}}}
	most := int64(0)
	for i := range 1300 {
		clock.Advance(90 * time.Millisecond)
		taken(t, s, r)
		if i > 128 && i%50 == 0 {
			most = max(most, c.MemoryUsage(t.Context(), s.Names(r.Demands[0].Key)[0]).Val())
		}
	}
	assert.Positive(t, most)
	assert.LessOrEqual(t, most, int64(1536))
	clock.Advance(2 * time.Minute)
	r.Demands[0].Cost.Requests = 100_000
	at := taken(t, s, r).At
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, at+int64(time.Minute), clock.Now().UnixNano()/1000*1000+int64(g.Wait), "it is exact again")
}

func TestAPausedServerHoldsNoCaller(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	ticket := taken(t, s, leased("a", 100))
	server.Pause()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if i%3 == 0 {
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			var err error
			if i%2 == 0 {
				_, err = s.Take(ctx, leased("a", 100))
			} else {
				_, err = s.Renew(ctx, []quota.Ticket{ticket}, time.Minute)
			}
			assert.Equal(t, ctx.Err(), err)
		})
	}
	wg.Wait() // all of them, while it is still paused
	server.Resume()
	assert.Eventually(t, func() bool { return s.End(t.Context(), ticket, nil) == nil }, 20*time.Second, time.Millisecond, "it answers again")
}

// What is held about a key lasts as long as a renewed lease, although its windows are empty.
func TestARenewedLeaseKeepsItsKey(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	first := taken(t, s, leased("a", 5))
	lost, err := s.Renew(t.Context(), []quota.Ticket{first}, time.Hour)
	require.NoError(t, err)
	require.Empty(t, lost)
	for _, name := range s.Names("a") {
		assert.Greater(t, c.PTTL(t.Context(), name).Val(), 59*time.Minute)
	}
}

// What was taken before a bucket was full is not missing in it any more.
func TestAFullBucketOwesNothing(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Now())
	s := open(t, redistest.Start(t), redisstore.WithClock(clock))
	r := quota.Request{Uses: true, Demands: []quota.Demand{{
		Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1, 10)}}, Cost: throttle.Cost{Requests: 5},
	}}}
	first := taken(t, s, r)
	clock.Advance(6 * time.Second)
	taken(t, s, r)
	require.NoError(t, s.Cancel(t.Context(), first))
	r.Peek = true
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	assert.EqualValues(t, 5, g.Uses[0][0].Spent)
}

// By a rounding, this bucket has room for one call more than the script counts. That is a wait, not an error.
func TestABucketThatIsAHairShort(t *testing.T) {
	s := open(t, redistest.Start(t), redisstore.WithClock(clockwork.NewFakeClockAt(time.Now())))
	take := func(cost int64, n int) (admitted int) {
		grants, err := s.TakeTogether(t.Context(), quota.Request{Demands: []quota.Demand{{
			Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(390, 20)}}, Cost: throttle.Cost{Requests: cost},
		}}}, n)
		require.NoError(t, err)
		for _, g := range grants {
			if g.Wait == 0 {
				admitted++
			}
		}
		return admitted
	}
	require.Equal(t, 1, take(7, 1))
	require.Equal(t, 1, take(2, 1))
	assert.Equal(t, 10, take(1, 89))
	assert.Equal(t, 1, take(1, 89))
	assert.Zero(t, take(1, 89))
}

// When a window begins to count in parts, a call that it has forgotten may share a part with one that it still counts.
func TestAForgottenCallHasNothingToGetBack(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Unix(1_800_000_000, 0).Truncate(64 * time.Second))
	s := open(t, redistest.Start(t), redisstore.WithClock(clock))
	r := quota.Request{Uses: true, Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, 64*time.Second)}}}}}
	clock.Advance(500 * time.Millisecond)
	forgotten := taken(t, s, r)
	clock.Advance(400 * time.Millisecond)
	for range 127 {
		taken(t, s, r)
		clock.Advance(500 * time.Millisecond)
	}
	clock.Advance(200 * time.Millisecond) // 64.6 s
	taken(t, s, r)
	clock.Advance(10 * time.Millisecond)
	taken(t, s, r)
	require.NoError(t, s.Cancel(t.Context(), forgotten))
	r.Peek = true
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	assert.EqualValues(t, 129, g.Uses[0][0].Spent)
}

// A slot may be free by the time that a window admits the call, so the window counts, however soon that is.
func TestAWindowComesBeforeASlot(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Now())
	s := open(t, redistest.Start(t), redisstore.WithClock(clock))
	r := leased("slots", 1)
	r.Demands = append(r.Demands, quota.Demand{Key: "window", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, 5*time.Millisecond)}}})
	taken(t, s, r)
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, throttle.BoundByWindow, g.Bound.Kind)
	assert.Equal(t, 1, g.Demand)
	assert.Equal(t, 5*time.Millisecond, g.Wait)
}

// A late debit under limits that have changed counts, although the ticket does not say which day it is.
func TestALateDebitOfADay(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("this machine knows no time zones: ", err)
	}
	clock := clockwork.NewFakeClockAt(time.Now())
	s := open(t, redistest.Start(t), redisstore.WithClock(clock))
	day := func(most, cost int64) quota.Request {
		w := throttle.Fixed(most, 24*time.Hour, time.Date(2026, time.May, 1, 0, 0, 0, 0, zone))
		return quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{w}}, Cost: throttle.Cost{Requests: cost}}}}
	}
	late := taken(t, s, day(10, 1))
	taken(t, s, day(20, 1))
	clock.Advance(48 * time.Hour)
	require.NoError(t, s.End(t.Context(), late, []throttle.Cost{{Requests: 16}}))
	taken(t, s, day(20, 5))
	g, err := s.Take(t.Context(), day(20, 1))
	require.NoError(t, err)
	assert.Positive(t, g.Wait)
}

// time.Local is a different zone in a process with another TZ, which would count other periods.
func TestTheLocalTimeZone(t *testing.T) {
	// Version 1 of the format: one change of the clocks, from one zone to another.
	text := append([]byte("TZif"), make([]byte, 40)...)
	text[35], text[39], text[43] = 1, 2, 4
	text = append(text, 0x60, 0, 0, 0, 1)
	text = append(text, 0, 0, 0, 0, 0, 0, 0, 0, 14, 16, 0, 0)
	zone, err := time.LoadLocationFromTZData("Local", append(text, "ATL\x00"...)) // the name of time.Local
	require.NoError(t, err)
	s := newStore(t, newFake(0))
	r := request("a")
	r.Demands[0].Limits.Windows = []throttle.Window{throttle.Fixed(5, 24*time.Hour, time.Date(2026, time.March, 1, 0, 0, 0, 0, zone))}
	_, err = s.Take(t.Context(), r)
	require.ErrorAs(t, err, new(*fault.FieldError))
	require.ErrorContains(t, err, `redisstore: the limits of "a": the anchor of a calendar window is in time.Local`)
	require.NoError(t, s.Close())
}

// Close waits for a connection that is being made.
func TestTimeoutsOfConnections(t *testing.T) {
	for query, want := range map[string][2]time.Duration{
		"":                                 {200 * time.Millisecond, 200 * time.Millisecond},
		"?dial_timeout=2s&read_timeout=3s": {2 * time.Second, 3 * time.Second},
	} {
		s, err := redisstore.Open("redis://127.0.0.1:1"+query, redisstore.WithTimeout(200*time.Millisecond))
		require.NoError(t, err)
		dial, read := s.Timeouts()
		assert.Equal(t, want, [2]time.Duration{dial, read})
		require.NoError(t, s.Close())
	}
}
