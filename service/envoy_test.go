package service_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/headrace/headrace/service"
)

// The files of envoyproxy/ratelimit are served as they are, and read again with the configuration.
func TestEnvoy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("envoy/shop.yaml", "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 2}, detailed_metric: true}]")
	file := write("limits.yaml", "envoy: {files: [envoy], headers: {remaining: x-left}}")
	s, err := service.New(t.Context(), service.Config{File: file})
	require.NoError(t, err)
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
		require.NoError(t, s.Close())
	})
	envoy := rls.NewRateLimitServiceClient(dial(t, l.Addr().String()))
	ask := func(user string) *rls.RateLimitResponse {
		a, err := envoy.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimit.RateLimitDescriptor{
			{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "user", Value: user}}},
		}})
		require.NoError(t, err)
		return a
	}
	for _, want := range []rls.RateLimitResponse_Code{rls.RateLimitResponse_OK, rls.RateLimitResponse_OK, rls.RateLimitResponse_OVER_LIMIT} {
		assert.Equal(t, want, ask("ann").GetOverallCode())
	}
	assert.Equal(t, "x-left", ask("ann").GetResponseHeadersToAdd()[0].GetKey())

	write("envoy/shop.yaml", "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 3}}]")
	require.NoError(t, s.Reload(t.Context()))
	assert.Equal(t, rls.RateLimitResponse_OK, ask("ann").GetOverallCode())
	assert.Equal(t, rls.RateLimitResponse_OVER_LIMIT, ask("ann").GetOverallCode(), "two were counted before")

	write("envoy/shop.yaml", "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: fortnight}}]")
	err = s.Reload(t.Context())
	require.ErrorContains(t, err, `envoy/shop.yaml:2:39: descriptors[0].rate_limit.unit: "fortnight" is not a unit`)
	assert.Equal(t, rls.RateLimitResponse_OVER_LIMIT, ask("ann").GetOverallCode(), "the limits stay as they are")
	get := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
		require.NoError(t, err)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		a, err := client.Do(r)
		require.NoError(t, err)
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		require.NoError(t, err)
		return string(text)
	}
	assert.Contains(t, get("/v1/config"), "fortnight")
	assert.Contains(t, get("/v1/config"), `"domains":1,"limits":1,"shadow_mode":false`)
	assert.Contains(t, get("/metrics"), "headrace_service_envoy_over_limit_total 4")

	// A change of a file is noticed without a signal.
	write("envoy/shop.yaml", "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 9}}]")
	require.Eventually(t, func() bool { return ask("bob").GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit() == 9 }, patience, 50*time.Millisecond)
}

func TestEnvoyShadowModeAndTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	require.NoError(t, os.WriteFile(path, []byte("domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 0}}]"), 0o600))
	const token = "0123456789abcdef0123456789abcdef"
	tokens := filepath.Join(filepath.Dir(path), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte(token), 0o600))
	address, _ := serveText(t, "envoy: {files: ["+path+"], shadow_mode: true}\nruntime: {auth: {token_file: "+tokens+"}}")
	envoy := rls.NewRateLimitServiceClient(dial(t, address))
	r := &rls.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "user", Value: "ann"}}},
	}}
	_, err := envoy.ShouldRateLimit(t.Context(), r)
	assert.Equal(t, codes.Unauthenticated, grpcstatus.Code(err))
	a, err := envoy.ShouldRateLimit(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token), r)
	require.NoError(t, err)
	assert.Equal(t, rls.RateLimitResponse_OK, a.GetOverallCode())
	assert.Equal(t, rls.RateLimitResponse_OVER_LIMIT, a.GetStatuses()[0].GetCode())
}

func TestEnvoyDifferences(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	envoy := write("shop.yaml", "domain: shop\ndescriptors: [{key: user, quota_mode: true}]")
	in, err := service.Inspect(write("limits.yaml", "envoy: {files: [shop.yaml]}"))
	require.NoError(t, err)
	all := in.EnvoyDifferences
	assert.Contains(t, all[0], "differs: a limit holds in every trailing interval")
	assert.Contains(t, all[len(all)-1], "unsupported: "+envoy+":2:39: descriptors[0].quota_mode: ")
	in, err = service.Inspect(write("none.yaml", "{}"))
	require.NoError(t, err)
	assert.Empty(t, in.EnvoyDifferences)
	for _, missing := range []string{write("missing.yaml", "envoy: {files: [shops.yaml]}"), filepath.Join(dir, "gone.yaml")} {
		_, err = service.Inspect(missing)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	_, err = service.Inspect(write("header.yaml", "envoy: {headers: {limit: 'a b'}}"))
	require.ErrorContains(t, err, "envoy.headers.limit")
}
