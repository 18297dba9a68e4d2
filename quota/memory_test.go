package quota

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// What every Store has to do is in quotatest; here is what only this one does.

func memoryStore(t *testing.T) (*memory, *clockwork.FakeClock, func(lease time.Duration, demands ...Demand) Grant) {
	t.Helper()
	clock := clockwork.NewFakeClock()
	s := newMemory(clock)
	return s, clock, func(lease time.Duration, demands ...Demand) Grant {
		t.Helper()
		g, err := s.Take(t.Context(), Request{Demands: demands, Lease: lease})
		require.NoError(t, err)
		return g
	}
}

func user(i int, w ...throttle.Window) Demand {
	return Demand{Key: fmt.Sprintf("user %d", i), Limits: throttle.Limits{Windows: w}}
}

func TestMemoryStoreForgetsIdleKeys(t *testing.T) {
	s, clock, take := memoryStore(t)
	windows := []throttle.Window{throttle.Sliding(1, time.Second), throttle.Bucket(1, 1), throttle.Fixed(1, time.Second, time.Time{})}
	for i := range 3000 {
		require.Zero(t, take(0, user(i, windows[i%3])).Wait)
	}
	assert.Len(t, s.keys, 3000, "all of them have history")
	clock.Advance(time.Second)
	for i := range 1500 {
		take(0, user(-1-i%2))
	}
	assert.Empty(t, s.keys, "half as many calls are enough to forget them")
	assert.Len(t, s.ring, len(s.keys))
}

// Keys that are used once do not add up, however many there are.
func TestMemoryStoreStaysSmall(t *testing.T) {
	s, clock, take := memoryStore(t)
	most := 0
	for i := range 50_000 {
		take(0, user(i, throttle.Sliding(3, time.Second)), user(-i-1, throttle.Bucket(2, 2)))
		clock.Advance(time.Millisecond)
		most = max(most, len(s.keys))
	}
	assert.Less(t, most, 2*2*1001, "there are twice the 2000 of the last second, at most")
}

// Keys with a history are bounded too. Those in use, with a slot or a cooldown stay, and so does their history.
func TestMemoryStoreForgetsOldKeys(t *testing.T) {
	s, clock, take := memoryStore(t)
	s.most = 100
	daily, slot := user(-1, throttle.Sliding(3, 24*time.Hour)), Demand{Key: "slot", Limits: throttle.Limits{Concurrency: 1}}
	held := take(48*time.Hour, slot).Ticket
	require.NoError(t, s.Cooldown(t.Context(), "cold", 48*time.Hour))
	admitted := 0
	for i := range 1000 {
		take(0, user(i, throttle.Sliding(1, 24*time.Hour)))
		if take(0, daily).Wait == 0 {
			admitted++
		}
		clock.Advance(time.Second)
		require.LessOrEqual(t, len(s.keys), 100)
		require.Len(t, s.ring, len(s.keys))
	}
	assert.Equal(t, 3, admitted, "it is used all the time, although it is rejected")
	assert.Positive(t, take(time.Hour, slot).Wait)
	assert.Positive(t, take(0, Demand{Key: "cold"}).Wait)
	require.NoError(t, s.End(t.Context(), held, nil))

	for i := range 200 { // nothing but slots: they are of running calls
		require.Zero(t, take(time.Hour, Demand{Key: fmt.Sprintf("slot %d", i), Limits: slot.Limits}).Wait)
	}
	assert.Greater(t, len(s.keys), 200)
	clock.Advance(time.Hour)
	for i := range 200 {
		take(0, user(i, throttle.Sliding(1, 24*time.Hour)))
	}
	assert.LessOrEqual(t, len(s.keys), 100)
}

// A flood of new keys displaces those that have not been used for long, not those in use.
func TestMemoryStoreForgetsTheLeastRecentlyUsed(t *testing.T) {
	s, clock, take := memoryStore(t)
	s.most = 100
	const used = 50
	admitted := 0
	for i := range 1000 {
		for j := range used {
			if take(0, user(-1-j, throttle.Sliding(1, 24*time.Hour))).Wait == 0 {
				admitted++
			}
		}
		clock.Advance(time.Second)
		take(0, user(i, throttle.Sliding(1, 24*time.Hour)))
		require.Contains(t, s.keys, fmt.Sprintf("user %d", max(0, i-5)))
		clock.Advance(time.Second)
	}
	assert.Equal(t, used, admitted)
}

