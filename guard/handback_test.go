package guard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// A call inside that was not sent leaves the call around it the permit of its
// own request.
func TestAnUnsentCallHandsThePermitBack(t *testing.T) {
	hourly := guard.Policy{Name: "a", Limits: throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}
	for name, inside := range map[string]func(context.Context, *guard.Guard) error{
		"rejected by a breaker": func(ctx context.Context, a *guard.Guard) error {
			b := made(t, guard.Policy{Name: "b", Breaker: &breaker.Config{Failures: 1, Open: time.Hour}})
			_ = do(t.Context(), b, func(context.Context) error { return errors.New("failed") }) //nolint:contextcheck // outside of the call
			return do(ctx, guard.Join(a, b), nothing)
		},
		"reported as unsent": func(ctx context.Context, a *guard.Guard) error {
			call := a.Begin(throttle.Cost{})
			if _, err := call.Admit(ctx); err != nil {
				return err
			}
			_, err := call.End(adaptive.Feedback{Verdict: adaptive.Unsent, Err: errors.New("not sent")})
			return err
		},
		"turned away": func(ctx context.Context, a *guard.Guard) error {
			full := made(t, guard.Policy{Name: "full", Limits: rate(throttle.Sliding(1, time.Hour))})
			require.NoError(t, do(t.Context(), full, nothing)) //nolint:contextcheck // outside of the call
			return guard.Join(a, full).Try(ctx, throttle.Cost{}, nothing)
		},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", shared ", shared), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := hourly
					if shared {
						p.Store = quota.NewMemoryStore(nil)
					}
					a := made(t, p)
					require.NoError(t, do(t.Context(), a, func(ctx context.Context) error {
						require.Error(t, inside(ctx, a))
						assert.Equal(t, 1, a.Stats().InFlight, "the permit is that of the call around")
						return nil
					}))
					assert.Zero(t, a.Stats().InFlight)
					assert.EqualValues(t, 1, a.Stats().Windows[0].Spent)
					if shared {
						a = made(t, p) // of another process
					}
					assert.ErrorIs(t, a.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
				})
			})
		}
	}
}

// The request of a call counts although a call inside, which it has started in the
// background, is cancelled later.
func TestACancelledCallInsideKeepsTheChargeOfTheCallAround(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hourly := rate(throttle.Sliding(1, time.Hour))
				p := guard.Policy{Name: "a", Limits: hourly}
				if shared {
					p.Store = quota.NewMemoryStore(nil)
				}
				a, slow := made(t, p), made(t, guard.Policy{Name: "slow", Limits: hourly})
				require.NoError(t, do(t.Context(), slow, nothing))
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				require.NoError(t, do(ctx, a, func(ctx context.Context) error {
					wg.Go(func() { assert.ErrorIs(t, do(ctx, guard.Join(a, slow), nothing), context.Canceled) })
					synctest.Wait()
					return nil
				}))
				cancel()
				wg.Wait()
				assert.Zero(t, a.Stats().InFlight)
				if shared {
					a = made(t, p) // of another process
				}
				assert.ErrorIs(t, a.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
			})
		})
	}
}
