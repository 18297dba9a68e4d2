package quota_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

func TestMemoryStoreReturnsNothingThatAShorterWindowHadForgotten(t *testing.T) {
	const most = 2000
	for name, tc := range map[string]struct {
		from, to throttle.Window
		after    time.Duration
	}{
		"calendar": {throttle.Fixed(most, time.Hour, time.Time{}), throttle.Fixed(most, 24*time.Hour, time.Time{}), time.Hour},
		"sliding":  {throttle.Sliding(most, 10*time.Millisecond), throttle.Sliding(most, time.Minute), 11 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			fake := clockwork.NewFakeClockAt(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
			s := quota.NewMemoryStore(fake)
			held := throttle.Sliding(most, 48*time.Hour).Of(throttle.Points) // keeps the key from being forgotten
			take := func(w throttle.Window, n int64) quota.Grant {
				g, err := s.Take(t.Context(), quota.Request{Demands: []quota.Demand{{
					Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{w, held}}, Cost: throttle.Cost{Requests: n, Points: 1},
				}}})
				require.NoError(t, err)
				return g
			}
			fake.Advance(time.Millisecond)
			forgotten := take(tc.from, most/2)
			fake.Advance(tc.after)
			counted := take(tc.from, most)
			require.Zero(t, counted.Wait)
			require.Positive(t, take(tc.to, 1).Wait)
			require.NoError(t, s.Cancel(t.Context(), forgotten.Ticket))
			assert.Positive(t, take(tc.to, 1).Wait)
			require.NoError(t, s.Cancel(t.Context(), counted.Ticket))
			assert.Zero(t, take(tc.to, most).Wait)
		})
	}
}
