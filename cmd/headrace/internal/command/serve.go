package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/store/redisstore"
)

type serveCommand struct {
	Addr  string `group:"listening" default:"127.0.0.1:8790" placeholder:"ADDR" help:"Address to listen on: HOST:PORT, where port 0 picks a free port, or unix:PATH. Default: ${default}."`
	Check bool   `group:"files" help:"Only check the configuration: print its problems and, for a file of envoyproxy/ratelimit, what works differently here."`

	tlsFlags `embed:""`

	URL string `group:"listening" name:"url" placeholder:"URL" help:"URL at which members of the group reach this server, such as https://replica-1:8790. Other servers on the same Redis send members there while this one leads. Not needed if the members' address lists all servers."`

	Insecure bool     `group:"listening" help:"Allow an address that other machines can reach, without tokens or client certificates."`
	Host     []string `group:"listening" sep:"none" placeholder:"NAME" help:"Accept this name in the Host header, besides localhost and loopback addresses. May be repeated."`

	Dashboard      string `group:"pages" default:"off" placeholder:"ADDR" help:"Address of the dashboard, such as 127.0.0.1:8788, or off. Default: ${default}."`
	DashboardToken string `group:"pages" placeholder:"TOKEN" help:"Token for access to the dashboard from other machines. Prefer HEADRACE_DASHBOARD_TOKEN."`

	LogLevel  string `group:"display" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Log level on standard error: debug, info, warn or error. Default: ${default}."`
	LogFormat string `group:"display" default:"json" enum:"text,json" placeholder:"HOW" help:"Log format: text or json. Default: ${default}."`
}

// Help is printed by --help after the list of flags.
func (*serveCommand) Help() string {
	return `Programs in any language share limits through this service. It serves REST, gRPC and Envoy's rate limit service on one port. The limits are in the YAML file of --config, which is read again when it changes and at SIGHUP. New limits take effect without a restart; an invalid file changes nothing. After SIGTERM, requests in progress may finish. Several servers can share one Redis. docs/service.md describes the API and the file.

Examples:
  headrace serve --config limits.yaml --check
  headrace serve --config limits.yaml
  curl -d '{"identifier": "ann", "resource": "search"}' http://127.0.0.1:8790/v1/ratelimit/check
  headrace serve --config limits.yaml --addr unix:/run/headrace/limits.sock
  headrace serve --config limits.yaml --addr 0.0.0.0:8790 --tls-cert cert.pem --tls-key key.pem
  headrace serve --config limits.yaml --dashboard 127.0.0.1:8788
  headrace doctor limits.yaml
  headrace serve --config limits.yaml --addr 0.0.0.0:8790 --url https://replica-1:8790 --tls-cert cert.pem --tls-key key.pem
  headrace run requests.jsonl --share group:https://replica-1:8790,https://replica-2:8790

If the limits are not known in advance, programs join the group of the service: --share group:https://HOST:PORT. Servers on one Redis elect the group's leader.

An address that other machines can reach requires tokens (runtime.auth in the file), --tls-client-ca, or --insecure.`
}

// serveGrace is the time that package service gives requests in progress after SIGTERM.
const serveGrace = 10 * time.Second

