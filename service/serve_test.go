package service_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
)

// get answers a request without a network.
func get(t *testing.T, s *service.Server, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Body.String()
}

// status is what a request with a token gets.
func status(t *testing.T, s *service.Server, token string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://limits.internal/v1/config", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code
}

const token = "0123456789abcdef0123456789abcdef"

func withToken() string {
	sum := sha256.Sum256([]byte(token))
	return "runtime: {auth: {token_hashes: [" + hex.EncodeToString(sum[:]) + "]}}"
}

func TestTokens(t *testing.T) {
	s := start(t, text(withToken()))
	const body = `{"identifier":"a","resource":"x"}`
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + token, token, "Bearer " + token + "x", "Bearer " + token[1:]} {
		a := s.post("check", body, "Authorization", header)
		assert.Equal(t, http.StatusUnauthorized, a.status, header)
		assert.Contains(t, a.header.Get("WWW-Authenticate"), "Bearer")
		assert.Equal(t, http.StatusUnauthorized, s.get("/metrics", "Authorization", header).status)
		assert.Equal(t, http.StatusUnauthorized, s.get("/v1/config", "Authorization", header).status)
	}
	assert.Equal(t, http.StatusOK, s.post("check", body, "Authorization", "Bearer "+token).status)
	assert.Equal(t, http.StatusOK, s.post("check", body, "Authorization", "bearer  "+token, "Host", "limits.internal").status)
	assert.Equal(t, http.StatusOK, s.get("/healthz").status)
	assert.Equal(t, http.StatusOK, s.get("/readyz").status)
	config := s.get("/v1/config", "Authorization", "Bearer "+token).text
	assert.Contains(t, config, `"tokens":1`)
	assert.NotContains(t, config, withToken()[37:60])
	assert.NotContains(t, s.log.String(), token)
}

// Without a token the service is of this machine: web pages of other sites cannot use it.
func TestWebPagesAreRefused(t *testing.T) {
	s := start(t, text(limits))
	const body = `{"identifier":"a","resource":"x"}`
	assert.Equal(t, http.StatusForbidden, s.post("check", body, "Host", "evil.example").status)
	assert.Equal(t, http.StatusForbidden, s.post("check", body, "Origin", "https://evil.example").status)
	assert.Equal(t, http.StatusForbidden, s.get("/v1/config", "Sec-Fetch-Site", "cross-site").status)
	assert.Equal(t, http.StatusOK, s.post("check", body, "Host", "localhost").status)
	named := start(t, service.Config{Text: []byte(limits), Hosts: []string{"limits.internal"}})
	assert.Equal(t, http.StatusOK, named.post("check", body, "Host", "limits.internal").status)
	open := start(t, service.Config{Text: []byte(limits), Insecure: true})
	assert.Equal(t, http.StatusOK, open.post("check", body, "Host", "limits.internal").status)
}

func TestListenRefusesWhatOthersReach(t *testing.T) {
	for yaml, c := range map[string]service.Config{"{}": {}, withToken(): {}, "default: {limits: 1/s}": {Insecure: true}} {
		c.Text = []byte(yaml)
		s, err := service.New(t.Context(), c)
		require.NoError(t, err)
		for _, address := range []string{":0", "0.0.0.0:0", "[::]:0"} {
			l, err := s.Listen(t.Context(), address)
			if yaml != "{}" {
				require.NoError(t, err)
				require.NoError(t, l.Close())
				continue
			}
			require.ErrorContains(t, err, "require bearer tokens or client certificates", address)
			assert.True(t, errors.As(err, new(*fault.FieldError)))
		}
		for _, address := range []string{"", "x", "unix:"} {
			_, err := s.Listen(t.Context(), address)
			require.Error(t, err, address)
		}
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
	}
}

func TestUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "hr") //nolint:usetesting // the path of a socket is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	s, err := service.New(t.Context(), text(limits))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	l, err := s.Listen(t.Context(), "unix:"+path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	x := serve(t, s, l, nil)
	x.url = "http://localhost"
	x.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	assert.Equal(t, http.StatusOK, x.post("check", `{"identifier":"a","resource":"x"}`).status)
	_, err = s.Listen(t.Context(), "unix:"+path)
	require.ErrorContains(t, err, "another process serves")
	x.stop()

	// The socket of a server that was killed is replaced; another file is not.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	l, err = s.Listen(t.Context(), "unix:"+path)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = s.Listen(t.Context(), "unix:"+path)
	require.Error(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(data))
}

