package httpclient

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// connections knows every connection that is open: http.Transport closes idle ones only, and over HTTP/2 none that had
// a stream when it was asked to.
type connections struct {
	closed  atomic.Bool
	closing context.Context //nolint:containedctx // ends when closed does, for dials in progress
	stop    context.CancelFunc
	idle    time.Duration // how long a write may wait

	mu   sync.Mutex // guards open; closed is set under it
	open map[*connection]struct{}
}

func newConnections(idle time.Duration) *connections {
	closing, stop := context.WithCancel(context.Background())
	return &connections{closing: closing, stop: stop, idle: idle, open: make(map[*connection]struct{})}
}

func (cs *connections) isClosed() bool { return cs.closed.Load() }

// begin returns the context for a dial, which ends when everything is closed, and what to call after it.
func (cs *connections) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(cs.closing, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// keep takes conn over, or closes it if everything is closed.
func (cs *connections) keep(conn net.Conn) (*connection, error) {
	c := &connection{Conn: conn, of: cs}
	cs.mu.Lock()
	closed := cs.isClosed()
	if !closed {
		cs.open[c] = struct{}{}
	}
	cs.mu.Unlock()
	if closed {
		_ = conn.Close() // it was never used
		return nil, ErrClosed
	}
	return c, nil
}

// closeAll closes what is open and what comes later.
func (cs *connections) closeAll() {
	cs.mu.Lock()
	cs.closed.Store(true)
	all := make([]*connection, 0, len(cs.open))
	for c := range cs.open {
		all = append(all, c)
	}
	cs.mu.Unlock()
	cs.stop()
	for _, c := range all {
		_ = c.Close() // its user gets the error
	}
}

func (cs *connections) forget(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, c)
}

type connection struct {
	net.Conn
	of *connections

	greeting atomic.Bool // a proxy is being asked, under a deadline
	proxyTLS atomic.Bool // and its handshake is yet to come
	bounded  atomic.Bool // a write deadline is set
}

// Write bounds each write: over HTTP/1.1 net/http does not, while HTTP/2 sets a deadline itself.
func (c *connection) Write(p []byte) (int, error) {
	if !c.bounded.Load() {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(c.of.idle)) // one that cannot have one is broken, which shows
	}
	return c.Conn.Write(p)
}

// unbounded leaves the connection to the caller.
func (c *connection) unbounded() {
	_ = c.Conn.SetWriteDeadline(time.Time{})
	c.bounded.Store(true)
}

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error {
	c.bounded.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(t time.Time) error {
	c.bounded.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}

// connectionOf is what conn is inside of TLS, or nil.
func connectionOf(conn net.Conn) *connection {
	for {
		switch c := conn.(type) {
		case *connection:
			return c
		case *tls.Conn:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

func (c *connection) Close() error {
	c.of.forget(c)
	return c.Conn.Close()
}
