package faulttests_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/redisserver"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/throttle"
)

// A damaged value in Redis fails its own limit, by REST and in the store of other programs, until it is reset.
func TestADamagedKey(t *testing.T) {
	server := redisserver.Start(t)
	c := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer c.Close() //nolint:errcheck // nothing depends on it
	s := start(t, on(server.URL(), patient))
	store, err := servicestore.Open(s.address)
	require.NoError(t, err)
	defer store.Close() //nolint:errcheck // nothing depends on it
	guarded, err := quota.WithFallback(store, quota.Fallback{Timeout: time.Minute})
	require.NoError(t, err)
	of := func(key string) quota.Request {
		return quota.Request{Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(99, time.Hour)}}}}}
	}
	// spoil damages all that there is now.
	spoil := func() {
		for _, name := range c.Keys(t.Context(), "*").Val() {
			require.NoError(t, c.Set(t.Context(), name, "foreign", time.Hour).Err())
		}
	}

	require.Equal(t, http.StatusOK, s.check().Status)
	_, err = guarded.Take(t.Context(), of("theirs"))
	require.NoError(t, err)
	spoil()
	for range 10 {
		a := s.check()
		require.Equal(t, http.StatusServiceUnavailable, a.Status, "%+v", a)
		assert.Equal(t, "storage_unavailable", a.Reason)
		assert.Contains(t, a.Error.Message, "DELETE /v1/ratelimit/buckets/user/alice/search")
		_, err := guarded.Take(t.Context(), of("theirs"))
		require.ErrorContains(t, err, "theirs")
	}
	assert.Equal(t, http.StatusOK, s.post("check", `{"identifier":"bob","resource":"search"}`).Status)
	_, err = guarded.Take(t.Context(), of("others"))
	require.NoError(t, err)

	require.Less(t, s.do(http.MethodDelete, "buckets/user/alice/search", "").Status, 300)
	assert.Equal(t, http.StatusOK, s.check().Status)
	require.NoError(t, store.Forget(t.Context(), "theirs"))
	_, err = guarded.Take(t.Context(), of("theirs"))
	require.NoError(t, err)
}
