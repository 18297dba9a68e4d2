package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/throttle"
)

func TestDrainWaitsForWhatRuns(t *testing.T) {
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Second)
		_, _ = io.WriteString(w, "done")
	}, func(s *bubble) {
		t := s.t
		var wg sync.WaitGroup
		wg.Go(func() {
			got, err := s.do(s.request(t.Context(), "/up/v1", `{}`))
			assert.NoError(t, err)
			assert.Equal(t, "done", got.body)
		})
		synctest.Wait()
		began := time.Now()
		wg.Go(func() {
			synctest.Wait()
			late := s.get(t, "/up/v1", `{}`)
			assert.Equal(t, http.StatusServiceUnavailable, late.status)
			assert.Equal(t, "headrace_draining", late.header.Get("X-Headrace-Error"))
			assert.Equal(t, "2", late.header.Get("Retry-After"))
		})
		require.NoError(t, s.proxy.Drain(t.Context()))
		assert.Equal(t, 10*time.Second, time.Since(began))
		wg.Wait()
		require.NoError(t, s.proxy.Drain(t.Context()), "again")
		assert.True(t, s.proxy.Stats().Draining)
	})
}

func TestADrainThatMayNotTakeSoLong(t *testing.T) {
	c := proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
	inBubble(t, c, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(s *bubble) {
		t := s.t
		var wg sync.WaitGroup
		for _, key := range []string{"", "k1", "k2"} { // one runs, two wait
			wg.Go(func() {
				got, err := s.do(s.request(t.Context(), "/up/v1", `{}`, "Idempotency-Key", key))
				assert.NoError(t, err)
				assert.Equal(t, "headrace_draining", got.header.Get("X-Headrace-Error"))
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.proxy.Drain(ctx)

		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "3 requests were cancelled")
		wg.Wait()
	})
}

// A client that neither sends nor reads does not hold up the end.
func TestADrainIsNotHeldUp(t *testing.T) {
	for about, request := range map[string]string{
		"does not send": "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"does not read": "GET /up/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(about, func(t *testing.T) {
			inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "1000000000")
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 32<<10)); err != nil {
						return
					}
				}
			}, func(s *bubble) {
				t := s.t
				c, err := s.pipes.Dial(t.Context(), "tcp", "")
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				_, err = io.WriteString(c, request)
				require.NoError(t, err)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				require.ErrorContains(t, s.proxy.Drain(ctx), "1 requests were cancelled")
				assert.Equal(t, 3*time.Second, time.Since(began))
			})
		})
	}
}

// A server that is not that of the proxy has contexts of its own.
func TestADrainUnderAnotherServer(t *testing.T) {
	began := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { close(began); <-r.Context().Done() }))
	defer up.Close()
	p, err := proxy.New(proxy.Config{Upstreams: map[string]proxy.Upstream{"up": {URL: up.URL}}})
	require.NoError(t, err)
	other := httptest.NewServer(p)
	defer other.Close()
	got := make(chan string, 1)
	go func() {
		bound, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(bound, http.MethodGet, other.URL+"/up/v1", http.NoBody)
		resp, err := other.Client().Do(r)
		if err != nil {
			got <- err.Error()
			return
		}
		_ = resp.Body.Close()
		got <- resp.Header.Get("X-Headrace-Error")
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	require.ErrorContains(t, p.Drain(ctx), "1 requests were cancelled")
	require.Equal(t, "headrace_draining", <-got)
}

// The end of a drain cancels a request even if its context cannot be cancelled.
func TestADrainWithoutTheCancellationOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := proxy.New(proxy.Config{
			Base:      handler(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			Upstreams: map[string]proxy.Upstream{"up": {URL: "http://up.test"}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(context.WithoutCancel(p.Server().BaseContext(nil)), http.MethodGet, "/up/v1", http.NoBody)
		r.Host = "localhost"
		rec := httptest.NewRecorder()
		done := make(chan struct{})
		go func() { defer close(done); p.ServeHTTP(rec, r) }()
		synctest.Wait()

		require.ErrorContains(t, p.Drain(ctx), "1 requests were cancelled")
		<-done
		require.Equal(t, "headrace_draining", rec.Header().Get("X-Headrace-Error"))
	})
}

// A request is not sent if its body arrives after the end of a drain.
func TestABodyThatArrivesAfterADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := proxy.New(proxy.Config{
			Base:      handler(func(http.ResponseWriter, *http.Request) { assert.Fail(t, "it was sent") }),
			Upstreams: map[string]proxy.Upstream{"up": {URL: "http://up.test"}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		read, write := io.Pipe()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/up/v1", read) // of another server
		r.Host, r.ContentLength = "localhost", 2
		rec := httptest.NewRecorder()
		done := make(chan struct{})
		go func() { defer close(done); p.ServeHTTP(rec, r) }()
		synctest.Wait()

		require.ErrorContains(t, p.Drain(ctx), "1 requests were cancelled")
		_, err = io.WriteString(write, "{}")
		require.NoError(t, err)
		require.NoError(t, write.Close())
		<-done
		require.Equal(t, "headrace_draining", rec.Header().Get("X-Headrace-Error"))
	})
}
