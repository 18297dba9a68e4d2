package telemetry_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

func TestChangesOfABreakerAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o := record(t, telemetry.Config{})
		b, err := breaker.New(breaker.Config{Name: "api", Failures: 1, Successes: 1, Open: time.Second, Observer: o})
		require.NoError(t, err)
		end := func(err error) {
			ticket, refused := b.Allow(t.Context())
			require.NoError(t, refused)
			ticket.End(t.Context(), err)
		}
		end(errors.New("down"))
		time.Sleep(time.Second)
		end(nil)
		assert.Equal(t, []string{
			"headrace.breaker.changes=1 headrace.breaker.name=api headrace.breaker.state=closed",
			"headrace.breaker.changes=1 headrace.breaker.name=api headrace.breaker.state=half-open",
			"headrace.breaker.changes=1 headrace.breaker.name=api headrace.breaker.state=open",
		}, r.taken())
	})
}

func TestWaitsOfAPlainLimiterAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o := record(t, telemetry.Config{})
		l, err := throttle.New(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, 2*time.Second)}},
			throttle.WithName("own"), throttle.WithObserver(o))
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, l.Wait(t.Context(), throttle.Cost{}))
		}
		time.AfterFunc(time.Second, func() { l.Close(nil) })
		require.Error(t, l.Wait(t.Context(), throttle.Cost{}))
		assert.Equal(t, []string{
			"headrace.limiter.wait=1 headrace.limiter.name=own headrace.limiter.outcome=unadmitted",
			"headrace.limiter.wait=2 headrace.limiter.name=own headrace.limiter.outcome=admitted",
		}, r.taken())
	})
}
