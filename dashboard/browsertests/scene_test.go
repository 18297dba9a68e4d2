package browsertests_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

const token = "a-token-for-tests"

// scene is a program with limiters in all states, and its dashboard.
type scene struct {
	url      string
	registry *registry.Registry
	page     *dashboard.Dashboard
	provider *providertest.Server
	drained  atomic.Bool
}

// played starts a scene. Nothing calls until load.
func played(t *testing.T, address string, c dashboard.Config) *scene {
	t.Helper()
	s := &scene{}
	var err error
	s.provider, err = providertest.New(providertest.Config{
		Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: 20, Burst: 5}},
		Latency: providertest.LogNormal{Median: 150 * time.Millisecond, Sigma: 0.3}, Dialect: providertest.OpenAI, Seed: 1,
	})
	require.NoError(t, err)
	t.Cleanup(s.provider.Close)
	s.registry, err = registry.New(registry.Config{})
	require.NoError(t, err)
	c.Registry, c.Token = s.registry, token
	if c.Drain == nil {
		c.Drain = func(context.Context) error { s.drained.Store(true); return nil }
	}
	s.page, err = dashboard.New(c)
	require.NoError(t, err)
	at, err := s.page.Listen(t.Context(), address)
	require.NoError(t, err)
	s.url = "http://" + at.String() + "/"
	t.Cleanup(s.page.Close)
	return s
}

// load has callers call until stop. 12 of them share api.openai.com, 6 a cap of 4.
func (s *scene) load(t *testing.T) (stop func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	client := http.Client{Transport: headrace.Transport(s.provider.Transport(), "", headrace.WithRegistry(s.registry), headrace.With(guard.Policy{Observer: s.page}))}
	call := func() {
		body := strings.NewReader(`{"model":"gpt-4o-mini","messages":[{"role":"user","content":"What is a headrace?"}]}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", body)
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer sk-secret")
		resp, err := client.Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	for range 12 {
		wg.Go(func() {
			for ctx.Err() == nil {
				call()
			}
		})
	}
	local, err := s.registry.Register("embeddings", guard.Policy{Limits: throttle.Limits{Concurrency: 4}, Observer: s.page})
	require.NoError(t, err)
	for range 6 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = local.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
					timer := time.NewTimer(300 * time.Millisecond)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
					}
					return nil
				})
			}
		})
	}
	for i, name := range []string{"nightly", "images"} {
		g, err := s.registry.Register(name, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(600, time.Minute)}}, Observer: s.page})
		require.NoError(t, err)
		require.NoError(t, g.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil }))
		if i == 0 {
			g.Pause(time.Now().Add(time.Hour))
		} else {
			g.Close(errors.New("the monthly budget is used up"))
		}
	}
	return func() {
		end()
		wg.Wait()
	}
}

// clients are some that share.
func clients() []dashboard.Client {
	n := time.Now().UnixMilli()
	return []dashboard.Client{
		{Name: "chat", Waiting: 2, Admitted: n / 90, Waited: time.Duration(n) * time.Millisecond},
		{Name: "batch of a team with a long name", Weight: 0.5, Waiting: 9, Admitted: n / 220, Waited: 9 * time.Duration(n) * time.Millisecond},
		{Name: fmt.Sprintf("<b>%s</b>", "ide"), Admitted: n / 900},
	}
}
