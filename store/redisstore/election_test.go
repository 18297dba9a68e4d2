package redisstore_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

var _ group.Election = (*redisstore.Election)(nil)

const leaseOf = 3 * time.Second

// electing returns an election by a clock of the test.
func electing(t *testing.T, name string) (e *redisstore.Election, clock *clockwork.FakeClock, server *redistest.Server) {
	t.Helper()
	server, clock = redistest.Start(t), clockwork.NewFakeClockAt(time.Now().Truncate(time.Second))
	return open(t, server, redisstore.WithClock(clock)).Election(name), clock, server
}

func acquire(t *testing.T, e *redisstore.Election, candidate string) (token int64, leader, saved string) {
	t.Helper()
	token, leader, text, err := e.Acquire(t.Context(), candidate, leaseOf)
	require.NoError(t, err)
	return token, leader, string(text)
}

func renew(t *testing.T, e *redisstore.Election, token int64, saved []byte) bool {
	t.Helper()
	held, err := e.Renew(t.Context(), token, leaseOf, saved)
	require.NoError(t, err)
	return held
}

// One candidate at a time has the lease, and the next one has a larger token and what the last one saved.
func TestElection(t *testing.T) {
	e, clock, _ := electing(t, "a")
	first, leader, saved := acquire(t, e, "one")
	assert.Positive(t, first)
	assert.Equal(t, "one", leader)
	assert.Empty(t, saved)
	none, leader, _ := acquire(t, e, "two")
	assert.Zero(t, none)
	assert.Equal(t, "one", leader)

	clock.Advance(leaseOf - time.Microsecond)
	require.True(t, renew(t, e, first, []byte("learned\x00\xff")))
	clock.Advance(leaseOf - time.Microsecond)
	require.True(t, renew(t, e, first, nil), "what is saved stays")
	clock.Advance(leaseOf)
	assert.False(t, renew(t, e, first, []byte("late")), "it has lapsed")

	second, _, saved := acquire(t, e, "two")
	assert.Greater(t, second, first)
	assert.Equal(t, "learned\x00\xff", saved)
	assert.False(t, renew(t, e, first, []byte("stale")), "it is not the last token")
	require.NoError(t, e.Release(t.Context(), first))
	require.True(t, renew(t, e, second, nil), "only the last token releases")
	require.NoError(t, e.Release(t.Context(), second))
	assert.False(t, renew(t, e, second, []byte("released")))
	third, _, saved := acquire(t, e, "one")
	assert.Greater(t, third, second)
	assert.Equal(t, "learned\x00\xff", saved)
	fourth, _, _ := acquire(t, e, "one")
	assert.Greater(t, fourth, third, "a candidate that has not received the answer asks again")
	assert.False(t, renew(t, e, third, nil))
}

// A clock that is set back holds no candidate up for longer than a lease.
func TestAnElectionAfterTheClockWasSetBack(t *testing.T) {
	e, clock, _ := electing(t, "a")
	first, _, _ := acquire(t, e, "one")
	clock.Advance(-time.Hour)
	none, _, _ := acquire(t, e, "two")
	assert.Zero(t, none)
	clock.Advance(leaseOf)
	second, _, _ := acquire(t, e, "two")
	assert.Greater(t, second, first)
}

// An election that Redis has lost has tokens that are larger than those before.
func TestAnElectionThatRedisHasLost(t *testing.T) {
	e, clock, server := electing(t, "a")
	first, _, _ := acquire(t, e, "one")
	require.NoError(t, plain(t, server).FlushAll(t.Context()).Err())
	assert.False(t, renew(t, e, first, []byte("stale")))
	clock.Advance(time.Millisecond)
	second, _, saved := acquire(t, e, "two")
	assert.Greater(t, second, first)
	assert.Empty(t, saved)
}

// Elections are apart from each other, and from the keys of limits.
func TestElectionsAreApart(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	for _, e := range []*redisstore.Election{s.Election("a"), s.Election("b"), open(t, server, redisstore.WithPrefix("other:")).Election("a")} {
		token, _, _ := acquire(t, e, "one")
		assert.Positive(t, token)
	}
	for key, err := range s.Keys(t.Context(), "") {
		require.NoError(t, err)
		assert.Fail(t, key)
	}
}

func TestLeasesAreBounded(t *testing.T) {
	s, err := redisstore.New(newFake(0))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	e := s.Election("a")
	for _, d := range []time.Duration{-1, 0, time.Microsecond, 2 * time.Hour} {
		_, _, _, err := e.Acquire(t.Context(), "one", d)
		require.ErrorContains(t, err, "redisstore: Election: d: ")
		_, err = e.Renew(t.Context(), 1, d, nil)
		require.ErrorContains(t, err, "redisstore: Election: d: ")
	}
}

// A Redis that has stopped holds no candidate.
func TestAnElectionWhileRedisIsStopped(t *testing.T) {
	server := redistest.Start(t)
	token, _, _ := acquire(t, open(t, server, redisstore.WithTimeout(time.Minute)).Election("a"), "one")
	e := open(t, server, redisstore.WithTimeout(100*time.Millisecond)).Election("a")
	server.Pause()
	defer server.Resume()
	_, err := e.Renew(t.Context(), token, leaseOf, nil)
	require.Error(t, err)
}
