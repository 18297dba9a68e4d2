package settings

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// silent is a store that does not answer before the context of a call ends.
type silent struct{ Store }

// Take implements quota.Store.
func (silent) Take(ctx context.Context, _ quota.Request) (quota.Grant, error) {
	<-ctx.Done()
	return quota.Grant{}, context.Cause(ctx)
}

// A store that the guard does not wait for any longer cannot decide. One that the caller does not wait for may be fine.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	stop := errors.New("the run is stopped")
	for name, c := range map[string]struct {
		leaves   time.Duration
		want     error
		failures int
	}{
		"it is slow":         {time.Minute, stop, 1},
		"the caller is gone": {time.Second, context.DeadlineExceeded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				failures := 0
				g, err := guard.New(guard.Policy{
					Name: "a", Limits: throttle.Limits{Concurrency: 1},
					Store: &store{silent{}, func(error) error { failures++; return stop }},
				})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), c.leaves)
				defer cancel()
				err = g.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil })
				require.ErrorIs(t, err, c.want)
				assert.Equal(t, c.failures, failures)
			})
		})
	}
}
