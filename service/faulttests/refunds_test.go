package faulttests_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/redisserver"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/throttle"
)

// Envoy's refunds give back parts of a ticket, and its reports end a ticket of nothing with more than the limit.
func TestPartialCancels(t *testing.T) {
	for name, address := range map[string]string{"SQLite": sqlite(t), "Redis": redisserver.Start(t).URL()} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t.Context(), service.Storage{Address: address, Timeout: 5 * time.Second})
			require.NoError(t, err)
			if c, ok := s.(io.Closer); ok {
				defer func() { require.NoError(t, c.Close()) }()
			}
			limits := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(10, time.Hour).Of(throttle.Points)}}
			demand := func(n int64) []quota.Demand {
				return []quota.Demand{{Key: "envoy/d/a=b", Limits: limits, Cost: throttle.Cost{Points: n}}}
			}
			g, err := s.Take(t.Context(), quota.Request{Demands: demand(7), Uses: true})
			require.NoError(t, err)
			require.Zero(t, g.Wait)
			left := func() int64 {
				g, err := s.Take(t.Context(), quota.Request{Demands: demand(0), Uses: true, Peek: true})
				require.NoError(t, err)
				return g.Uses[0][0].Left
			}
			require.EqualValues(t, 3, left())
			for i, want := range []int64{5, 8, 10} {
				x := g.Ticket
				x.Demands = demand([]int64{2, 3, 2}[i])
				require.NoError(t, s.Cancel(t.Context(), x))
				require.Equal(t, want, left())
			}
			g, err = s.Take(t.Context(), quota.Request{Demands: demand(0)})
			require.NoError(t, err)
			require.NoError(t, s.End(t.Context(), g.Ticket, []throttle.Cost{{Points: 25}}))
			require.EqualValues(t, -15, left())
		})
	}
}