func TestMemoryStoreKeepsKeysInUse(t *testing.T) {
	s, clock, take := memoryStore(t)
	slot := Demand{Key: "slot", Limits: throttle.Limits{Concurrency: 1}}
	leased := take(time.Minute, slot)
	require.NoError(t, s.Cooldown(t.Context(), "cold", 2*time.Minute))
	debt := take(0, user(1, throttle.Sliding(5, time.Second)))
	require.NoError(t, s.End(t.Context(), debt.Ticket, []throttle.Cost{{Requests: 5}}))
	sweep := func() {
		for range 5 {
			take(0, Demand{Key: "free"})
		}
	}
	clock.Advance(time.Second - 1)
	sweep()
	assert.Contains(t, s.keys, "user 1")
	clock.Advance(1)
	sweep()
	assert.NotContains(t, s.keys, "user 1")
	clock.Advance(58 * time.Second)
	sweep()
	assert.Contains(t, s.keys, "slot")
	clock.Advance(time.Second)
	sweep()
	assert.NotContains(t, s.keys, "slot", "its lease lapsed")
	assert.Empty(t, s.leases)
	assert.ErrorIs(t, s.End(t.Context(), leased.Ticket, nil), ErrLeaseLost)
	assert.Contains(t, s.keys, "cold")
	clock.Advance(time.Minute)
	sweep()
	assert.NotContains(t, s.keys, "cold")
}

// A ticket that outlived its key has nothing to get back, but can owe.
func TestMemoryStoreSettlesForgottenKeys(t *testing.T) {
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(5, time.Second), "bucket": throttle.Bucket(5, 5), "fixed": throttle.Fixed(5, time.Second, time.Time{}),
	} {
		s, clock, take := memoryStore(t)
		d := user(1, w)
		back, debit := take(0, d).Ticket, take(0, d).Ticket
		clock.Advance(time.Second)
		take(0, Demand{Key: "free"})
		require.NotContains(t, s.keys, d.Key, name)
		require.NoError(t, s.Cooldown(t.Context(), d.Key, 1))
		clock.Advance(1)
		require.NoError(t, s.End(t.Context(), debit, []throttle.Cost{{Requests: 4}}))
		require.NoError(t, s.Cancel(t.Context(), back))
		assert.Zero(t, take(0, d).Wait, name)
		assert.Zero(t, take(0, d).Wait, name)
		assert.Positive(t, take(0, d).Wait, "%s: three of five were owed", name)
	}
}

// A key that was forgotten begins anew: its bucket is full, whatever is stated next.
func TestMemoryStoreForgottenKeysBeginAnew(t *testing.T) {
	_, clock, take := memoryStore(t)
	require.Zero(t, take(0, user(1, throttle.Bucket(1, 1))).Wait)
	clock.Advance(time.Second)
	take(0, Demand{Key: "free"})
	for range 5 {
		assert.Zero(t, take(0, user(1, throttle.Bucket(1, 5))).Wait)
	}
	assert.Equal(t, time.Second, take(0, user(1, throttle.Bucket(1, 5))).Wait)
}

func TestMemoryStoreEndsNothingByDoingNothing(t *testing.T) {
	s, _, take := memoryStore(t)
	d := user(1, throttle.Sliding(1, time.Second))
	slot := Demand{Key: "slot", Limits: throttle.Limits{Concurrency: 1}}
	none := Ticket{Demands: []Demand{d, slot}}
	require.NoError(t, s.End(t.Context(), none, []throttle.Cost{{Requests: 5}, {}}))
	require.NoError(t, s.Cancel(t.Context(), none))
	require.NoError(t, s.End(t.Context(), Ticket{Demands: []Demand{d}}, []throttle.Cost{{Requests: 5}}))
	assert.Empty(t, s.keys)
	assert.Zero(t, take(time.Second, d, slot).Wait)
}