func TestNewValidates(t *testing.T) {
	for want, c := range map[string]service.Config{
		"service: File: give either a file or a text": {},
		"service: Hosts: \"a/b\" is not a host name":  {Text: []byte("{}"), Hosts: []string{"a/b"}},
		"runtime.outage":                                {Text: []byte("runtime: {outage: x}")},
		"service: Open: it is nil":                      {Text: []byte("runtime: {store: \"redis://localhost\"}")},
		"service: Open: it returned neither":            {Text: []byte("{}"), Open: func(context.Context, service.Storage) (quota.Store, error) { return nil, nil }},
		"service: runtime.store: unexpected EOF":        {Text: []byte("{}"), Open: func(context.Context, service.Storage) (quota.Store, error) { return nil, io.ErrUnexpectedEOF }},
		"service: TLS: its ClientCAs is nil":            {Text: []byte("{}"), TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}},
		"service: File: give either a file or a text\n": {File: "x", Text: []byte("{}"), Hosts: []string{""}},
	} {
		_, err := service.New(t.Context(), c)
		require.ErrorContains(t, err, want)
	}
	_, err := service.Inspect(write(t, t.TempDir(), "limits.yaml", limits))
	require.NoError(t, err)
	_, err = service.Inspect(write(t, t.TempDir(), "limits.yaml", "rate_limits: 5"))
	require.Error(t, err)
}

type closing struct {
	quota.Store

	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// The opener gets what the file says, and its store is closed once.
func TestOpen(t *testing.T) {
	var got service.Storage
	store := &closing{Store: quota.NewMemoryStore(nil)}
	s, err := service.New(t.Context(), service.Config{
		Text: []byte("runtime: {store: \"redis://u:secret@localhost:1/2\", timeout: 200ms, redis: {pool_size: 7, dial_timeout: 2s}}"),
		Open: func(_ context.Context, x service.Storage) (quota.Store, error) {
			got = x
			return store, nil
		},
	})
	require.NoError(t, err)
	assert.Equal(t, service.Storage{Address: "redis://u:secret@localhost:1/2", PoolSize: 7, Timeout: 200 * time.Millisecond, DialTimeout: 2 * time.Second}, got)
	config := get(t, s, "/v1/config")
	assert.Contains(t, config, `"store":"redis://localhost:1/2"`)
	assert.NotContains(t, config, "secret")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.Equal(t, 1, store.closed)
}

// No spelling of an address shows a password.
func TestTheAddressOfTheStoreIsShownWithoutSecrets(t *testing.T) {
	for store, want := range map[string]string{
		"redis://u:canary@localhost:1/2":        "redis://localhost:1/2",
		"unix://u:canary@/run/redis.sock":       "unix:///run/redis.sock",
		"redis:///1?password=canary":            "redis:///1?password=REDACTED",
		"group:https://u:canary@localhost:1/x":  "group:REDACTED",
		"sqlite:limits.db":                      "sqlite:limits.db",
		"sqlite:/var/lib/headrace/limits.db":    "sqlite:/var/lib/headrace/limits.db",
		"redis://u:canary@local host:1/2/%zz%%": "REDACTED",
	} {
		s, err := service.New(t.Context(), service.Config{
			Text: []byte("runtime: {store: \"" + store + "\"}"),
			Open: func(context.Context, service.Storage) (quota.Store, error) { return quota.NewMemoryStore(nil), nil },
		})
		require.NoError(t, err)
		config := get(t, s, "/v1/config")
		require.NoError(t, s.Close())
		assert.Contains(t, config, `"store":"`+want+`"`)
		assert.NotContains(t, config, "canary")
	}
}

// Requests in progress may end, and are cancelled and answered when that takes too long; new ones are refused, and Serve returns.
func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		refill string
		status int
		code   any
		takes  time.Duration
	}{
		"in time":  {"2", http.StatusOK, nil, 500 * time.Millisecond},
		"too late": {"0.02", http.StatusServiceUnavailable, "CANCELLED", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := service.New(t.Context(), text("default: {capacity: 1, refill_rate: "+c.refill+"}"))
				require.NoError(t, err)
				l := pipenet.Listen()
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- s.Serve(ctx, l) }()
				x := &server{Server: s, t: t, url: "http://localhost", client: &http.Client{Transport: &http.Transport{DialContext: l.Dial}}}
				require.Equal(t, http.StatusOK, x.post("check", `{"identifier":"a","resource":"x"}`).status)
				began, waits := time.Now(), make(chan answer, 1)
				go func() {
					defer close(waits)
					waits <- x.post("acquire", `{"identifier":"a","resource":"x","max_wait_seconds":60}`)
				}()
				synctest.Wait()
				stop()
				synctest.Wait()
				_, err = l.Dial(t.Context(), "", "")
				require.ErrorIs(t, err, net.ErrClosed)
				a := <-waits
				assert.Equal(t, c.status, a.status)
				assert.Equal(t, c.code, a.json["code"])
				assert.Equal(t, c.takes, time.Since(began))
				require.NoError(t, <-served)
				assert.LessOrEqual(t, time.Since(began), 11*time.Second)
				require.NoError(t, s.Close())
				x.client.CloseIdleConnections()
			})
		})
	}
}

