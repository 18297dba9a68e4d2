package service_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

func capacity(n string) string {
	return "rate_limits: [{scope: user, resource: search, capacity: " + n + ", refill_rate: 0.001}]"
}

func (s *server) capacity() any {
	s.t.Helper()
	return s.get("/v1/ratelimit/buckets/user/alice/search").json["tokens_capacity"]
}

func TestReload(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "limits.yaml", capacity("10"))
	s := start(t, service.Config{File: path})
	s.post("check", `{"identifier":"alice","resource":"search","tokens":7}`)
	write(t, dir, "limits.yaml", capacity("20"))
	require.NoError(t, s.Reload(t.Context()))
	a := s.post("check", `{"identifier":"alice","resource":"search","tokens":4}`)
	assert.Equal(t, http.StatusTooManyRequests, a.status, "what was used stays used: %s", a.text)
	assert.InDelta(t, 20, a.json["tokens_capacity"], 0)
	config := s.get("/v1/config").json
	assert.InDelta(t, 1, config["reloads_applied"], 0)
	assert.NotContains(t, config, "problem")
	assert.Contains(t, s.get("/metrics").text, `headrace_service_reloads_total{result="applied"} 1`)
}

// A broken file keeps the old limits, and log, metrics, /v1/config and every answer say so.
func TestABrokenFileKeepsTheLimits(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "limits.yaml", capacity("10"))
	s := start(t, service.Config{File: path})
	for range 2 {
		write(t, dir, "limits.yaml", "rate_limits: [{scope: user, capacity: 5, refill_rate: -1}]")
		require.ErrorContains(t, s.Reload(t.Context()), "limits.yaml:1:55: rate_limits[0].refill_rate")
	}
	a := s.post("check", `{"identifier":"alice","resource":"search"}`)
	assert.Equal(t, http.StatusOK, a.status)
	assert.InDelta(t, 10, a.json["tokens_capacity"], 0)
	assert.Equal(t, true, a.json["degraded"])
	assert.Equal(t, "config_error", a.json["degraded_reason"])
	assert.Equal(t, "true", a.header.Get("X-RateLimit-Degraded"))
	assert.Equal(t, "config_error", a.header.Get("X-RateLimit-Degraded-Reason"))
	config := s.get("/v1/config").json
	assert.Contains(t, config["problem"], "refill_rate")
	assert.NotEmpty(t, config["problem_since"])
	assert.InDelta(t, 2, config["reloads_failed"], 0)
	assert.Contains(t, s.get("/metrics").text, "headrace_service_config_broken 1")
	assert.Contains(t, s.get("/metrics").text, `headrace_service_reloads_total{result="failed"} 2`)
	assert.Equal(t, 1, strings.Count(s.log.String(), "the configuration is invalid"), "once for each problem")
	assert.Equal(t, "degraded", s.get("/readyz").json["status"])
	assert.Equal(t, http.StatusOK, s.get("/readyz").status)

	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, s.Reload(t.Context()), os.ErrNotExist)
	write(t, dir, "limits.yaml", capacity("10"))
	require.NoError(t, s.Reload(t.Context()))
	assert.Equal(t, false, s.post("check", `{"identifier":"alice","resource":"search"}`).json["degraded"])
	assert.Contains(t, s.get("/metrics").text, "headrace_service_config_broken 0")
}

