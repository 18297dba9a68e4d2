package settings

import (
	"context"
	"errors"
	"io"
	"path/filepath"
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
					Store: &store{silent{}, func(time.Time, error) (time.Duration, error) { failures++; return 0, stop }},
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

// A store that decides is reported too, also if it refuses.
func TestAStoreThatAnswers(t *testing.T) {
	t.Parallel()
	opened, err := OpenStore("sqlite:" + filepath.Join(t.TempDir(), "limits.db"))
	require.NoError(t, err)
	defer opened.Close() //nolint:errcheck // nothing depends on it
	answers := 0
	s := &store{opened, func(began time.Time, err error) (time.Duration, error) {
		require.NoError(t, err)
		assert.False(t, began.IsZero())
		answers++
		return 0, nil
	}}
	r := quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}}}
	for refused := range 2 {
		g, err := s.Take(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, refused == 1, g.Wait > 0)
	}
	assert.Equal(t, 2, answers)
}

// A call of a store that fails may wait for it.
func TestACallWaitsForAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		g, err := guard.New(guard.Policy{
			Name: "a", Limits: throttle.Limits{Concurrency: 1},
			Store: &store{failing{}, func(time.Time, error) (time.Duration, error) {
				if asked++; asked == 3 {
					return 0, io.EOF
				}
				return time.Second, nil
			}},
		})
		require.NoError(t, err)
		err = g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil })
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, 2*time.Second, time.Since(began))
	})
}

// failing is a store that is down.
type failing struct{ Store }

func (failing) Take(context.Context, quota.Request) (quota.Grant, error) {
	return quota.Grant{}, io.ErrUnexpectedEOF
}