// A thousand clients that send one byte of a request and no more do not hold the service;
// their connections end.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := start(t, text(limits))
	address := strings.TrimPrefix(s.url, "http://")
	s.p99(200) // the first calls open the connection and fill the caches
	alone := s.p99(200)
	var conns []net.Conn
	for i := range 1000 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		part := "P"
		if i%2 == 0 {
			part = "POST /v1/ratelimit/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
		}
		_, err = c.Write([]byte(part))
		require.NoError(t, err)
		conns = append(conns, c)
	}
	for range 50 {
		began := time.Now()
		assert.Equal(t, http.StatusOK, s.post("check", `{"identifier":"b","resource":"x"}`).status)
		require.Less(t, time.Since(began), 5*time.Second)
	}
	beside := s.p99(200)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("scorecard: row=13 slow=%d memory_mib=%d p99_percent=%d", len(conns), memory.Sys>>20, 100*beside/alone)
	if testing.Short() {
		return
	}
	for _, c := range conns { // headers have 5 s, bodies 10 s
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err, "the server ends the connection")
	}
}

// p99 is how long a request takes in the 99th percentile of n.
func (s *server) p99(n int) time.Duration {
	s.t.Helper()
	all := make([]time.Duration, n)
	for i := range all {
		began := time.Now()
		status := s.post("check", `{"identifier":"p99","resource":"x"}`).status
		assert.Contains(s.t, []int{http.StatusOK, http.StatusTooManyRequests}, status)
		all[i] = time.Since(began)
	}
	slices.Sort(all)
	return all[n*99/100-1]
}

func TestHeadersAreBounded(t *testing.T) {
	s := start(t, text(limits))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/healthz", nil)
	require.NoError(t, err)
	r.Header.Set("X-Long", strings.Repeat("a", 64<<10))
	w, err := s.client.Do(r)
	if err != nil {
		return // the server may reset the connection before its answer is read
	}
	require.NoError(t, w.Body.Close())
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, w.StatusCode)
}

// A store that panics fails one request.
func TestPanics(t *testing.T) {
	s := start(t, service.Config{Text: []byte(limits), Open: func(context.Context, service.Storage) (quota.Store, error) {
		return &panicking{Store: quota.NewMemoryStore(nil)}, nil
	}})
	a := s.post("check", `{"identifier":"b","resource":"x"}`)
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.Equal(t, "INTERNAL", a.json["code"])
	assert.Contains(t, s.log.String(), "a request panicked")
	assert.Contains(t, s.log.String(), "panicking", "the stack")
	assert.NotContains(t, s.log.String(), panicValue)
	a = s.post("batch", `{"checks":[{"identifier":"b","resource":"x"},{"identifier":"c","resource":"x"}]}`)
	assert.Equal(t, http.StatusOK, a.status)
	assert.Equal(t, 2, strings.Count(a.text, `"code":"INTERNAL"`), "each check of a batch fails by itself: %s", a.text)
	assert.Equal(t, http.StatusOK, s.get("/healthz").status)
}

