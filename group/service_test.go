package group

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/reopening"
)

// wire is a listener with connections in memory, so that a server on it can run in virtual time.
type wire struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), done: make(chan struct{})} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case w.conns <- b:
		return a, nil
	case <-w.done:
	case <-ctx.Done():
	}
	return nil, errors.New("connection refused")
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// replicaIn is a replica of a service on its own host in memory, over HTTPS.
type replicaIn struct {
	*Handler

	url   *url.URL
	wire  *wire
	roots *x509.CertPool
	stop  func()
}

func newReplica(t *testing.T, host string, e Election) *replicaIn {
	t.Helper()
	u := &url.URL{Scheme: "https", Host: host, Path: Path}
	h, err := NewHandler(HandlerConfig{Election: e, URL: u.String()})
	require.NoError(t, err)
	w := newWire()
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	server := httptest.NewUnstartedServer(mux)
	require.NoError(t, server.Listener.Close())
	server.Listener = w
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r := &replicaIn{Handler: h, url: u, wire: w, roots: roots}
	var once sync.Once
	r.stop = func() { once.Do(func() { _ = w.Close(); h.Close(); server.Close() }) }
	t.Cleanup(r.stop)
	return r
}

// joining is a member of the replicas in memory.
func joining(t *testing.T, replicas ...*replicaIn) *Group {
	t.Helper()
	g, err := join(t.Context(), serviceIn(replicas...))
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// serviceIn is the site of the replicas.
func serviceIn(replicas ...*replicaIn) *service {
	s := &service{token: func() (string, error) { return "", nil }}
	s.transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsFor(replicas[0].roots)}
	hosts := map[string]*replicaIn{}
	for _, r := range replicas {
		s.replicas = append(s.replicas, r.url)
		hosts[r.url.Host+":443"] = r
	}
	dialThrough(s.transport, func(ctx context.Context, network, at string) (net.Conn, error) {
		if hosts[at] == nil {
			return nil, errors.New("no such host")
		}
		return hosts[at].wire.dial(ctx, network, at)
	})
	return s
}

// OverHTTPS returns a group that joined a service over HTTPS, in virtual time.
func OverHTTPS(t *testing.T) *Group {
	t.Helper()
	r := newReplica(t, "example.com", nil)
	time.Sleep(time.Second) // it waits for the members of a leader before it
	return joining(t, r)
}

func tlsFor(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// What is no member gets an answer, and no connection.
func TestWhatIsNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, &votes{})
		get := func(r *replicaIn, method, upgrade string) (int, answer, http.Header) {
			transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsFor(r.roots), DialContext: r.wire.dial}
			req, err := http.NewRequestWithContext(t.Context(), method, r.url.String(), http.NoBody)
			require.NoError(t, err)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", upgrade)
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			defer func() { _ = resp.Body.Close() }()
			var got answer
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
			return resp.StatusCode, got, resp.Header
		}
		for _, c := range [][2]string{{http.MethodGet, "websocket"}, {http.MethodPost, protocol}} {
			status, got, head := get(a, c[0], c[1])
			assert.Equal(t, http.StatusUpgradeRequired, status)
			assert.Equal(t, codeUpgrade, got.Error.Code)
			assert.Equal(t, protocol, head.Get("Upgrade"))
		}
		status, got, head := get(b, http.MethodGet, protocol)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, codeNotLeader, got.Error.Code)
		assert.Equal(t, a.url.String(), got.Error.Leader)
		assert.Equal(t, "1", head.Get("Retry-After"))

		l := a.standing.Load().leader
		l.mu.Lock()
		for range mostMembers {
			l.sessions[&session{}] = struct{}{}
		}
		l.mu.Unlock()
		status, got, _ = get(a, http.MethodGet, protocol)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, codeFull, got.Error.Code)
		l.mu.Lock()
		clear(l.sessions)
		l.mu.Unlock()
	})
	recorder := httptest.NewRecorder() // which has no connection
	h, err := NewHandler(HandlerConfig{})
	require.NoError(t, err)
	defer h.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, http.NoBody)
	r.Header.Set("Upgrade", protocol)
	h.ServeHTTP(recorder, r)
	assert.Equal(t, http.StatusInternalServerError, recorder.Code)
	assert.Contains(t, recorder.Body.String(), "does not pass on the connection")
}

