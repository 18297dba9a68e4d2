package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/handler"
	"github.com/headrace/headrace/internal/localhost"
)

// Serve shows the guards of registry.Default on address, such as "127.0.0.1:8788", until ctx ends or Close. It returns
// as soon as the page can be opened.
func Serve(ctx context.Context, address string) (*Dashboard, error) {
	d, err := New(Config{})
	if err != nil {
		return nil, err
	}
	if _, err := d.Listen(ctx, address); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Listen serves the page on address until ctx ends or Close, and returns the address that it has, with the port that
// was free for port 0. An address that other machines reach needs a Token.
func (d *Dashboard) Listen(ctx context.Context, address string) (net.Addr, error) {
	if err := localhost.CheckAddress(address, "set a token"); err != nil && d.c.Token == "" {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w: use another address, such as 127.0.0.1:0 for a free port", err)
	}
	var h http.Handler = d
	if d.c.Log != nil {
		h = handler.Logged(d.c.Log, d)
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		WriteTimeout: 30 * time.Second, // streams set their own
	}
	end := sync.OnceFunc(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
		_ = s.Shutdown(ctx) // an action that ends the program is answered
		_ = s.Close()
	})
	serve := func() {
		defer end()
		defer context.AfterFunc(ctx, end)()
		defer context.AfterFunc(d.ctx, end)() //nolint:contextcheck // either ends it
		_ = s.Serve(l)                        // it ends with its listener, which only end closes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.beginLocked(serve) {
		return nil, errors.Join(errClosed, l.Close())
	}
	return l.Addr(), nil
}

// grace is how long requests may take to finish when the server ends.
const grace = time.Second

var errClosed = errors.New("dashboard: closed")