// A probe of a store that panics is a failed probe.
func TestAProbeThatPanics(t *testing.T) {
	s := start(t, service.Config{Text: []byte(limits), Open: func(context.Context, service.Storage) (quota.Store, error) {
		return &panicking{Store: quota.NewMemoryStore(nil), all: true}, nil
	}})
	assert.Eventually(t, func() bool { return s.get("/readyz").json["status"] == "unhealthy" }, patience, time.Millisecond)
	assert.Equal(t, http.StatusOK, s.get("/healthz").status)
}

// An outage of the store is logged with its reason, also without a check that fails, and once a minute while it lasts.
func TestAnOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := &down{Store: quota.NewMemoryStore(nil)}, &safeBuffer{}
		s, err := service.New(t.Context(), service.Config{
			Text: []byte("runtime: {outage: open}"), Log: slog.New(slog.NewTextHandler(log, nil)),
			Open: func(context.Context, service.Storage) (quota.Store, error) { return store, nil },
		})
		require.NoError(t, err)
		logged := func(text string) int { return strings.Count(log.String(), text) }
		<-time.After(time.Minute + time.Second/4)
		assert.Empty(t, log.String())
		store.set(errors.New("WRONGPASS"))
		<-time.After(time.Minute)
		assert.Equal(t, 1, logged(`level=WARN msg="the store is unavailable" policy=open err=WRONGPASS`), log.String())
		<-time.After(time.Minute)
		assert.Equal(t, 2, logged("the store is unavailable"))
		assert.Zero(t, logged("available again"))
		store.set(nil)
		<-time.After(time.Minute)
		assert.Equal(t, 1, logged("the store is available again"))
		store.set(errors.New("WRONGPASS"))
		<-time.After(time.Second)
		assert.Equal(t, 3, logged("the store is unavailable"))
		require.NoError(t, s.Close())
	})
}

// Limits that the store cannot read are not an outage: they are logged, once a minute at most.
func TestADamagedKeyIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &safeBuffer{}
		s, err := service.New(t.Context(), service.Config{
			Text: []byte("runtime: {outage: open}"), Log: slog.New(slog.NewTextHandler(log, nil)),
			Open: func(context.Context, service.Storage) (quota.Store, error) {
				return damaged{quota.NewMemoryStore(nil)}, nil
			},
		})
		require.NoError(t, err)
		for range 62 {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/ratelimit/check", strings.NewReader(`{"identifier":"alice","resource":"a/b"}`))
			s.Handler().ServeHTTP(w, r)
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			assert.Contains(t, w.Body.String(), "DELETE /v1/ratelimit/buckets/user/alice/a%2Fb resets them")
			<-time.After(time.Second)
		}
		assert.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
		assert.Contains(t, log.String(), `level=WARN msg="the store cannot read some limits`)
		assert.Contains(t, log.String(), "alice")
		require.NoError(t, s.Close())
	})
}

// damaged is a store that cannot read the limits of any check.
type damaged struct{ quota.Store }

func (d damaged) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if key := r.Demands[0].Key; strings.Contains(key, "limit/") {
		return quota.Grant{}, &fault.FieldError{Owner: "store", Field: fmt.Sprintf("the limits of %q", key), Problem: "damaged"}
	}
	return d.Store.Take(ctx, r)
}

// down is a store that fails with an error, if there is one.
type down struct {
	quota.Store

	err atomic.Pointer[error]
}

func (d *down) set(err error) { d.err.Store(&err) }

func (d *down) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if err := d.err.Load(); err != nil && *err != nil {
		return quota.Grant{}, *err
	}
	return d.Store.Take(ctx, r)
}

// panicValue may have a secret.
const panicValue = "out of order"

type panicking struct {
	quota.Store

	all bool
}

func (p *panicking) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if p.all || strings.Contains(r.Demands[0].Key, "limit/") {
		panic(panicValue)
	}
	return p.Store.Take(ctx, r)
}
