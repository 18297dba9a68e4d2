package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

const limits = `
rate_limits:
  - {scope: user, resource: search, capacity: 10, refill_rate: 0.001}
  - {scope: user, capacity: 50, refill_rate: 5}
  - {name: trial, scope: trial, capacity: 3, refill_rate: 0}
  - {scope: org, limits: "5/h, 300/day"}
costs: {export: 10}
runtime: {timeout: 30s} # a busy machine is no outage
`

// patience is how long something may take, which a busy machine holds up.
const patience = 2 * time.Minute

// server is a service that listens.
type server struct {
	*service.Server

	t      *testing.T
	url    string
	client *http.Client
	log    *safeBuffer
	stop   func()
}

type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start serves a configuration on a free port.
func start(t *testing.T, c service.Config) *server {
	t.Helper()
	log := &safeBuffer{}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := service.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	return serve(t, s, l, log)
}

func serve(t *testing.T, s *service.Server, l net.Listener, log *safeBuffer) *server {
	t.Helper()
	transport := &http.Transport{}
	x := &server{Server: s, t: t, url: "http://" + l.Addr().String(), client: &http.Client{Transport: transport}, log: log}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	var once sync.Once
	x.stop = func() {
		once.Do(func() {
			transport.CloseIdleConnections()
			stop()
			require.NoError(t, <-ended)
		})
	}
	t.Cleanup(x.stop)
	return x
}

func text(yaml string) service.Config { return service.Config{Text: []byte(yaml)} }

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

func (s *server) do(method, path, body string, header ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	require.NoError(s.t, err)
	a := answer{status: w.StatusCode, header: w.Header, text: string(data)}
	if strings.Contains(w.Header.Get("Content-Type"), "json") {
		require.NoError(s.t, json.Unmarshal(data, &a.json), a.text)
	}
	return a
}

func (s *server) post(path, body string, header ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, "/v1/ratelimit/"+path, body, header...)
}

func (s *server) get(path string, header ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", header...)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	return path
}
