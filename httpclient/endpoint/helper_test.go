package endpoint_test

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

const ok = "HTTP/1.1 200 OK\r\n"

const canary = "c4naryTweet"

// failure is the *Error in err.
func failure(t *testing.T, err error) *httpclient.Error {
	t.Helper()
	require.Error(t, err)
	failed, ok := errors.AsType[*httpclient.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return failed
}

func gated(t *testing.T, gate *httpclient.Gate, change func(*httpclient.Config)) *httpclient.Client {
	t.Helper()
	return newClient(t, func(c *httpclient.Config) {
		c.Gate = gate
		if change != nil {
			change(c)
		}
	})
}

// listen serves each connection with a function that owns it, and returns the address.
// All connections are closed and all functions have returned before the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
		over  bool
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if over {
				_ = conn.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		over = true
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// newClient returns a client with short timeouts that is closed after the test.
func newClient(t *testing.T, change func(*httpclient.Config)) *httpclient.Client {
	t.Helper()
	config := httpclient.Config{Service: "test", Timeouts: httpclient.Timeouts{
		Connect: 10 * time.Second, TLS: 10 * time.Second, Header: 10 * time.Second, BodyIdle: 10 * time.Second, Call: 20 * time.Second,
	}}
	if change != nil {
		change(&config)
	}
	c, err := httpclient.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// noCanary looks at every error of the tree.
func noCanary(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
		assert.NotContains(t, fmt.Sprintf(verb, err), canary)
	}
	asJSON, _ := json.Marshal(err)
	assert.NotContains(t, string(asJSON), canary)
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case interface{ Unwrap() []error }:
		for _, inside := range e.Unwrap() {
			noCanary(t, inside)
		}
	case interface{ Unwrap() error }:
		noCanary(t, e.Unwrap())
	}
}

// noTrace looks for the canary as it is, in hexadecimal and in numbers.
func noTrace(t *testing.T, text string) {
	t.Helper()
	for _, spelt := range []string{
		canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("% x", canary),
		fmt.Sprintf("%d", []byte(canary))[1:20], fmt.Sprintf("%#v", []byte(canary))[7:30],
	} {
		assert.NotContains(t, text, spelt)
	}
}

// requests collects the events.
type requests struct {
	mu  sync.Mutex
	all []event.Event
}

func (r *requests) Observe(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *requests) one(t *testing.T) event.Event {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.all, 1)
	return r.all[0]
}

// resend is for Config.Wrap: a transport of its own, with this policy.
func resend(p retry.Policy) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		r, err := registry.New(registry.Config{})
		if err != nil {
			panic(err)
		}
		return headrace.Transport(next, "", headrace.WithRegistry(r), headrace.With(guard.Policy{Retry: &p}), headrace.WithResend(3))
	}
}

// says answers with text and hangs up.
func says(text string) func(net.Conn) {
	return after(func(c net.Conn) { _, _ = io.WriteString(c, text) })
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// shows lets everything have a look at x that prints or marshals.
func shows(t *testing.T, x any) string {
	t.Helper()
	var all bytes.Buffer
	for _, verb := range verbs {
		fmt.Fprintf(&all, verb+"\n", x)
	}
	fmt.Fprintln(&all, x)
	asJSON, _ := json.Marshal(x)
	asXML, _ := xml.Marshal(x)
	all.Write(asJSON)
	all.Write(asXML)
	_ = gob.NewEncoder(&all).Encode(x) // which refuses a secret
	slog.New(slog.NewJSONHandler(&all, nil)).Info("m", "x", x)
	slog.New(slog.NewTextHandler(&all, nil)).Info("m", "x", x)
	assert.ObjectsAreEqual(x, nil)
	return all.String()
}

// verbs are all that fmt knows, and one that it does not.
var verbs = []string{
	"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%b", "%o", "%O", "%t", "%e", "%g", "%p", "%T", "%20s", "%-20q", "% x", "%#x", "%#q", "%z",
}

// stalls answers with text and never goes on.
func stalls(text string) func(net.Conn) {
	return after(func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const variable = "HEADRACE_TEST_SECRET"

// after reads one request and then lets answer have the connection.
func after(answer func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		answer(c)
	}
}
