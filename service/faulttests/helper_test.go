package faulttests_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/sqlitestore"
)

// open opens the stores of this repository, as headrace serve does.
func open(_ context.Context, s service.Storage) (quota.Store, error) {
	switch path, isFile := strings.CutPrefix(s.Address, "sqlite:"); {
	case isFile:
		return sqlitestore.OpenQuota(path)
	case s.Address == "memory":
		return quota.NewMemoryStore(nil), nil
	}
	return redisstore.Open(s.Address, redisstore.WithTimeout(s.Timeout))
}

// replica is a service that listens.
type replica struct {
	t       *testing.T
	address string
	url     string
	client  *http.Client
}

func start(t *testing.T, yaml string) *replica {
	t.Helper()
	s, err := service.New(t.Context(), service.Config{Text: []byte(yaml), Open: open})
	require.NoError(t, err)
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, s.Close())
	})
	address := "http://" + l.Addr().String()
	return &replica{t, address, address + "/v1/ratelimit/", &http.Client{Transport: transport}}
}

// answer is what the tests look at.
type answer struct {
	Status    int     `json:"-"`
	Allowed   bool    `json:"allowed"`
	Left      int64   `json:"tokens_remaining"`
	Capacity  int64   `json:"tokens_capacity"`
	Permit    string  `json:"permit"`
	Reason    string  `json:"degraded_reason"`
	Code      string  `json:"code"`
	Detail    string  `json:"detail"`
	Breaker   string  `json:"breaker"`
	RetryTime float64 `json:"retry_after_seconds"`
	Error     struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (r *replica) do(method, path, body string) answer {
	r.t.Helper()
	q, err := http.NewRequestWithContext(context.WithoutCancel(r.t.Context()), method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	w, err := r.client.Do(q)
	require.NoError(r.t, err)
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	require.NoError(r.t, err)
	a := answer{Status: w.StatusCode}
	if len(data) > 0 {
		require.NoError(r.t, json.Unmarshal(data, &a), string(data))
	}
	return a
}

func (r *replica) post(path, body string) answer {
	r.t.Helper()
	return r.do(http.MethodPost, path, body)
}

func (r *replica) check() answer {
	r.t.Helper()
	return r.post("check", `{"identifier":"alice","resource":"search"}`)
}

func sqlite(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "limits.db")
}

// patient is for on: a busy machine is no outage.
const patient = ", timeout: 30s"

func on(address, more string) string {
	return `
rate_limits:
  - {scope: user, resource: search, capacity: 10, refill_rate: 0.01}
  - {scope: org, limits: "5/h"}
  - {scope: trial, capacity: 3, refill_rate: 0}
runtime: {store: "` + address + `"` + more + `}
`
}
