package guard_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// declared makes calls a second apart, with responses that declare m for unit u.
func declared(t *testing.T, g *guard.Guard, u throttle.Unit, m func(i int) adaptive.Meter) {
	t.Helper()
	for i := range 6 {
		require.NoError(t, g.Do(t.Context(), tokens(10), func(ctx context.Context) error {
			time.Sleep(time.Second)
			var f adaptive.Feedback
			f.Meters[u] = m(i)
			guard.Report(ctx, f)
			return nil
		}))
	}
}

// The estimate of a call may be wrong, and so may a header. The provider is asked
// when it has as much left as it ever will, so that no call holds up all others.
func TestACallLargerThanTheDeclaredLimitIsSentWhenAllOfItIsLeft(t *testing.T) {
	for name, m := range map[string]func(i int) adaptive.Meter{
		"bucket": func(int) adaptive.Meter { return adaptive.Meter{Known: true, Limit: 1000, Remaining: 1000} },
		"refilling": func(int) adaptive.Meter {
			return adaptive.Meter{Known: true, Limit: 1000, Remaining: 500, Reset: 30 * time.Second}
		},
		"window": func(i int) adaptive.Meter {
			return adaptive.Meter{Known: true, Limit: 1000, Remaining: int64(990 - 10*i), Reset: time.Minute - time.Duration(i)*time.Second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{Law: adaptive.Measured{}})
				declared(t, g, throttle.Tokens, m)
				for _, n := range []int64{1000, 1001, 5000} {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					require.NoError(t, g.Do(ctx, tokens(n), nothing), n)
					cancel()
				}
			})
		})
	}
}

// A limit of nothing would hold all calls back for good, and is what some
// providers declare where there is none.
func TestADeclaredLimitOfNothingHoldsBackNoCall(t *testing.T) {
	for _, limit := range []int64{0, -1, math.MinInt64} {
		for _, u := range []throttle.Unit{throttle.Requests, throttle.Tokens} {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{Law: adaptive.Measured{}})
				begin := time.Now()
				declared(t, g, u, func(int) adaptive.Meter { return adaptive.Meter{Known: true, Limit: limit, Reset: time.Second} })
				assert.Equal(t, 6*time.Second, time.Since(begin))
				for range 3 { // their responses declare nothing
					require.NoError(t, g.Do(t.Context(), tokens(10), nothing))
				}
			})
		}
	}
}