// Members of a service send the token that they have at that time, and no other host receives it.
func TestTheTokenOfAMember(t *testing.T) {
	const secret = "hunter2"
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	h, err := NewHandler(HandlerConfig{})
	require.NoError(t, err)
	defer h.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	for name, c := range map[string]struct{ env, file, want string }{
		"none":                 {want: "refuses the token with status 401: set " + TokenEnv},
		"another":              {env: "swordfish", want: "status 401"},
		"in the environment":   {env: secret},
		"in a file":            {file: file},
		"the file comes first": {env: "swordfish", file: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(TokenEnv, c.env)
			address := server.URL
			if c.file != "" {
				address += "?token-file=" + c.file
			}
			g, err := Join(t.Context(), address)
			require.NoError(t, err)
			defer g.Close()
			s := g.Stats()
			assert.NotContains(t, s.String(), secret)
			assert.NotContains(t, s.String(), "swordfish")
			if c.want == "" {
				assert.Equal(t, Following, s.Role)
				return
			}
			assert.Equal(t, Alone, s.Role)
			assert.Contains(t, s.Reason, c.want)
		})
	}
}

// What answers may be another server, or one that names another host.
func TestWhatIsNoService(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"another page":      {http.StatusOK, "<html>", "status 200: its group is at /v1/group"},
		"a balancer":        {http.StatusBadGateway, "", "status 502"},
		"a leader in clear": {http.StatusServiceUnavailable, `{"error":{"code":"NOT_LEADER","leader":"http://192.0.2.1/"}}`, "does not lead"},
		"a leader nowhere":  {http.StatusServiceUnavailable, `{"error":{"code":"NOT_LEADER","leader":"::"}}`, "does not lead"},
		"a code":            {http.StatusServiceUnavailable, `{"error":{"code":"TOO_MANY\u001b[2J"}}`, "TOO_MANY..."},
		"a long answer":     {http.StatusServiceUnavailable, strings.Repeat("x", 1<<20), "status 503"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			at, err := parseService(server.URL)
			require.NoError(t, err)
			_, _, err = at.dial(t.Context(), dialTimeout, false)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "192.0.2.1")
		})
	}
}

// The token of a member is sent to the leader that a replica names, but not in the clear.
func TestWhereALeaderCanBe(t *testing.T) {
	secure, plain := &url.URL{Scheme: "https", Host: "a"}, &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	at := func(leader string, from *url.URL) string {
		if u := (&ledError{leader}).at(from); u != nil {
			return u.String()
		}
		return ""
	}
	assert.Equal(t, "https://b/v1/group", at("https://b", secure))
	assert.Equal(t, "http://127.0.0.1:2/x", at("http://127.0.0.1:2/x", plain))
	for _, leader := range []string{"", "http://127.0.0.1:2", "http://b", "https://u:p@b", "https://b?ca=x", "unix:/x", "::"} {
		assert.Empty(t, at(leader, secure), leader)
	}
	assert.Empty(t, at("http://b", plain))
}

// A replica reads from a database which one leads: the token is not sent to every host that is named there.
func TestTheTokenIsNotForEveryHost(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ca.pem")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	trusts := func(address, leader string) bool {
		s, err := parseService(address)
		require.NoError(t, err)
		u, problem := replica(leader)
		require.Empty(t, problem)
		return s.trusts(u)
	}
	for _, leader := range []string{"https://limits.example.com", "https://LIMITS.example.com:9000/x", "https://pod-1.limits.example.com", "https://b"} {
		assert.True(t, trusts("https://limits.example.com,https://b", leader), leader)
	}
	for _, leader := range []string{"https://other.example.com", "https://xlimits.example.com", "https://example.com", "https://limits.example.com.evil.org"} {
		assert.False(t, trusts("https://limits.example.com,https://b", leader), leader)
		assert.True(t, trusts("https://limits.example.com?ca="+path, leader), "only its CA gives certificates: %s", leader)
	}
	assert.True(t, trusts("http://127.0.0.1:1", "http://127.0.0.1:2"))
	assert.False(t, trusts("https://10.0.0.1", "https://x.10.0.0.1"))
	assert.False(t, trusts("http://127.0.0.1:1?ca="+path, "http://localhost:2"), "no certificate is asked for")
}

// A member asks the leader that a replica names only if it may have the token.
func TestALeaderOnAnotherHostIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, &votes{})
		s := serviceIn(a, b) // it can reach both
		s.replicas = []*url.URL{b.url}
		_, _, err := s.dial(t.Context(), time.Second, false)
		require.NoError(t, err, "the test's CA is the one of the address")
		s.transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // as if the system trusted it
		_, _, err = s.dial(t.Context(), time.Second, false)
		assert.ErrorContains(t, err, "does not lead")
	})
}

