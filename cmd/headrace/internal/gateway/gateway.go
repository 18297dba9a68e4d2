package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/handler"
	"github.com/headrace/headrace/internal/localhost"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// Options are what a Gateway is made of.
type Options struct {
	Proxy     proxy.Config
	Address   string // of the clients
	Dashboard string // an address, or empty
	Metrics   string // an address; if empty, the metrics are served with the dashboard
	Token     string // for the dashboard, and for metrics from other machines
	Share     Share
	Log       *slog.Logger
	Getenv    func(string) string // for OTLP; if nil, nothing is sent
}

// Gateway is a proxy that listens.
type Gateway struct {
	Address   string // of the clients
	Dashboard string // empty if there is none
	Metrics   string // empty if there are none

	proxy    atomic.Pointer[proxy.Proxy] // nil until the proxy is made
	page     *dashboard.Dashboard
	registry *registry.Registry
	meters   *meters // nil if there are none
	leave    func() error
	servers  []*http.Server // the first one serves the clients
	wg       sync.WaitGroup
	ended    chan error // why a server stopped by itself; nil if it was drained
}

// All returns the built-in upstreams together with own.
func All(own map[string]proxy.Upstream) map[string]proxy.Upstream {
	all := proxy.Known()
	maps.Copy(all, own)
	return all
}

// Open listens on all addresses, and starts to serve. The error is a *settings.Error if a flag has to be changed.
func Open(ctx context.Context, o Options) (_ *Gateway, err error) {
	g := &Gateway{ended: make(chan error, 4), leave: func() error { return nil }}
	defer func() {
		if err != nil {
			_ = g.Close(ctx)
		}
	}()
	var leave func() error
	if g.registry, leave, err = o.Share.registry(&o.Proxy, o.Log); err != nil {
		return nil, err
	}
	g.leave = leave
	o.Proxy.Registry = g.registry
	observer := event.Slog(o.Log, event.WithLevel(level))
	if o.Dashboard != "" || o.Metrics != "" || o.Getenv != nil {
		if g.meters, err = newMeters(ctx, &o, g.registry); err != nil {
			return nil, err
		}
		observer = event.Tee(observer, g.meters.observe)
	}
	if o.Dashboard != "" {
		g.page, err = dashboard.New(dashboard.Config{
			Title: "headrace proxy", Registry: g.registry, Token: o.Token, Hosts: o.Proxy.Hosts,
			Clients: func() []dashboard.Client { return g.clients() }, Drain: g.drained,
		})
		if err != nil {
			return nil, flagged(err)
		}
		observer = event.Tee(observer, g.page)
	}
	o.Proxy.Observer, o.Proxy.Log = observer, o.Log
	p, err := proxy.New(o.Proxy)
	if err != nil {
		return nil, flagged(err)
	}
	g.proxy.Store(p)
	l, err := p.Listen(ctx, o.Address)
	if err != nil {
		problem := settings.Plain(err)
		if !errors.As(err, new(*fault.FieldError)) { // which has a remedy of its own
			problem += ": use another address, such as 127.0.0.1:0 for a free port"
		}
		return nil, &settings.Error{Flag: "--addr", Problem: problem}
	}
	g.Address = l.Addr().String()
	g.serve(p.Server(), l)
	if err := g.pages(ctx, &o); err != nil {
		return nil, err
	}
	return g, nil
}

// pages serves the dashboard, the metrics and the health.
func (g *Gateway) pages(ctx context.Context, o *Options) (err error) {
	own := http.NewServeMux()
	if g.meters != nil {
		own.Handle("GET /metrics", guarded(o, g.meters))
	}
	own.HandleFunc("GET /healthz", g.health)
	if g.page != nil {
		both := http.NewServeMux()
		both.Handle("/", g.page)
		if o.Metrics == "" {
			both.Handle("GET /metrics", own)
			both.Handle("GET /healthz", own)
		}
		if g.Dashboard, err = g.listen(ctx, "--dashboard", o.Dashboard, o, both); err != nil {
			return err
		}
		g.Metrics = g.Dashboard
	}
	if o.Metrics != "" {
		g.Metrics, err = g.listen(ctx, "--metrics", o.Metrics, o, own)
	}
	return err
}

// guarded admits requests from this machine, and from other machines those that carry the token.
func guarded(o *Options, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + o.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		err := localhost.Check(r, o.Proxy.Hosts)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusForbidden)
		case !localhost.Local(r) && (o.Token == "" || subtle.ConstantTimeCompare(got[:], want[:]) == 0):
			w.Header().Set("WWW-Authenticate", `Bearer realm="headrace"`)
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// health answers 200, and 503 while the proxy is being stopped.
func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if g.Stats().Draining {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("draining\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// listen serves the dashboard or the metrics.
func (g *Gateway) listen(ctx context.Context, flag, address string, o *Options, h http.Handler) (string, error) {
	if err := localhost.CheckAddress(address, "set --dashboard-token"); err != nil && o.Token == "" {
		return "", &settings.Error{Flag: flag, Problem: err.Error()}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", &settings.Error{Flag: flag, Problem: settings.Plain(err) + ": use another address"}
	}
	g.serve(&http.Server{
		Handler: handler.Logged(o.Log, h), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}, l)
	return l.Addr().String(), nil
}

func (g *Gateway) serve(s *http.Server, l net.Listener) {
	g.servers = append(g.servers, s)
	g.wg.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			g.ended <- err
		}
	})
}

// drained drains the proxy, and then ends it.
func (g *Gateway) drained(ctx context.Context) error {
	err := g.Drain(ctx)
	g.ended <- err
	return err
}

// Ended receives the reason if a server stops by itself; nil if it was drained from the dashboard.
func (g *Gateway) Ended() <-chan error { return g.ended }

// Stats returns the statistics of the proxy.
func (g *Gateway) Stats() proxy.Stats {
	if p := g.proxy.Load(); p != nil {
		return p.Stats()
	}
	return proxy.Stats{}
}

// Drain rejects new requests and waits for those in progress. When ctx ends, they are cancelled.
func (g *Gateway) Drain(ctx context.Context) error {
	err := g.proxy.Load().Drain(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	_ = g.servers[0].Shutdown(ctx) // after the last bytes of the responses have been sent
	return err
}

// Close ends everything at once, including requests in progress.
func (g *Gateway) Close(ctx context.Context) error {
	if g.page != nil {
		g.page.Close()
	}
	for _, s := range g.servers {
		_ = s.Close()
	}
	g.wg.Wait()
	var err error
	if g.meters != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		err = g.meters.close(ctx)
	}
	return errors.Join(err, g.leave())
}

// flushTime bounds how long closing waits for a client, and for a receiver of telemetry.
const flushTime = 5 * time.Second

func (g *Gateway) clients() (all []dashboard.Client) {
	for _, c := range g.Stats().Clients {
		all = append(all, dashboard.Client{Name: c.Name, Weight: c.Weight, Admitted: c.Attempts, Waited: c.Waited})
	}
	return all
}

// level returns the log level of an event.
func level(e event.Event, usual slog.Level) slog.Level {
	switch e.Kind { //nolint:exhaustive // other events have a level of their own
	case event.LimiterCut, event.LimiterHit:
		return slog.LevelInfo
	case event.NetRequest:
		return slog.LevelDebug
	}
	return usual
}

// Base returns the base URL of the proxy for clients on this machine.
func (g *Gateway) Base(token string) string {
	host, port, err := net.SplitHostPort(g.Address)
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	base := "http://" + net.JoinHostPort(host, port)
	if token != "" {
		base += "/t/" + token
	}
	return strings.TrimSuffix(base, "/")
}
