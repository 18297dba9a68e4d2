package httpclient_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/httpclient"
)

// names answers questions for A with the next of its addresses, over connections in memory.
type names struct {
	mu   sync.Mutex
	next []netip.Addr // the last stays
}

func (n *names) dial() net.Conn {
	mine, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		length := make([]byte, 2)
		if _, err := io.ReadFull(theirs, length); err != nil {
			return
		}
		query := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(theirs, query); err != nil {
			return
		}
		answer := n.answer(query)
		_, _ = theirs.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
	}()
	return mine
}

func (n *names) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the root, type and class
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if query[end-3] != 1 { // only A
		return answer
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	address := n.next[0].As4()
	if len(n.next) > 1 {
		n.next = n.next[1:]
	}
	answer[7] = 1
	answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(answer, address[:]...)
}

// resolver resolves every name to the addresses, one after the other.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	n := &names{}
	for _, a := range addresses {
		n.next = append(n.next, netip.MustParseAddr(a))
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return n.dial(), nil }}
}

func named(s *httptest.Server) string {
	return strings.Replace(s.URL, "127.0.0.1", "rebind.example.com", 1)
}

// A name that leads outside when it is looked at and inside when it is dialled.
func TestDNSRebinding(t *testing.T) {
	for _, inside := range []string{"127.0.0.2", "10.0.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "168.63.129.16"} {
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			assert.True(t, strings.HasPrefix(r.Host, "rebind.example.com:"))
		})
		b, err := breaker.New(breaker.Config{Failures: 1})
		require.NoError(t, err)
		c := gated(t, gateTo(t, s.URL), func(c *httpclient.Config) {
			c.Resolver, c.Breaker = resolver(t, "127.0.0.1", inside), b
		})
		require.NoError(t, get(t, c, named(s)))
		s.CloseClientConnections()
		c.Standard().CloseIdleConnections()
		err = get(t, c, named(s)+"/?key=canary")
		failed := failure(t, err)
		assert.Equal(t, httpclient.CodeUnsent, failed.Code, "%v", err)
		assert.Equal(t, httpclient.PhaseConnect, failed.Phase)
		assert.Equal(t, httpclient.RuleAddress, ruleOf(t, err))
		assert.NotContains(t, err.Error(), "canary")
		assert.Equal(t, breaker.Closed, b.Stats().State)
	}
}

func TestRedirectToANameThatLeadsInside(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://rebind.example.com:"+r.Host[strings.LastIndex(r.Host, ":")+1:]+"/inside", http.StatusFound)
	})
	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	c := gated(t, gateTo(t, s.URL), func(c *httpclient.Config) { c.Resolver, c.Breaker = resolver(t, "10.0.0.1"), b })
	_, trail, err := follow(t, c, request(t, "GET", s.URL, nil), httpclient.Follow{})
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeRedirect, failed.Code)
	assert.Equal(t, httpclient.RuleAddress, ruleOf(t, err))
	require.Len(t, trail, 2)
	assert.Zero(t, trail[1].Status)
	assert.Equal(t, breaker.Closed, b.Stats().State, "it says nothing about the other side")
}

// Without a gate every address is dialled.
func TestNoGateNoGuard(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	require.NoError(t, get(t, newClient(t, func(c *httpclient.Config) { c.Resolver = resolver(t, "127.0.0.1") }), named(s)))
}

// A proxy may be inside, and is for proxying only.
func TestGateWithAProxy(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxy for "+r.URL.String()) })
	u, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	gate := &httpclient.Gate{Schemes: []string{"http"}, Ports: append(gateTo(t, proxy.URL).Ports, 80)}
	c := gated(t, gate, func(c *httpclient.Config) {
		c.Proxies = map[string]*url.URL{"api.example.com": u, "10.0.0.1": u}
		c.Resolver = resolver(t, "127.0.0.1")
	})
	body := do(t, c, request(t, "GET", "http://api.example.com/x", nil))
	assert.Equal(t, "proxy for http://api.example.com/x", body)
	assert.Equal(t, httpclient.RuleAddress, ruleOf(t, get(t, c, "http://10.0.0.1/")), "the URL is judged")
	assert.Equal(t, httpclient.RuleAddress, ruleOf(t, get(t, c, "http://alias.example.com:"+u.Port()+"/")))

	gate.AllowPrefixes = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c = gated(t, gate, func(c *httpclient.Config) { c.Proxies = map[string]*url.URL{"api.example.com": u} })
	assert.Equal(t, httpclient.RuleProxy, ruleOf(t, get(t, c, proxy.URL)))
}

// A proxy is the same one with a dot at its end and in capitals, and so is a host.
func TestGateKnowsAProxyByAnyName(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxy for "+r.URL.Host) })
	_, port, err := net.SplitHostPort(proxy.Listener.Addr().String())
	require.NoError(t, err)
	gate := &httpclient.Gate{Schemes: []string{"http"}, Ports: append(gateTo(t, proxy.URL).Ports, 80), Allow: []string{"localhost", "api.example.com"}}
	for _, name := range []string{"localhost", "localhost.", "LOCALHOST"} {
		c := gated(t, gate, func(c *httpclient.Config) {
			c.Proxies = map[string]*url.URL{"api.example.com": {Scheme: "http", Host: name + ":" + port}}
			c.Resolver = resolver(t, "127.0.0.1")
		})
		for _, asked := range []string{"localhost", "localhost.", "LOCALHOST", "LOCALHOST."} {
			assert.Equal(t, httpclient.RuleProxy, ruleOf(t, get(t, c, "http://"+asked+":"+port)), "%s as %s", name, asked)
		}
		for _, host := range []string{"api.example.com", "API.example.com."} {
			assert.Equal(t, "proxy for "+host, do(t, c, request(t, "GET", "http://"+host+"/", nil)), "which is dialled unjudged")
		}
	}
}