// Run is called by kong.
func (c *serveCommand) Run(ctx context.Context, p *Program) error {
	if p.given.path == "" {
		return &settings.Error{Flag: "--config", Problem: "it is missing: name the YAML file with the limits (see headrace serve --help)"}
	}
	if c.Check {
		return c.check(p)
	}
	to, where := terminal.Writer(p.Stderr), "memory"
	config, err := c.config(p, logTo(to, c.LogLevel, c.LogFormat))
	if err != nil {
		return err
	}
	members := &mounted{}
	config.Group = members
	flush, err := trace(ctx, p, &config)
	if err != nil {
		return err
	}
	defer flush()
	config.Open = func(_ context.Context, s service.Storage) (quota.Store, error) {
		where = s.Address
		store, err := openStorage(s)
		members.electBy(store)
		return store, err
	}
	server, err := service.New(ctx, config)
	if err != nil {
		return unserved(err)
	}
	defer func() { _ = server.Close() }()
	l, err := server.Listen(ctx, c.Addr)
	if err != nil {
		return &settings.Error{Flag: "--addr", Problem: strings.TrimPrefix(settings.Plain(err), "service: ") + c.remedy(err)}
	}
	if err := members.begin(c.URL); err != nil {
		return errors.Join(err, l.Close())
	}
	defer members.Close() // after Serve, because Serve leaves the connections of members open
	page, err := c.page(ctx, p, server, config.Log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if page != nil {
		defer page.Close()
	}
	p.mu.Lock()
	p.grace, p.calls = fmt.Sprintf("headrace: draining; requests in progress have %s to finish (again: stop at once)", serveGrace), serveGrace
	p.reload = func() { _ = server.Reload(ctx) } // it logs what is wrong
	p.mu.Unlock()
	c.greet(to, p, l.Addr().Network(), l.Addr().String(), where)
	err = server.Serve(ctx, l)
	p.mu.Lock()
	p.reload = func() {}
	p.mu.Unlock()
	return err
}

// flushTime bounds the time to send the last spans.
const flushTime = 5 * time.Second

// trace sets up the export of spans if the environment names a receiver. Call flush at the end.
func trace(ctx context.Context, p *Program, config *service.Config) (flush func(), err error) {
	environment := otlp.Environment(p.Getenv)
	if err := environment.Check(config.Log); err != nil {
		return nil, err
	}
	spans, err := environment.Traces(ctx)
	if spans == nil || err != nil {
		return func() {}, err
	}
	config.TracerProvider = spans
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := spans.Shutdown(ctx); err != nil {
			config.Log.WarnContext(ctx, "the last spans could not be sent", "err", err)
		}
	}, nil
}

// config returns the configuration of the flags.
func (c *serveCommand) config(p *Program, log *slog.Logger) (service.Config, error) {
	own, err := c.tls(log)
	return service.Config{File: p.given.path, TLS: own, Insecure: c.Insecure, Hosts: c.Host, Log: log}, err
}

// unserved converts an error of service.New: a mistake in the file is a usage error.
func unserved(err error) error {
	if own := (*settings.Error)(nil); errors.As(err, &own) {
		return own
	}
	if errors.As(err, new(*fault.FieldError)) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return &settings.Error{Flag: "--config", Problem: strings.ReplaceAll(strings.TrimPrefix(err.Error(), "service: "), "\n", "\n--config: ")}
	}
	return err
}

// remedy returns what an address that other machines can reach requires, or what to do if it cannot be used.
func (c *serveCommand) remedy(err error) string {
	switch {
	case errors.As(err, new(*fault.FieldError)) && strings.Contains(err.Error(), "bearer tokens"):
		return " (runtime.auth in the file, --tls-client-ca), or use --insecure"
	case errors.As(err, new(*net.OpError)) && !strings.HasPrefix(c.Addr, "unix:"):
		return ": use another address, such as 127.0.0.1:0 for a free port"
	}
	return ""
}

// storeProblem returns an error for an address that names no store, and nil otherwise. It opens nothing.
func storeProblem(address string) error {
	scheme, rest, _ := strings.Cut(address, ":")
	problem := ""
	switch {
	case address == "memory", scheme == "sqlite" && rest != "":
	case scheme == "sqlite":
		problem = "the path is missing: write sqlite:PATH"
	case scheme == "redis", scheme == "rediss":
		s, err := settings.OpenStore(address) // connects at the first check
		if err == nil {
			return s.Close()
		}
		problem = settings.Plain(err)
	default:
		if rest != "" {
			scheme += ":..." // it may have a password
		}
		problem = scheme + " is not a store: use memory, sqlite:PATH or redis://HOST:PORT/DB"
	}
	if problem == "" {
		return nil
	}
	return &settings.Error{Flag: "--config", Problem: "runtime.store: " + problem}
}

