package benchmarks

import (
	"testing"
	"time"

	sethvargo "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/stretchr/testify/require"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/headrace/headrace/throttle"
)

// plenty never binds within a benchmark, but has to be accounted for.
const (
	plenty      = 1e9 // per second
	plentyBurst = 1 << 30
)

func limiter(tb testing.TB, l throttle.Limits) *throttle.Limiter {
	tb.Helper()
	lim, err := throttle.New(l)
	require.NoError(tb, err)
	return lim
}

func windows(all ...throttle.Window) throttle.Limits { return throttle.Limits{Windows: all} }

func bucket() throttle.Window { return throttle.Bucket(plenty, plentyBurst) }

// exact is a sliding window small enough to be kept exactly, and long enough
// to hold hundreds of stamps while no call is rejected.
func exact() throttle.Window { return throttle.Sliding(1_000, 25*time.Microsecond) }

// quantised is a sliding window that is too large for that.
func quantised() throttle.Window { return throttle.Sliding(plenty, time.Second) }

// sethvargoStore is closed at the end of the test: it has a goroutine.
func sethvargoStore(tb testing.TB, tokens uint64, per time.Duration, keys int) sethvargo.Store {
	tb.Helper()
	s, err := memorystore.New(&memorystore.Config{Tokens: tokens, Interval: per, InitialAlloc: keys})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close(tb.Context())) })
	return s
}

func throttledLimiter(tb testing.TB, n int, per time.Duration, burst int) *throttled.GCRARateLimiterCtx {
	tb.Helper()
	s, err := memstore.NewCtx(0)
	require.NoError(tb, err)
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(n, per), MaxBurst: burst,
	})
	require.NoError(tb, err)
	// Its compare-and-swap gives up after ten attempts by default, and then
	// the call fails.
	l.SetMaxCASAttemptsLimit(1 << 20)
	return l
}
