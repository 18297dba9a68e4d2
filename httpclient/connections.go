package httpclient

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// connections knows every connection that is open: http.Transport closes idle ones only, and over HTTP/2 none that had
// a stream when it was asked to.
type connections struct {
	closed  atomic.Bool
	closing context.Context //nolint:containedctx // ends when closed does, for those who dial meanwhile
	stop    context.CancelFunc

	mu   sync.Mutex // guards open; closed is set under it
	open map[*connection]struct{}
}

func newConnections() *connections {
	closing, stop := context.WithCancel(context.Background())
	return &connections{closing: closing, stop: stop, open: make(map[*connection]struct{})}
}

func (cs *connections) isClosed() bool { return cs.closed.Load() }

// begin returns the context for a dial, which ends when everything is closed, and what to call after it.
func (cs *connections) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(cs.closing, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// keep takes conn over, or closes it if everything is closed.
func (cs *connections) keep(conn net.Conn) (net.Conn, error) {
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
		_ = c.Close() // whoever uses it hears of it
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
}

// ReadFrom lets net/http hand a file to the kernel, as it does with the *net.TCPConn inside.
func (c *connection) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

func (c *connection) Close() error {
	c.of.forget(c)
	return c.Conn.Close()
}
