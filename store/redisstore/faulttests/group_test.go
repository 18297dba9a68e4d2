package faulttests_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A member that cannot reach the service has its share of the limit, what it held there is free for the other members, and it
// comes back by itself.
func TestFaultsBetweenAMemberAndAService(t *testing.T) {
	for name, toxic := range map[string]string{
		"black hole":   `{"type": "timeout", "attributes": {"timeout": 0}}`,
		"lost answers": `{"type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`,
		"reset":        `{"type": "reset_peer", "attributes": {"timeout": 0}}`,
		"slow":         `{"type": "bandwidth", "stream": "upstream", "attributes": {"rate": 0}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := group.NewHandler(group.HandlerConfig{})
			require.NoError(t, err)
			defer h.Close()
			server := httptest.NewServer(h)
			defer server.Close()
			api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
			n := &network{t, toxiproxy.NewProxy(api, "service", "127.0.0.1:0", strings.TrimPrefix(server.URL, "http://"))}
			require.NoError(t, n.proxy.Start())
			t.Cleanup(func() {
				n.heal()
				n.proxy.Stop()
			})
			p := guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 2}}
			member := func(url string) (*group.Group, *guard.Guard) {
				g, err := group.Join(t.Context(), url)
				require.NoError(t, err)
				t.Cleanup(g.Close)
				made, err := g.Guard(p)
				require.NoError(t, err)
				return g, made
			}
			role := func(g *group.Group, r group.Role) {
				t.Helper()
				require.Eventually(t, func() bool { return g.Stats().Role == r }, time.Minute, 5*time.Millisecond)
			}
			far, one := member("http://" + n.proxy.Listen)
			near, other := member(server.URL)
			role(far, group.Following)
			role(near, group.Following)
			nothing := func(context.Context) error { return nil }
			require.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing))
			for range 2 { // they never end
				_, err = one.Begin(throttle.Cost{}).Admit(t.Context())
				require.NoError(t, err)
			}
			require.ErrorIs(t, other.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)

			n.fail(toxic)
			role(far, group.Alone)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, other.Do(ctx, throttle.Cost{}, nothing), "the slots are free")
			n.heal()
			role(far, group.Following)
			require.Eventually(t, func() bool {
				return h.Stats().Members == 2 && other.Try(t.Context(), throttle.Cost{}, nothing) != nil
			}, time.Minute, 5*time.Millisecond, "calls in flight are reported again")
		})
	}
}
