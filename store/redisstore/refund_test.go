package redisstore_test

import (
	"math/rand/v2"
	"slices"
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

// A bucket counts what the one in memory does, also with more calls under way than either remembers, and when its burst
// changes meanwhile.
func TestABucketRefundsWhatMemoryDoes(t *testing.T) {
	const microsecond = 1000
	server, random := redistest.Start(t), rand.New(rand.NewPCG(1, 2))
	clock := clockwork.NewFakeClockAt(time.Unix(1_800_000_000, 0))
	type pair struct{ redis, memory quota.Ticket }
	s, memory := open(t, server, redisstore.WithClock(clock)), quota.NewMemoryStore(clock)
	for round := range 20 {
		var tickets []pair
		burst := int64(200)
		rate := 1.0
		request := func(cost int64) quota.Request {
			return quota.Request{Uses: true, Demands: []quota.Demand{{
				Key: string(rune('a' + round)), Cost: throttle.Cost{Requests: cost},
				// The other window keeps the key from being forgotten.
				Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(rate, burst), throttle.Fixed(100_000, 1000*24*time.Hour, time.Time{}).Of(throttle.Points)}},
			}}}
		}
		for step := range 200 {
			switch k := random.IntN(8); {
			case k < 4 && len(tickets) > 0:
				i := random.IntN(len(tickets))
				require.NoError(t, s.Cancel(t.Context(), tickets[i].redis))
				require.NoError(t, memory.Cancel(t.Context(), tickets[i].memory))
				tickets = slices.Delete(tickets, i, i+1)
			case k == 4 && round%2 == 0:
				burst, rate = 190+random.Int64N(20), 1/float64(1+random.IntN(2))
			default:
				clock.Advance(time.Duration(random.Int64N(int64(1+round/2)*int64(time.Second)) / microsecond * microsecond))
			}
			r := request(1 + random.Int64N(12))
			r.Demands[0].Cost.Points = 1
			a, err := s.Take(t.Context(), r)
			require.NoError(t, err)
			b, err := memory.Take(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, b.Uses[0][0].Spent, a.Uses[0][0].Spent, "round %d, step %d", round, step)
			require.InDelta(t, b.Wait, a.Wait, microsecond, "Redis counts whole microseconds")
			if a.Wait == 0 {
				tickets = append(tickets, pair{a.Ticket, b.Ticket})
			}
		}
	}
}

// What was missing before each take is kept in time, which a unit takes more of if the rate falls.
func TestARefundAfterTheRateFell(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Unix(1_800_000_000, 0))
	s := open(t, redistest.Start(t), redisstore.WithClock(clock))
	take := func(rate float64, cost int64) quota.Grant {
		g, err := s.Take(t.Context(), quota.Request{Uses: true, Demands: []quota.Demand{{
			Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(rate, 20)}}, Cost: throttle.Cost{Requests: cost},
		}}})
		require.NoError(t, err)
		return g
	}
	first := take(1, 5)
	clock.Advance(time.Second)
	take(1, 3) // 4 were missing
	require.EqualValues(t, 8, take(0.5, 1).Uses[0][0].Spent)
	require.NoError(t, s.Cancel(t.Context(), first.Ticket))
	require.EqualValues(t, 5, take(0.5, 1).Uses[0][0].Spent)
}

// What a bucket remembers of calls that come ever faster than it refills is bounded, also beside a busy sliding window.
func TestABusyBucketIsSmall(t *testing.T) {
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now())
	s, c := open(t, server, redisstore.WithClock(clock)), plain(t, server)
	r := quota.Request{Demands: []quota.Demand{{Key: "organisation/user-4711", Cost: throttle.Cost{Tokens: 1}, Limits: throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(100_000, time.Minute), throttle.Bucket(1, 10_000).Of(throttle.Tokens),
	}}}}}
	most := int64(0)
	for i := range 1300 {
		clock.Advance(90 * time.Millisecond)
		taken(t, s, r)
		if i > 128 && i%50 == 0 {
			most = max(most, c.StrLen(t.Context(), s.Names(r.Demands[0].Key)[0]).Val())
		}
	}
	assert.Greater(t, most, int64(16*15))
	assert.LessOrEqual(t, most, int64(1536))
}
