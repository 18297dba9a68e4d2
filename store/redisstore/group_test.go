package redisstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// apart returns a store with each key in a group of its own, and a request to two of them.
func apart(t *testing.T) (*redisstore.Store, *clockwork.FakeClock, quota.Request) {
	t.Helper()
	clock := clockwork.NewFakeClockAt(time.Now())
	s := open(t, redistest.Start(t), redisstore.WithClock(clock), redisstore.WithGroups(func(key string) string { return key }))
	a, b := leased("a", 2, throttle.Sliding(3, time.Minute)), leased("b", 0, throttle.Sliding(2, time.Hour))
	a.Demands = append(a.Demands, b.Demands...)
	a.Demands = append(a.Demands, quota.Demand{Key: "c", Limits: throttle.Limits{Concurrency: 9}})
	return s, clock, a
}

func TestGroupsHaveTheirOwnTags(t *testing.T) {
	s, _, _ := apart(t)
	assert.NotEqual(t, s.Names("a")[0][:25], s.Names("b")[0][:25])
	one := newStore(t, newFake(0))
	a, b := one.Names("}a"), one.Names("")
	assert.Regexp(t, `^headrace:\{[\w-]{12}\}[\w-]{22}$`, a[0])
	assert.Equal(t, a[0]+":s", a[1])
	assert.Equal(t, a[0][:23], b[0][:23])
	require.NoError(t, one.Close())
}

func TestARefusalGivesBackWhatOtherGroupsReserved(t *testing.T) {
	s, _, r := apart(t)
	for range 2 {
		require.NoError(t, s.End(t.Context(), taken(t, s, r), nil))
	}
	for range 5 {
		g, err := s.Take(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, throttle.BoundByWindow, g.Bound.Kind)
		assert.Equal(t, 1, g.Demand)
		assert.Equal(t, time.Hour, g.Wait)
		assert.Empty(t, g.Ticket.ID)
	}
	state, err := s.Look(t.Context(), "a")
	require.NoError(t, err)
	assert.Zero(t, state.InFlight)
	assert.EqualValues(t, 2, state.Uses[0].Spent)
}

func TestTicketsOfSeveralGroups(t *testing.T) {
	s, clock, r := apart(t)
	r.Uses = true
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, g.Uses, 3)
	assert.EqualValues(t, 1, g.Uses[1][0].Spent)
	first := g.Ticket
	r.Uses = false
	second := taken(t, s, r)
	assert.Greater(t, second.Token, first.Token)
	only := r
	only.Demands = r.Demands[2:]
	third := taken(t, s, only)
	assert.Greater(t, third.Token, second.Token, "tokens increase in every group")

	clock.Advance(50 * time.Second)
	lost, err := s.Renew(t.Context(), []quota.Ticket{second}, time.Minute)
	require.NoError(t, err)
	assert.Empty(t, lost)
	clock.Advance(20 * time.Second)
	lost, err = s.Renew(t.Context(), []quota.Ticket{first, second}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, []quota.Ticket{first}, lost)
	require.ErrorIs(t, s.Cancel(t.Context(), first), quota.ErrLeaseLost)
	require.NoError(t, s.Cancel(t.Context(), second))
	state, err := s.Look(t.Context(), "b")
	require.NoError(t, err)
	assert.EqualValues(t, 1, state.Uses[0].Spent, "that of the lost ticket")
	state, err = s.Look(t.Context(), "c")
	require.NoError(t, err)
	assert.Zero(t, state.InFlight)
}

// A lease that is lost in one group becomes free in the others when it is renewed or ended.
func TestALostLeaseIsFreeInAllGroups(t *testing.T) {
	for name, lose := range map[string]func(s *redisstore.Store, ticket quota.Ticket) error{
		"Renew": func(s *redisstore.Store, ticket quota.Ticket) error {
			lost, err := s.Renew(t.Context(), []quota.Ticket{ticket}, time.Minute)
			if len(lost) == 1 {
				return quota.ErrLeaseLost
			}
			return err
		},
		"End": func(s *redisstore.Store, ticket quota.Ticket) error {
			return s.End(t.Context(), ticket, make([]throttle.Cost, 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, r := apart(t)
			r.Demands = append(r.Demands, leased("d", 1, throttle.Sliding(3, time.Minute)).Demands...)
			ticket := taken(t, s, r)
			require.NoError(t, s.Forget(t.Context(), "a"))
			require.ErrorIs(t, lose(s, ticket), quota.ErrLeaseLost)
			for _, key := range []string{"c", "d"} {
				state, err := s.Look(t.Context(), key)
				require.NoError(t, err)
				assert.Zero(t, state.InFlight, key)
			}
			state, err := s.Look(t.Context(), "d")
			require.NoError(t, err)
			assert.EqualValues(t, 1, state.Uses[0].Spent, "it keeps what it was charged")
		})
	}
}

// A token that several groups share is ahead of the clock. A key that forgot it would give lower ones.
func TestAKeyRemembersItsTokenUntilTheClockPassesIt(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server, redisstore.WithTimeout(time.Hour), redisstore.WithGroups(func(key string) string { return key }))
	r := leased("a", 1)
	r.Demands = append(r.Demands, leased("b", 1).Demands...)
	r.Lease = time.Second
	taken(t, s, r)
	assert.Greater(t, plain(t, server).PTTL(t.Context(), s.Names("a")[0]).Val(), 59*time.Minute)
}

// A Cancel continues in all groups after the end of its context, until Close.
func TestACancelGoesOnInAllGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		close(f.open)
		s, err := redisstore.New(f, redisstore.WithGroups(func(key string) string { return key }))
		require.NoError(t, err)
		r := quota.Request{}
		for _, key := range []string{"a", "b", "c"} {
			r.Demands = append(r.Demands, request(key).Demands...)
		}
		cancelled := func() (release func()) {
			ticket := taken(t, s, r)
			open := make(chan struct{})
			f.reopen(open)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, s.Cancel(ctx, ticket), context.DeadlineExceeded)
			return func() { close(open) }
		}
		before := f.ends()
		cancelled()()
		synctest.Wait()
		assert.Equal(t, before+3, f.ends())

		release := cancelled()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			assert.NoError(t, s.Close())
		}()
		synctest.Wait()
		release()
		<-closed
		assert.Equal(t, before+4, f.ends(), "the command that was sent")
	})
}
