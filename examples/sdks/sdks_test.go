package sdks_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/internal/sdktest"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start")) // of Google's SDK
}

// under runs f in a bubble for each SDK, over a service of its own.
func under(t *testing.T, limits providertest.Limits, f func(t *testing.T, s *service, reg *registry.Registry, sdk client)) {
	t.Helper()
	all, err := clients(http.DefaultClient)
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				provider, err := providertest.New(providertest.Config{
					Limits: limits, RetryAfter: providertest.RetryAfterSeconds, Latency: providertest.Fixed(50 * time.Millisecond),
				})
				require.NoError(t, err)
				defer provider.Close()
				s := &service{provider: provider}
				reg := sdktest.Limiters(nil)
				rt := headrace.Transport(sdktest.Listen(t, s), "", headrace.WithRegistry(reg))
				sdks, err := clients(&http.Client{Transport: rt})
				require.NoError(t, err)
				f(t, s, reg, sdks[name])
			})
		})
	}
}

// free checks that no call is in flight.
func free(t *testing.T, reg *registry.Registry) {
	t.Helper()
	synctest.Wait()
	for name, g := range reg.All() {
		assert.Zero(t, g.Stats().InFlight, name)
		assert.Zero(t, g.Stats().Waiting, name)
	}
}

// Calls beyond a hidden limit are waited out: no caller sees a 429.
func TestRateLimits(t *testing.T) {
	const calls = 40
	limits := providertest.Limits{Rate: providertest.Bucket{PerSecond: 5, Burst: 5}}
	under(t, limits, func(t *testing.T, s *service, reg *registry.Registry, sdk client) {
		t.Helper()
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				said, err := sdk.call(t.Context())
				assert.NoError(t, err)
				assert.Equal(t, "hello", said)
			})
		}
		wg.Wait()
		assert.Positive(t, s.refused, "the limit was met")
		free(t, reg)
	})
}

func TestStreams(t *testing.T) {
	under(t, providertest.Limits{}, func(t *testing.T, s *service, reg *registry.Registry, sdk client) {
		t.Helper()
		s.refuse, s.after = 2, "3"
		began := time.Now()
		said, err := sdk.stream(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "hello", said)
		assert.GreaterOrEqual(t, time.Since(began), 6*time.Second)
		assert.Equal(t, 2, s.refused)
		free(t, reg)
	})
}

// A body of more than is read in advance is sent again after a 429, all of it.
func TestUploads(t *testing.T) {
	const size = 3 << 20
	under(t, providertest.Limits{}, func(t *testing.T, s *service, reg *registry.Registry, sdk client) {
		t.Helper()
		s.refuse, s.after = 2, "3"
		require.NoError(t, sdk.upload(t.Context(), strings.Repeat(letter, size)))
		assert.Equal(t, 2, s.refused)
		last := 0
		for _, n := range s.sizes {
			if n > 0 {
				assert.Equal(t, size, n, "each attempt has all of it")
				last = n
			}
		}
		assert.Equal(t, size, last)
		free(t, reg)
	})
}

// Cancelling ends the wait after a 429 at once, and leaves nothing in flight.
func TestCancels(t *testing.T) {
	under(t, providertest.Limits{}, func(t *testing.T, s *service, reg *registry.Registry, sdk client) {
		t.Helper()
		for name, call := range map[string]func(context.Context) error{
			"call":   func(ctx context.Context) error { _, err := sdk.call(ctx); return err },
			"stream": func(ctx context.Context) error { _, err := sdk.stream(ctx); return err },
			"upload": func(ctx context.Context) error { return sdk.upload(ctx, strings.Repeat(letter, 2<<20)) },
		} {
			s.refuse, s.after = 1, "60"
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			began := time.Now()
			err := call(ctx)
			require.ErrorContains(t, err, "context canceled", name) // Google's uploads keep the text alone
			assert.Equal(t, time.Second, time.Since(began), name)
			time.Sleep(2 * time.Minute) // the pause is over
			free(t, reg)
		}
	})
}

// An answer that is no rate limit is the SDK's own error.
func TestErrors(t *testing.T) {
	under(t, providertest.Limits{}, func(t *testing.T, s *service, reg *registry.Registry, sdk client) {
		t.Helper()
		s.status = http.StatusBadRequest
		_, err := sdk.call(t.Context())
		assert.True(t, answered(err, http.StatusBadRequest), "%T: %v", err, err)
		free(t, reg)
	})
}