// A window gives nothing back to a call that it did not charge.
func TestMemoryStoreNewWindowsOweNothingToOldCalls(t *testing.T) {
	for _, w := range []throttle.Window{throttle.Sliding(10, time.Second).Of(throttle.Tokens), throttle.Bucket(10, 10).Of(throttle.Tokens), throttle.Fixed(10, time.Second, time.Time{}).Of(throttle.Tokens)} {
		s, _, take := memoryStore(t)
		d := user(1, throttle.Sliding(9, time.Second))
		d.Cost.Tokens = 10
		before := take(0, d).Ticket
		d.Limits.Windows = append(d.Limits.Windows, w)
		charged := take(0, d).Ticket
		require.NotEmpty(t, charged.ID)
		require.NoError(t, s.Cancel(t.Context(), before))
		assert.Positive(t, take(0, d).Wait, "%s", w)
		require.NoError(t, s.Cancel(t.Context(), charged))
		assert.Zero(t, take(0, d).Wait, "%s", w)
	}
}

func TestMemoryStoreClampsWhatWasUsed(t *testing.T) {
	s, clock, take := memoryStore(t)
	d := user(1, throttle.Sliding(4, time.Second))
	require.NoError(t, s.End(t.Context(), take(0, d).Ticket, []throttle.Cost{{Requests: -1 << 62}}))
	for _, ticket := range []Ticket{take(0, d).Ticket, take(0, d).Ticket} {
		require.NoError(t, s.End(t.Context(), ticket, []throttle.Cost{{Requests: 1 << 62}})) // in sum below zero
	}
	assert.Equal(t, time.Second, take(0, d).Wait)
	clock.Advance(time.Second)
	assert.Zero(t, take(0, d).Wait)
}

func TestMemoryStoreForgetsCooldowns(t *testing.T) {
	s, clock, _ := memoryStore(t)
	for i := range 1000 {
		require.NoError(t, s.Cooldown(t.Context(), strconv.Itoa(i), time.Second))
		clock.Advance(100 * time.Millisecond)
	}
	assert.Less(t, len(s.keys), 50)
}

func TestMemoryStoreTellsWhenToAskForASlot(t *testing.T) {
	s, clock, take := memoryStore(t)
	d := Demand{Key: "a", Limits: throttle.Limits{Concurrency: 2}}
	long := take(time.Minute, d).Ticket
	take(30*time.Millisecond, d)
	slot := func(wait time.Duration) Grant {
		return Grant{Wait: wait, Bound: throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: wait}}
	}
	assert.Equal(t, slot(25*time.Millisecond), take(time.Minute, d))
	clock.Advance(10 * time.Millisecond)
	assert.Equal(t, slot(20*time.Millisecond), take(time.Minute, d), "then a lease lapses")
	lost, err := s.Renew(t.Context(), []Ticket{long}, 15*time.Millisecond)
	require.NoError(t, err)
	assert.Empty(t, lost)
	assert.Equal(t, slot(15*time.Millisecond), take(time.Minute, d), "a lease was cut short")
}

// A slot may be free by the time that the windows let the call go.
func TestMemoryStoreWaitsForSlotsLast(t *testing.T) {
	_, _, take := memoryStore(t)
	slot := Demand{Key: "slot", Limits: throttle.Limits{Concurrency: 1}}
	narrow, wide := user(1, throttle.Sliding(1, 10*time.Millisecond)), user(2, throttle.Sliding(1, 11*time.Millisecond))
	other := Demand{Key: "other", Limits: throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Millisecond)}}}
	take(time.Second, slot, narrow, wide)
	take(5*time.Millisecond, other)
	bound := func(g Grant) string { return fmt.Sprint(g.Demand, " ", g.Bound.Kind, " ", g.Wait) }
	for want, demands := range map[string][]Demand{
		"1 1 10ms": {slot, narrow},
		"0 1 10ms": {narrow, slot},
		"2 1 11ms": {slot, narrow, wide},
		"1 1 11ms": {slot, wide, narrow},
		"1 1 1ms":  {slot, other},
		"0 2 25ms": {slot},
	} {
		assert.Equal(t, want, bound(take(time.Second, demands...)))
	}
}

