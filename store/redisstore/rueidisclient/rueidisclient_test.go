package rueidisclient_test

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/store/redisstore/rueidisclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, s *redistest.Server) *redisstore.Store {
	tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, DisableRetry: true})
	require.NoError(tb, err)
	store, err := redisstore.New(rueidisclient.New(c), redisstore.WithPrefix(tb.Name()+":"))
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, store.Close())
		c.Close()
	})
	return store
}

// The clock is that of Redis, and another handle is one of go-redis.
func TestStore(t *testing.T) {
	if testing.Short() {
		t.Skip("this takes half a minute")
	}
	server := redistest.Start(t)
	quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
		tb.Helper()
		return quotatest.Subject{
			Store: open(tb, server),
			Peer: func() quota.Store {
				s, err := redisstore.Open(server.URL(), redisstore.WithPrefix(tb.Name()+":"))
				require.NoError(tb, err)
				tb.Cleanup(func() { require.NoError(tb, s.Close()) })
				return s
			},
			Pass:      time.Sleep,
			Late:      time.Millisecond,
			Slots:     64,
			Histories: 1,
		}
	})
}
