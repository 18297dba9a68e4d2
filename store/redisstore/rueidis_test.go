package redisstore_test

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/store/redisstore/rueidisclient"
)

// openRueidis is open with another client.
func openRueidis(tb testing.TB, s *redistest.Server, options ...redisstore.Option) *redisstore.Store {
	tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true})
	require.NoError(tb, err)
	store, err := redisstore.New(rueidisclient.New(c), append([]redisstore.Option{redisstore.WithTimeout(patience)}, options...)...)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, store.Close())
		c.Close()
	})
	return store
}
