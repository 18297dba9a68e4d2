//go:build !race

package proxy_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/throttle"
)

// A client that waits costs its connection and little more: 40 KB with both ends of
// the connection in this process is far above that.
func TestAllocatedForAThousandClientsThatWait(t *testing.T) {
	const n = 1000
	free := make(chan struct{})
	s := open(t, proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-free }))
	defer close(free)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	s.http.Timeout = 0
	before := heap()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	conns := rawClients(ctx, t, s, n)
	require.Eventually(t, func() bool {
		q := s.proxy.Stats().Queues
		return len(q) == 1 && q[0].Waiting == n-1
	}, 30*time.Second, 20*time.Millisecond)
	each := (heap() - before) / n
	t.Logf("%d bytes for each of %d clients that wait", each, n)
	require.LessOrEqual(t, each, uint64(40<<10))
	for _, c := range conns {
		_ = c.Close()
	}
	require.Eventually(t, func() bool { return s.proxy.Stats().Active <= 1 }, 30*time.Second, 20*time.Millisecond)
}

// A request takes little more than a plain ReverseProxy needs for one.
func TestAllocatedForARequest(t *testing.T) {
	plain, ours, send := handlers(t)
	least := testing.AllocsPerRun(1000, func() { send(plain) })
	n := testing.AllocsPerRun(1000, func() { send(ours) })
	t.Logf("%.0f allocations, %.0f of them by a plain ReverseProxy", n, least)
	require.LessOrEqual(t, n-least, 2.)
}

// rawClients opens n connections that send a request and read nothing.
func rawClients(ctx context.Context, t *testing.T, s *setup, n int) (conns []net.Conn) {
	t.Helper()
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(c, "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-0123456789\r\n"+
			"Content-Type: application/json\r\nContent-Length: 60\r\n\r\n"+`{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
		require.NoError(t, err)
		conns = append(conns, c)
	}
	return conns
}
