package redisstore_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// The clock of Redis is set an hour ahead and back, again and again, while several stores take what they get. By the
// time of the store no limit is exceeded, and that time never goes back. After a step back calls wait for an hour, and
// no longer.
func TestTheClockOfRedisIsStepped(t *testing.T) {
	const step, steps = time.Hour, 12
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now().Truncate(time.Minute))
	stores := make([]*redisstore.Store, 3)
	for i := range stores {
		stores[i] = open(t, server, redisstore.WithClock(clock))
	}
	random := rand.New(rand.NewPCG(1, 2))
	r := quota.Request{Lease: time.Second, Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Concurrency: 8, Windows: []throttle.Window{
		throttle.Sliding(20, time.Minute), throttle.Bucket(1, 10), throttle.Fixed(30, 90*time.Second, time.Unix(0, 0).UTC()),
	}}}}}
	rules := []oracle.Rule{
		oracle.Sliding(0, 20, time.Minute), oracle.Bucket(0, 1, time.Second, 10),
		oracle.Fixed(0, 30, 90*time.Second, time.Unix(0, 0).UTC(), time.Unix(0, 0)),
	}
	var log []oracle.Entry
	take := func() bool {
		s := stores[random.IntN(len(stores))]
		g, err := s.Take(t.Context(), r)
		require.NoError(t, err)
		if g.Wait > 0 {
			return false
		}
		if n := len(log); n > 0 {
			assert.GreaterOrEqual(t, time.Duration(g.Ticket.At), log[n-1].At)
		}
		log = append(log, oracle.Entry{At: time.Duration(g.Ticket.At), Weights: oracle.Weights{throttle.Requests: 1}})
		require.NoError(t, s.End(t.Context(), g.Ticket, nil))
		return true
	}
	for i := range steps {
		for range 60 {
			if !take() {
				clock.Advance(time.Duration(random.Int64N(int64(5 * time.Second))))
			}
		}
		if i%2 == 0 {
			clock.Advance(step)
			require.True(t, take(), "an hour has passed")
			continue
		}
		clock.Advance(-step)
		admitted := 0
		for take() { // what is left at the instant at which the time stands
			admitted++
		}
		assert.LessOrEqual(t, admitted, 10)
		clock.Advance(step - 10*time.Minute)
		require.False(t, take(), "it stands still")
		clock.Advance(10*time.Minute + 90*time.Second)
		require.True(t, take(), "it has caught up")
	}
	require.NoError(t, oracle.Judge(log, rules...).Err())
	t.Logf("%d calls", len(log))
}