// openStorage opens the store that a configuration names.
func openStorage(s service.Storage) (quota.Store, error) {
	if err := storeProblem(s.Address); err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(s.Address, ":")
	switch scheme {
	case "memory":
		return quota.NewMemoryStore(nil), nil
	case "redis", "rediss":
		u, err := url.Parse(s.Address)
		if err != nil {
			break // redisstore reports it, without the password
		}
		q := u.Query()
		if s.PoolSize > 0 {
			q.Set("pool_size", strconv.Itoa(s.PoolSize))
		}
		if s.DialTimeout > 0 {
			q.Set("dial_timeout", s.DialTimeout.String())
		}
		u.RawQuery = q.Encode()
		s.Address = u.String()
	}
	var options []redisstore.Option
	if s.Timeout > 0 {
		options = append(options, redisstore.WithTimeout(s.Timeout))
	}
	return settings.OpenStore(s.Address, options...)
}

// page returns the dashboard, or nil if it is off.
func (c *serveCommand) page(ctx context.Context, p *Program, server *service.Server, log *slog.Logger) (*dashboard.Dashboard, error) {
	if at(c.Dashboard) == "" {
		return nil, nil //nolint:nilnil // see above
	}
	empty, err := registry.New(registry.Config{})
	if err != nil {
		return nil, err
	}
	d, err := dashboard.New(dashboard.Config{
		Title: "headrace serve " + p.given.path, Registry: empty, Token: c.DashboardToken, Hosts: c.Host, Log: log,
		Keys: func() (all []dashboard.Key) {
			for _, b := range server.Blocked(mostBlocked) {
				all = append(all, dashboard.Key{Name: b.Scope + "/" + b.Identifier + "/" + b.Resource, Refused: b.Refused})
			}
			return all
		},
	})
	if err != nil {
		return nil, &settings.Error{Flag: "--dashboard-token", Problem: settings.Plain(err)}
	}
	bound, err := d.Listen(ctx, c.Dashboard)
	if err != nil {
		d.Close()
		return nil, &settings.Error{Flag: "--dashboard", Problem: strings.TrimPrefix(settings.Plain(err), "dashboard: ")}
	}
	c.Dashboard = bound.String()
	return d, nil
}

// mostBlocked is the number of keys that the dashboard lists.
const mostBlocked = 20

// greet prints one line with the service's address and how to use it.
func (c *serveCommand) greet(to io.Writer, p *Program, network, address, store string) {
	base, curl := "http", "curl"
	if c.TLSCert != "" {
		base = "https"
	}
	where := base + "://" + address
	if network == "unix" {
		where, curl = "http://localhost", "curl --unix-socket "+address
	}
	line := fmt.Sprintf("headrace serve on %s, limits of %s in %s: %s -d '{\"identifier\": \"ann\", \"resource\": \"search\"}' %s/v1/ratelimit/check",
		cmp.Or(address, c.Addr), p.given.path, settings.WithoutPassword(store), curl, where)
	if at(c.Dashboard) != "" {
		line += "; dashboard: http://" + c.Dashboard
	}
	fmt.Fprintln(to, line)
}

// check checks the configuration without serving it.
func (*serveCommand) check(p *Program) error {
	in, err := service.Inspect(p.given.path)
	if err != nil {
		return unserved(err)
	}
	if err := storeProblem(in.Store); err != nil {
		return err
	}
	to := terminal.Writer(p.Stdout)
	fmt.Fprintf(to, "%s is valid: %s in %s\n", p.given.path, plural(int64(len(in.Limits)), "limit"), settings.WithoutPassword(in.Store))
	if len(in.EnvoyDifferences) > 0 {
		fmt.Fprintln(to, "\nDifferences from envoyproxy/ratelimit:")
	}
	for _, text := range in.EnvoyDifferences {
		fmt.Fprintln(to, text)
	}
	return nil // a failed write is reported at the end
}