func TestMemoryStoreLeaseLapsesAtOnce(t *testing.T) {
	s, clock, take := memoryStore(t)
	d := Demand{Key: "a", Limits: throttle.Limits{Concurrency: 2}}
	first, second := take(time.Second, d).Ticket, take(time.Second, d).Ticket
	clock.Advance(time.Second - 1)
	require.NoError(t, s.End(t.Context(), first, nil))
	clock.Advance(1)
	assert.ErrorIs(t, s.End(t.Context(), second, nil), ErrLeaseLost, "nobody else has looked at the key since")
}

func TestMemoryStoreClampsDurations(t *testing.T) {
	s, clock, take := memoryStore(t)
	clock.Advance(time.Hour)
	d := Demand{Key: "a", Limits: throttle.Limits{Concurrency: 1}}
	held := take(throttle.Forever, d).Ticket
	lost, err := s.Renew(t.Context(), []Ticket{held}, throttle.Forever)
	require.NoError(t, err)
	assert.Empty(t, lost)
	assert.Equal(t, 25*time.Millisecond, take(throttle.Forever, d).Wait)
	require.NoError(t, s.Cooldown(t.Context(), "b", throttle.Forever))
	assert.Equal(t, throttle.Forever-time.Hour, take(0, Demand{Key: "b"}).Wait)
}

func TestMemoryStoreCopiesDemands(t *testing.T) {
	s, _, take := memoryStore(t)
	windows := []throttle.Window{throttle.Sliding(1, time.Second)}
	demands := []Demand{user(1, windows...)}
	g := take(0, demands...)
	demands[0].Key = "somebody else"
	assert.Equal(t, "user 1", g.Ticket.Demands[0].Key)
	windows[0] = throttle.Sliding(2, time.Second)
	assert.Zero(t, take(0, user(1, windows...)).Wait, "new limits, in the memory of the old ones")
	assert.Positive(t, take(0, user(1, windows...)).Wait)
	require.NoError(t, s.Cancel(t.Context(), g.Ticket))
	assert.Zero(t, take(0, user(1, windows...)).Wait)
}

func TestMemoryStoreNamesWhatIsWrong(t *testing.T) {
	s, _, take := memoryStore(t)
	_, err := s.Take(t.Context(), Request{Demands: []Demand{{Key: "a"}, {Key: "a", Limits: throttle.Limits{Concurrency: -1, Windows: []throttle.Window{{}, throttle.Sliding(0, 0)}}}, {}}})
	assert.EqualError(t, err, `quota: Demands[1].Key: "a" is also the key of Demands[0]: combine them into one demand with the sum of their costs
quota: Demands[1].Limits.Concurrency: -1 is negative: use 0 for unbounded, or at least 1
quota: Demands[1].Limits.Windows[0]: the window is empty: make it with Sliding, Bucket or Fixed
quota: Demands[1].Limits.Windows[1].Per: 0s is not a positive duration
quota: Demands[1].Limits.Windows[1].Max: 0 is not between 1 and 1099511627776
quota: Demands[2].Key: it is empty: name the limited resource`)
	_, err = s.Take(t.Context(), Request{Demands: []Demand{user(1), user(7, throttle.Sliding(2, time.Second)), user(3, throttle.Sliding(1, time.Second))}})
	require.NoError(t, err)
	tooLarge := user(7, throttle.Sliding(2, time.Second))
	tooLarge.Cost.Requests = 3
	_, err = s.Take(t.Context(), Request{Demands: []Demand{user(1), tooLarge}})
	var impossible *throttle.CostError
	require.ErrorAs(t, err, &impossible)
	assert.Equal(t, throttle.CostError{Limiter: "user 7", Unit: throttle.Requests, Amount: 3, Max: 2, Window: throttle.Sliding(2, time.Second)}, *impossible)
	held := take(time.Second, Demand{Key: "slot", Limits: throttle.Limits{Concurrency: 1}}).Ticket
	require.NoError(t, s.End(t.Context(), held, nil))
	assert.EqualError(t, s.End(t.Context(), held, nil), "quota: lease lost: ticket "+held.ID)
}