// The file is followed: when it is written, replaced, swapped behind a symbolic link as
// Kubernetes does it, and when it comes back.
func TestTheFileIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "one"), 0o700))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "two"), 0o700))
		write(t, filepath.Join(dir, "one"), "limits.yaml", capacity("10"))
		write(t, filepath.Join(dir, "two"), "limits.yaml", capacity("20"))
		swap := func(to string) {
			require.NoError(t, os.Symlink(to, filepath.Join(dir, "next")))
			require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")))
		}
		swap("one")
		path := filepath.Join(dir, "data", "limits.yaml")
		s, err := service.New(t.Context(), service.Config{File: path})
		require.NoError(t, err)
		defer s.Close() //nolint:errcheck // a store in memory
		is := func(n string) {
			t.Helper()
			<-time.After(1100 * time.Millisecond)
			synctest.Wait()
			assert.Contains(t, get(t, s, "/v1/ratelimit/buckets/user/alice/search"), `"tokens_capacity":`+n+`,`)
		}
		is("10")
		swap("two")
		is("20")
		require.NoError(t, os.WriteFile(path, []byte(capacity("30")), 0o600))
		is("30")
		require.NoError(t, os.WriteFile(path, []byte("rate_limits: ["), 0o600))
		is("30")
		assert.Contains(t, get(t, s, "/v1/config"), `"problem":`)
		require.NoError(t, os.Remove(path))
		is("30")
		is("30")
		assert.Contains(t, get(t, s, "/v1/config"), `"reloads_failed":2,`, "a file that is still not there is no new failure")
		require.NoError(t, os.WriteFile(path, []byte(capacity("30")), 0o600))
		is("30")
		assert.NotContains(t, get(t, s, "/v1/config"), `"problem":`)
	})
}

// A file that is written in place is served once it is whole: neither what is there
// while it is written, nor an empty file, which would have no limits of its own.
func TestAFileThatIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := write(t, t.TempDir(), "limits.yaml", capacity("10"))
		s, err := service.New(t.Context(), service.Config{File: path})
		require.NoError(t, err)
		defer s.Close() //nolint:errcheck // a store in memory
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		require.NoError(t, err)
		for _, line := range strings.SplitAfter("default: {capacity: 7, refill_rate: 1}\n\n\n\n"+capacity("20")+"\n", "\n") {
			assert.Contains(t, get(t, s, "/v1/ratelimit/buckets/user/alice/search"), `"tokens_capacity":10,`)
			_, err = f.WriteString(line)
			require.NoError(t, err)
			<-time.After(350 * time.Millisecond)
			synctest.Wait()
		}
		require.NoError(t, f.Close())
		<-time.After(time.Second)
		synctest.Wait()
		assert.Contains(t, get(t, s, "/v1/ratelimit/buckets/user/alice/search"), `"tokens_capacity":20,`)
		assert.Contains(t, get(t, s, "/v1/config"), `"reloads_applied":1,`)
		require.NoError(t, os.Truncate(path, 0))
		require.ErrorContains(t, s.Reload(t.Context()), "the file is empty: write {}")
		assert.Contains(t, get(t, s, "/v1/ratelimit/buckets/user/alice/search"), `"tokens_capacity":20,`)
	})
}

// Envoy's files are watched too, and a broken configuration that names them fails once.
func TestEnvoysFilesAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		domain := func(n string) string {
			return "domain: d\ndescriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: " + n + "}}]"
		}
		files := "\nenvoy: {files: [" + write(t, dir, "envoy.yaml", domain("5")) + "]}"
		path := write(t, dir, "limits.yaml", capacity("10")+files)
		s, err := service.New(t.Context(), service.Config{File: path})
		require.NoError(t, err)
		defer s.Close() //nolint:errcheck // a store in memory
		is := func(want string) {
			t.Helper()
			<-time.After(5 * time.Second)
			synctest.Wait()
			assert.Contains(t, get(t, s, "/v1/config"), want)
		}
		write(t, dir, "limits.yaml", "rate_limits: [")
		is(`"reloads_applied":0,"reloads_failed":1,`)
		write(t, dir, "limits.yaml", capacity("20")+files)
		is(`"reloads_applied":1,"reloads_failed":1,`)
		write(t, dir, "envoy.yaml", domain("6"))
		is(`"reloads_applied":2,"reloads_failed":1,`)
		write(t, dir, "envoy.yaml", "domain: [")
		is(`"reloads_applied":2,"reloads_failed":2,`)
		write(t, dir, "envoy.yaml", domain("7"))
		is(`"reloads_applied":3,"reloads_failed":2,`)
	})
}

