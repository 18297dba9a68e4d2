package redisstore_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// contents is what Redis holds of keys.
func contents(t *testing.T, server *redistest.Server, s *redisstore.Store, keys ...string) map[string]string {
	t.Helper()
	c, all := plain(t, server), map[string]string{}
	for _, key := range keys {
		for _, name := range s.Names(key) {
			all[name] = c.Dump(t.Context(), name).Val()
		}
	}
	return all
}

// A user of Redis that must not publish: a script that fails on it has freed no slot, and given nothing back.
func TestAnEndThatCannotBeAnnouncedChangesNothing(t *testing.T) {
	server := redistest.Start(t)
	require.NoError(t, plain(t, server).Do(t.Context(), "ACL", "SETUSER", "mute", "on", "nopass", "~*", "+@all", "resetchannels").Err())
	s, err := redisstore.Open("redis://mute:x@"+server.Addr, redisstore.WithTimeout(patience))
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // its tickets are not ended
	r := leased("a", 2, throttle.Sliding(5, time.Minute))
	r.Demands = append(r.Demands, leased("b", 2, throttle.Bucket(1, 5)).Demands...)
	ticket := taken(t, s, r)
	before := contents(t, server, s, "a", "b")
	require.ErrorContains(t, s.Cancel(t.Context(), ticket), "channel")
	require.ErrorContains(t, s.Forget(t.Context(), "a"), "channel")
	assert.Equal(t, before, contents(t, server, s, "a", "b"))

	s = open(t, server)
	require.NoError(t, s.Cancel(t.Context(), ticket), "it is not lost")
	state, err := s.Look(t.Context(), "b")
	require.NoError(t, err)
	assert.Zero(t, state, "nor is anything of it left")
}

// Nor does a Take that must not write the value of its key leave a slot behind.
func TestATakeThatCannotBeCountedLeavesNoSlot(t *testing.T) {
	server := redistest.Start(t)
	require.NoError(t, plain(t, server).Do(t.Context(), "ACL", "SETUSER", "reader", "on", "nopass", "~*", "&*", "+@all", "-set").Err())
	s, err := redisstore.Open("redis://reader:x@"+server.Addr, redisstore.WithTimeout(patience))
	require.NoError(t, err)
	_, err = s.Take(t.Context(), leased("a", 2))
	require.ErrorContains(t, err, "redisstore: ")
	require.NoError(t, s.Close())
	assert.Zero(t, plain(t, server).Exists(t.Context(), s.Names("a")...).Val())
}

// The slots of one key are damaged: leases on other keys are extended, and no lease by half.
func TestARenewalLeavesDamagedKeysOut(t *testing.T) {
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now())
	s, c := open(t, server, redisstore.WithClock(clock)), plain(t, server)
	both := leased("c", 2)
	both.Demands = append(both.Demands, leased("b", 2).Demands...)
	tickets := []quota.Ticket{taken(t, s, leased("a", 2)), taken(t, s, leased("b", 2)), taken(t, s, both)}
	before := contents(t, server, s, "c")
	require.NoError(t, c.Set(t.Context(), s.Names("b")[1], "foreign", 0).Err())
	clock.Advance(time.Second)
	lost, err := s.Renew(t.Context(), tickets, time.Hour)
	require.ErrorContains(t, err, `the limits of "b"`)
	assert.Empty(t, lost)
	assert.Equal(t, before, contents(t, server, s, "c"))
	clock.Advance(30 * time.Minute)
	require.NoError(t, s.End(t.Context(), tickets[0], nil), "its lease was extended")
}

// Damaged slots are found also behind those of another key of the call, on which its lease has lapsed.
func TestDamagedSlotsBehindALeaseThatHasLapsed(t *testing.T) {
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now())
	s, c := open(t, server, redisstore.WithClock(clock)), plain(t, server)
	both := leased("c", 2)
	both.Demands = append(both.Demands, leased("b", 2).Demands...)
	ticket := taken(t, s, both)
	clock.Advance(both.Lease + time.Second)
	require.NoError(t, c.Set(t.Context(), s.Names("b")[1], "foreign", 0).Err())
	_, err := s.Renew(t.Context(), []quota.Ticket{ticket}, time.Hour)
	requireDamaged(t, err, "b")
	requireDamaged(t, s.End(t.Context(), ticket, nil), "b")
}

// A Peek does not remove what has lapsed either.
func TestAPeekWritesNothing(t *testing.T) {
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now())
	s := open(t, server, redisstore.WithClock(clock))
	r := leased("a", 1)
	taken(t, s, r)
	clock.Advance(2 * r.Lease)
	before := contents(t, server, s, "a")
	r.Peek = true
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	assert.Zero(t, g.Wait, "the lease has lapsed")
	assert.Equal(t, before, contents(t, server, s, "a"))
}

// What a ticket used beyond its reservation counts, also if its key was lost meanwhile.
func TestADebitOfALostKeyCounts(t *testing.T) {
	server := redistest.Start(t)
	s, c := open(t, server), plain(t, server)
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(10, time.Hour), "bucket": throttle.Bucket(0.001, 10), "calendar": throttle.Fixed(10, 1000*24*time.Hour, time.Time{}),
	} {
		r := quota.Request{Demands: []quota.Demand{{Key: name, Limits: throttle.Limits{Windows: []throttle.Window{w}}}}}
		ticket := taken(t, s, r)
		require.NoError(t, c.Del(t.Context(), s.Names(name)...).Err())
		require.NoError(t, s.End(t.Context(), ticket, []throttle.Cost{{Requests: 7}}))
		state, err := s.Look(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, state.Uses, 1, name)
		assert.EqualValues(t, 6, state.Uses[0].Spent, name)
	}
}
