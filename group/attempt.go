package group

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// attempt is one request to a replica. A transport goes on dialling for requests that have ended, and a
// connection that was upgraded has no deadlines; so the connection below is kept here.
type attempt struct {
	ctx context.Context //nolint:containedctx // of the request

	mu   sync.Mutex // guards what follows
	conn net.Conn   // below TLS
	over bool
}

type attemptKey struct{}

// begin returns the context of the request.
func (a *attempt) begin() context.Context { return context.WithValue(a.ctx, attemptKey{}, a) }

// dialThrough has t dial with dial, for no longer than the attempt lasts.
func dialThrough(t *http.Transport, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		a := ctx.Value(attemptKey{}).(*attempt)    //nolint:forcetypeassert // all requests have one
		conn, err := dial(a.ctx, network, address) //nolint:contextcheck // that of the transport does not end
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.over {
			_ = conn.Close() // no request needs it
			return nil, net.ErrClosed
		}
		a.conn = conn
		return conn, nil
	}
}

// end ends what the attempt has begun, and returns the connection if it is kept.
func (a *attempt) end(keep bool) net.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.conn != nil && !keep {
		_ = a.conn.Close() // the error is another one
		return nil
	}
	return a.conn
}