// A lease over several keys that share others stays in order under renewals.
func TestMemoryStoreKeepsLeasesInOrder(t *testing.T) {
	s, clock, take := memoryStore(t)
	key := func(name string) Demand { return Demand{Key: name, Limits: throttle.Limits{Concurrency: 100}} }
	var open []Ticket
	for i := range 60 {
		demands := []Demand{key("a"), key("b"), key("c")}
		open = append(open, take(time.Duration(1+i*37%60)*time.Second, demands[i%3], demands[(i+1)%3]).Ticket)
	}
	for i := range 60 {
		switch i % 4 {
		case 0:
			require.NoError(t, s.End(t.Context(), open[i], nil))
		case 1:
			_, err := s.Renew(t.Context(), open[i:i+1], time.Duration(1+i*23%60)*time.Second)
			require.NoError(t, err)
		}
	}
	for range 60 {
		now := s.clock.Elapsed()
		want := map[string]int{}
		for _, l := range s.leases {
			for _, h := range l.slots {
				if l.ends > now {
					want[h.key.name]++
				}
			}
		}
		for name, n := range want {
			_, err := s.Take(t.Context(), Request{Demands: []Demand{{Key: name, Limits: throttle.Limits{Concurrency: 1}}}, Peek: true})
			require.NoError(t, err)
			assert.Len(t, s.keys[name].slots, n)
		}
		clock.Advance(time.Second)
	}
}

func BenchmarkMemoryStoreTake(b *testing.B) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("demands=%d", n), func(b *testing.B) {
			s := NewMemoryStore(nil)
			var demands []Demand
			for i := range n {
				demands = append(demands, user(i, throttle.Sliding(throttle.MaxAmount, time.Minute)))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Take(b.Context(), Request{Demands: demands}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("lease", func(b *testing.B) {
		s := NewMemoryStore(nil)
		demands := []Demand{{Key: "a", Limits: throttle.Limits{Concurrency: 1}}}
		b.ReportAllocs()
		for b.Loop() {
			g, err := s.Take(b.Context(), Request{Demands: demands, Lease: time.Minute})
			if err == nil {
				err = s.End(b.Context(), g.Ticket, nil)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("newcomers", func(b *testing.B) {
		s := NewMemoryStore(nil)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			if _, err := s.Take(b.Context(), Request{Demands: []Demand{user(i, throttle.Sliding(10, time.Millisecond))}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What holds no slot needs no lease, whatever was asked for.
func TestMemoryStoreKeepsNoLeaseWithoutASlot(t *testing.T) {
	s, clock, take := memoryStore(t)
	g := take(time.Hour, user(1, throttle.Sliding(2, time.Second)))
	assert.Empty(t, s.leases)
	require.NoError(t, s.Cancel(t.Context(), g.Ticket))
	take(0, user(2, throttle.Fixed(1, time.Hour, clock.Now())))
	clock.Advance(time.Minute)
	assert.Equal(t, 59*time.Minute, take(0, user(2, throttle.Fixed(1, time.Hour, clock.Now().Add(-time.Minute)))).Wait, "a calendar is exact")
}

// The shortest of waits is one.
func TestMemoryStoreOneNanosecond(t *testing.T) {
	s, clock, take := memoryStore(t)
	require.NoError(t, s.Cooldown(t.Context(), "user 1", 1))
	assert.Equal(t, time.Duration(1), take(0, user(1, throttle.Sliding(1, time.Second))).Wait)
	clock.Advance(1)
	assert.Zero(t, take(0, user(1, throttle.Sliding(1, time.Second))).Wait)
	clock.Advance(time.Second - 1)
	assert.Equal(t, time.Duration(1), take(0, user(1, throttle.Sliding(1, time.Second))).Wait)
}

// A demand without limits leaves those behind it as they are.
func TestMemoryStoreDemandWithoutLimits(t *testing.T) {
	_, _, take := memoryStore(t)
	free := Demand{Key: "free"}
	require.Zero(t, take(0, free, user(1, throttle.Sliding(1, time.Second))).Wait)
	assert.Equal(t, time.Second, take(0, free, user(1, throttle.Sliding(1, time.Second))).Wait)
}