// Files that the configuration names are read again every minute.
func TestTokensAreReadEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "tokens", strings.Repeat("a", 32))
		s, err := service.New(t.Context(), service.Config{File: write(t, dir, "limits.yaml", "runtime: {auth: {token_file: tokens}}")})
		require.NoError(t, err)
		defer s.Close() //nolint:errcheck // a store in memory
		assert.Equal(t, http.StatusOK, status(t, s, strings.Repeat("a", 32)))
		write(t, dir, "tokens", strings.Repeat("b", 32))
		<-time.After(61 * time.Second)
		synctest.Wait()
		assert.Equal(t, http.StatusUnauthorized, status(t, s, strings.Repeat("a", 32)))
		assert.Equal(t, http.StatusOK, status(t, s, strings.Repeat("b", 32)))
		write(t, dir, "limits.yaml", "{}")
		require.ErrorContains(t, s.Reload(t.Context()), "no token is left")
		assert.Equal(t, http.StatusUnauthorized, status(t, s, ""), "a mistake does not open the service")
	})
}

func TestWhatNeedsARestartIsNamed(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "limits.yaml", capacity("10"))
	s := start(t, service.Config{File: path})
	write(t, dir, "limits.yaml", capacity("20")+"\nruntime: {outage: open, timeout: 1s}")
	for range 2 {
		require.NoError(t, s.Reload(t.Context()))
		config := s.get("/v1/config").json
		assert.Equal(t, []any{"runtime.outage", "runtime.timeout"}, config["needs_restart"])
		assert.Equal(t, "closed", config["runtime"].(map[string]any)["outage"])
		assert.InDelta(t, 20, s.capacity(), 0)
	}
	write(t, dir, "limits.yaml", capacity("20"))
	require.NoError(t, s.Reload(t.Context()))
	assert.NotContains(t, s.get("/v1/config").json, "needs_restart")
}

var reloads = flag.Int("flips", 1000, "how often TestReloadsUnderLoad changes the file")

// Many reloads between two valid files and a broken one, under load: every answer
// is one of the two configurations, the last write is served in the end, and no reload
// gives anything back. The clients have no connections, which a busy machine may lose.
func TestReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const patient = "\nruntime: {timeout: 30s}" // a busy machine is no outage
	path := write(t, dir, "limits.yaml", capacity("10000")+patient)
	s := start(t, service.Config{File: path})
	var (
		wg             sync.WaitGroup
		asked, allowed atomic.Int64
	)
	const checks = 16 // for each flip; as many wait while it happens
	flips := *reloads
	work := make(chan struct{}, checks)
	for range 8 {
		wg.Go(func() {
			for range work {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/ratelimit/check", strings.NewReader(`{"identifier":"alice","resource":"search"}`))
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				asked.Add(1)
				var a struct {
					Allowed  bool  `json:"allowed"`
					Left     int64 `json:"tokens_remaining"`
					Capacity int64 `json:"tokens_capacity"`
				}
				err := json.Unmarshal(w.Body.Bytes(), &a)
				ok := err == nil && (w.Code == http.StatusOK && a.Allowed || w.Code == http.StatusTooManyRequests && a.Left == 0)
				assert.True(t, ok && (a.Capacity == 10_000 || a.Capacity == 5000) && a.Left <= a.Capacity, "%d %s", w.Code, w.Body)
				if a.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	for i := range flips {
		for range checks {
			work <- struct{}{}
		}
		write(t, dir, "limits.yaml", capacity([]string{"10000", "5000", "-1"}[i%3])+patient)
		err := s.Reload(t.Context())
		assert.Equal(t, i%3 == 2, err != nil, "%v", err)
	}
	close(work)
	wg.Wait()
	write(t, dir, "limits.yaml", capacity("5000")+patient)
	require.NoError(t, s.Reload(t.Context()))
	assert.InDelta(t, 5000, s.capacity(), 0)
	assert.LessOrEqual(t, allowed.Load(), int64(10_000))
	assert.Equal(t, int64(flips*checks), asked.Load())
	t.Logf("%d checks, %d allowed", asked.Load(), allowed.Load())
	t.Logf("scorecard: row=12 flips=%d asked=%d dropped=%d", flips, asked.Load(), int64(flips*checks)-asked.Load())
}
