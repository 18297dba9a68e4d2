package goodput

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

// eavesdropper is AIMD that notes what it hears.
type eavesdropper struct {
	adaptive.State
	heard []adaptive.Feedback
}

func (e *eavesdropper) Start(now time.Time, seed uint64) (s adaptive.State, err error) {
	e.State, err = adaptive.AIMD{}.Start(now, seed)
	return e, err
}

func (e *eavesdropper) OnResult(now time.Time, s throttle.Sent, inFlight int, f adaptive.Feedback) {
	e.heard = append(e.heard, f)
	e.State.OnResult(now, s, inFlight, f)
}

// The controller hears what the headers say, of answers and of refusals.
func TestWhatTheLawHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := providertest.New(providertest.Config{
			Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: 0.5, Burst: 1}},
			Headers: true, RetryAfter: providertest.RetryAfterSeconds,
		})
		require.NoError(t, err)
		defer server.Close()
		w := &wire{transport: server.Transport(), url: "http://provider", key: "0"}
		e := &eavesdropper{}
		limiter, err := guard.New(guard.Policy{Law: e})
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, limiter.Do(t.Context(), throttle.Cost{Requests: 1}, w.call))
		}
		require.Len(t, e.heard, 3)
		empty := adaptive.Meter{Known: true, Limit: 1, Reset: 2 * time.Second}
		for i, want := range []adaptive.Verdict{adaptive.OK, adaptive.Hit, adaptive.OK} {
			assert.Equal(t, want, e.heard[i].Verdict)
			assert.Equal(t, empty, e.heard[i].Meters[throttle.Requests])
		}
		assert.Equal(t, adaptive.KindRequests, e.heard[1].Kind)
		assert.Equal(t, 2*time.Second, e.heard[1].RetryAfter)
	})
}
