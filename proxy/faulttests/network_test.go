package faulttests_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

// patience is how long something may take, which a busy machine holds up.
const patience = time.Minute

// scene is clients, a proxy, a network that fails, and an upstream.
type scene struct {
	t     *testing.T
	proxy *proxy.Proxy
	wire  *toxiproxy.Proxy
	url   string
	http  *http.Client
	calls atomic.Int64 // that reached the upstream
}

func open(t *testing.T, p guard.Policy) *scene {
	t.Helper()
	s := &scene{t: t}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.calls.Add(1)
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 40 {
				_, _ = fmt.Fprintf(w, "data: %d %s\n\n", i, strings.Repeat("x", 1000))
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"echo":%q,"filler":%q}`, b, strings.Repeat("x", 20_000))
	}))
	t.Cleanup(up.Close)
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	s.wire = toxiproxy.NewProxy(api, "upstream", "127.0.0.1:0", strings.TrimPrefix(up.URL, "http://"))
	require.NoError(t, s.wire.Start())
	t.Cleanup(func() { s.heal(); s.wire.Stop() })

	r, err := registry.New(registry.Config{})
	require.NoError(t, err)
	base := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(base.CloseIdleConnections)
	s.proxy, err = proxy.New(proxy.Config{
		Registry: r, Base: base, Policy: p, Upstreams: map[string]proxy.Upstream{"up": {URL: "http://" + s.wire.Listen}},
	})
	require.NoError(t, err)
	l, err := s.proxy.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	server := s.proxy.Server()
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	own := &http.Transport{MaxIdleConnsPerHost: 64}
	s.url, s.http = "http://"+l.Addr().String()+"/up", &http.Client{Transport: own, Timeout: patience}
	t.Cleanup(func() {
		own.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, s.proxy.Drain(ctx), "nothing waits for ever")
		assert.NoError(t, server.Close())
		<-served
	})
	return s
}

func (s *scene) fail(toxics ...string) {
	s.t.Helper()
	for _, toxic := range toxics {
		_, err := s.wire.Toxics.AddToxicJson(strings.NewReader(toxic))
		require.NoError(s.t, err)
	}
}

func (s *scene) heal() { s.wire.Toxics.ResetToxics(context.Background()) }

// post returns the answer, as far as it came.
func (s *scene) post(path, body string) (resp *http.Response, text string, err error) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-canary-0123456789")
	resp, err = s.http.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// Whatever the network does, a client gets a whole answer of the upstream, an error
// with a code, or an answer that visibly breaks off. When the network is well, all
// goes on, and no slot or connection is lost.
func TestFaultsOfTheNetwork(t *testing.T) {
	const timeout = 500 * time.Millisecond
	faults := map[string][]string{
		"nothing arrives":              {`{"name":"a","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`},
		"nothing is sent":              {`{"name":"a","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`},
		"connections are cut":          {`{"name":"a","type":"timeout","stream":"downstream","attributes":{"timeout":20}}`},
		"connections are reset":        {`{"name":"a","type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`},
		"reset while sending":          {`{"name":"a","type":"reset_peer","stream":"upstream","attributes":{"timeout":0}}`},
		"answers are cut in a header":  {`{"name":"a","type":"limit_data","stream":"downstream","attributes":{"bytes":40}}`},
		"answers are cut in the body":  {`{"name":"a","type":"limit_data","stream":"downstream","attributes":{"bytes":5000}}`},
		"in pieces, late":              {`{"name":"a","type":"slicer","stream":"downstream","attributes":{"average_size":700,"delay":50}}`, `{"name":"b","type":"latency","stream":"downstream","attributes":{"latency":30,"jitter":20}}`},
		"some of all this, to a third": {`{"name":"a","type":"reset_peer","stream":"downstream","toxicity":0.3,"attributes":{"timeout":5}}`, `{"name":"b","type":"limit_data","stream":"downstream","toxicity":0.3,"attributes":{"bytes":3000}}`},
	}
	scenes := map[string]*scene{}
	for about := range faults {
		scenes[about] = open(t, guard.Policy{Timeout: timeout, Retry: &retry.Policy{MaxAttempts: 2, Initial: 10 * time.Millisecond}})
		scenes[about].calm(t)
	}
	descriptors := descriptorsOf(t)
	t.Run("all at once", func(t *testing.T) { // most of them are waits
		for about, toxics := range faults {
			t.Run(about, func(t *testing.T) {
				t.Parallel()
				scenes[about].endures(t, toxics)
			})
		}
	})
	for about, s := range scenes {
		require.Eventually(t, func() bool { return s.proxy.Stats().Active == 0 }, patience, 10*time.Millisecond, about)
		s.http.CloseIdleConnections()
	}
	if descriptors > 0 {
		assert.Eventually(t, func() bool { return descriptorsOf(t) <= descriptors+40 }, patience, 50*time.Millisecond, "descriptors: %d before, %d after", descriptors, descriptorsOf(t))
	}
}

func whole(text string) bool {
	return strings.HasPrefix(text, `{"echo":"{}"`) && strings.HasSuffix(text, `x"}`)
}

// calm waits until all goes on without faults.
func (s *scene) calm(t *testing.T) {
	t.Helper()
	s.heal()
	require.Eventually(t, func() bool {
		resp, text, err := s.post("/v1", "{}") //nolint:bodyclose // it is closed
		return err == nil && resp.StatusCode == http.StatusOK && whole(text)
	}, patience, 10*time.Millisecond)
}

// endures makes calls while there are toxics.
func (s *scene) endures(t *testing.T, toxics []string) {
	t.Helper()
	defer s.calm(t)
	s.fail(toxics...)
	var answers, errs, broken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 6 {
				path := "/v1"
				if i%3 == 2 {
					path = "/v1/stream"
				}
				resp, text, err := s.post(path, "{}") //nolint:bodyclose // it is closed
				switch {
				case err != nil && (resp != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
					broken.Add(1)
				case err != nil:
					t.Errorf("the proxy did not answer: %v", err)
				case resp.StatusCode == http.StatusOK:
					answers.Add(1)
					if path == "/v1" {
						assert.True(t, whole(text), "an answer of %d bytes is not whole", len(text))
					} else {
						assert.Equal(t, 40, strings.Count(text, "data: "))
					}
				default:
					errs.Add(1)
					assert.Contains(t, []string{string(proxy.CodeUnreachable), string(proxy.CodeTimeout)}, resp.Header.Get("X-Headrace-Error"), text)
					assert.NotContains(t, text, "canary")
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d answers, %d errors, %d broken off", answers.Load(), errs.Load(), broken.Load())
}

// descriptorsOf is how many descriptors this process has open; 0: the system does not say.
func descriptorsOf(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}