// Of two replicas that are of no use, the one that did not answer is asked last the next time.
func TestAReplicaThatHangsBesideOneThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serviceIn(newReplica(t, "a.example.com", nil), newReplica(t, "b.example.com", nil))
		var mu sync.Mutex
		var order []string
		dialThrough(s.transport, func(ctx context.Context, _, at string) (net.Conn, error) {
			mu.Lock()
			order = append(order, at[:1])
			mu.Unlock()
			if at[:1] == "a" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errors.New("connection refused")
		})
		for range 2 {
			_, _, err := s.dial(t.Context(), time.Second, false)
			require.Error(t, err)
		}
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"a", "b", "b", "a"}, order)
	})
}

// A replica that does not answer is asked last the next time, and nothing of the attempt stays.
func TestAReplicaThatHangs(t *testing.T) {
	for name, hangs := range map[string]func(ctx context.Context) (net.Conn, error){
		"no route": func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
		"no handshake": func(context.Context) (net.Conn, error) {
			a, _ := net.Pipe()
			return a, nil
		},
		"a late connection": func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			a, _ := net.Pipe()
			return a, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newReplica(t, "a.example.com", nil), newReplica(t, "b.example.com", nil)
				s := serviceIn(a, b)
				var asked atomic.Int64
				dialThrough(s.transport, func(ctx context.Context, network, at string) (net.Conn, error) {
					if at != "a.example.com:443" {
						return b.wire.dial(ctx, network, at)
					}
					asked.Add(1)
					return hangs(ctx)
				})
				begun := time.Now()
				for range 2 {
					l, _, err := s.dial(t.Context(), time.Second, false)
					require.NoError(t, err)
					l.fail(net.ErrClosed)
				}
				assert.Equal(t, time.Second/2, time.Since(begun))
				assert.Equal(t, int64(1), asked.Load())
				_ = b.wire.Close()
				_, _, err := s.dial(t.Context(), time.Second, false)
				require.Error(t, err)
			}) // which fails if a goroutine stays
		})
	}
}

func TestServiceAddresses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	empty, lines := file("empty", "\n"), file("lines", "one\ntwo")
	for address, want := range map[string]string{
		"https://me:hunter2@host":                         "replica 1: it has a user or a password",
		"https://host,https://me:hunter2@host":            "replica 2: it has a user or a password",
		"https://%zzhunter2":                              "it is not a URL",
		"https:hunter2":                                   "it is not the URL of a host",
		"https://host#hunter2":                            "it is not the URL of a host",
		"https://host,":                                   "replica 2: its scheme is neither",
		"http://example.com":                              "can be reached from other machines",
		"https://host?hunter2=1":                          `is not an option`,
		"https://host?ca=":                                "ca needs one value",
		"https://host?ca=a&ca=b":                          "ca needs one value",
		"https://host?ca=" + dir + "/none":                "ca: open",
		"https://host?ca=" + empty:                        "has no certificate",
		"https://host?cert=" + empty:                      "cert and key belong together",
		"https://host?cert=" + empty + "&key=" + empty:    "cert and key: tls:",
		"https://host?token-file=" + empty:                "is empty",
		"https://host?token-file=" + lines:                "line break",
		"https://host?token-file=" + dir:                  "is not a file",
		"https://host?token-file=" + dir + "/none":        "token-file: stat",
		"https://host" + strings.Repeat(",https://h", 16): "17 replicas",
		"https://host?%zz":                                "its options are not valid",
	} {
		_, err := Join(t.Context(), address)
		assert.ErrorContains(t, err, "group: Join: address: ", address)
		assert.ErrorContains(t, err, want, address)
		assert.ErrorAs(t, err, new(*fault.FieldError), address)
		if !strings.Contains(address, "?hunter2") {
			assert.NotContains(t, err.Error(), "hunter2")
		}
	}
	s, err := parseService("https://host:8790, http://127.0.0.1:1/other,http://localhost/")
	require.NoError(t, err)
	var all []string
	for _, u := range s.replicas {
		all = append(all, u.String())
	}
	assert.Equal(t, []string{"https://host:8790/v1/group", "http://127.0.0.1:1/other", "http://localhost/v1/group"}, all)
}

func TestHandlersAreValidated(t *testing.T) {
	_, err := NewHandler(HandlerConfig{URL: "https://me:hunter2@host", Election: (*votes)(nil)})
	require.ErrorContains(t, err, "group: NewHandler: URL: it has a user or a password")
	require.ErrorContains(t, err, "group: NewHandler: Election: it holds a nil pointer")
	assert.NotContains(t, err.Error(), "hunter2")
	_, err = NewHandler(HandlerConfig{URL: "https://host/" + strings.Repeat("x", 600)})
	require.ErrorContains(t, err, "the maximum is 512")
	h, err := NewHandler(HandlerConfig{})
	require.NoError(t, err)
	assert.Equal(t, Leading, h.Stats().Role)
	h.Close()
	h.Close()
	assert.Equal(t, Joining, h.Stats().Role)
}

// What one member on another host can have the leader hold is bounded.
func TestTheBoundsOfAMemberOnAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServiceLeader(nil)
		t.Cleanup(l.close)
		time.Sleep(time.Second)
		big := memberOf(t, l, opening{})
		big.send(&frame{kind: kindRestore, data: make([]byte, l.most.frame)})
		synctest.Wait()
		assert.Error(t, big.reason(), "the frame is too large")

		l.most.held = 3
		a := memberOf(t, l, opening{})
		a.sendJSON(frame{kind: kindOpen, key: 1}, opening{Name: "other"})
		for id := range int64(2) {
			a.send(&frame{kind: kindAsk, id: id})
			a.send(&frame{kind: kindAsk, key: 1, id: id})
		}
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 3, "of all keys")
		assert.Len(t, a.all(kindRefuse), 1)
		a.send(&frame{kind: kindEnd, id: 0})
		a.send(&frame{kind: kindEnd, id: 77})
		a.send(&frame{kind: kindAsk, id: 5})
		a.send(&frame{kind: kindAsk, id: 6})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 4)
		assert.Len(t, a.all(kindRefuse), 2)

		l.most.keys = 2
		a.sendJSON(frame{kind: kindOpen, key: 2}, opening{Name: "third"})
		synctest.Wait()
		assert.Error(t, a.reason())
	})
}

// A service runs for longer than what uses it.
func TestAKeyThatIsNotUsedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServiceLeader(nil)
		t.Cleanup(l.close)
		a, b := memberOf(t, l, opening{}), memberOf(t, l, opening{})
		known := func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.keys["k"] != nil
		}
		time.Sleep(10 * time.Second)
		a.fail(net.ErrClosed)
		b.fail(net.ErrClosed)
		synctest.Wait()
		l.mu.Lock()
		k := l.keys["k"]
		l.mu.Unlock()
		k.mu.Lock()
		k.used = k.used.Add(3*time.Second - forgetting)
		k.mu.Unlock()
		time.Sleep(2 * time.Second)
		assert.True(t, known())
		time.Sleep(3 * time.Second)
		assert.False(t, known())
	})
	synctest.Test(t, func(t *testing.T) {
		l := newServiceLeader(nil)
		t.Cleanup(l.close)
		a := memberOf(t, l, opening{})
		synctest.Wait()
		l.mu.Lock()
		for n := range mostKeys - 1 {
			l.keys[strconv.Itoa(n)] = &key{name: strconv.Itoa(n), used: time.Now(), guard: l.keys["k"].guard, inside: l.keys["k"].inside}
		}
		l.keys["7"].used = time.Now().Add(-time.Hour)
		l.mu.Unlock()
		a.sendJSON(frame{kind: kindOpen, key: 1}, opening{Name: "new"})
		synctest.Wait()
		l.mu.Lock()
		assert.NotNil(t, l.keys["new"])
		assert.Nil(t, l.keys["7"], "it was not used for the longest time")
		l.mu.Unlock()
		a.sendJSON(frame{kind: kindOpen, key: 2}, opening{Name: "newer"})
		synctest.Wait()
		require.NoError(t, a.reason())
		assert.Nil(t, l.keys["newer"], "the others were used a moment ago")
		a.fail(net.ErrClosed)
	})
}

// What a leader keeps is bounded, and what no member has used since is still kept.
func TestWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }
		l := newServiceLeader(map[string]kept{
			"old":     {Name: "old", Used: now.Add(-time.Hour), Saved: text(10), Hold: hold{Memory: reopening.Memory{Gate: time.Minute}}},
			"large":   {Name: "large", Used: now.Add(-2 * time.Hour), Saved: text(mostKept)},
			"expired": {Name: "expired", Used: now.Add(-forgetting - time.Second), Saved: text(10)},
		})
		t.Cleanup(l.close)
		memberOf(t, l, opening{Saved: json.RawMessage(`{"law":"measured","version":1,"calls":10}`)})
		synctest.Wait()
		time.Sleep(20 * time.Second)
		keys, err := recalled(l.keep(time.Now()), time.Now().Add(10*time.Second))
		require.NoError(t, err)
		require.Len(t, keys, 2)
		assert.Equal(t, 30*time.Second, keys["old"].Hold.Gate)
		assert.Contains(t, string(keys["k"].Saved), `"calls":10`)
	})
}
