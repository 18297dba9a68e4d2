package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/gateway"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
)

type proxyCommand struct {
	Addr string `group:"listening" default:"127.0.0.1:8787" placeholder:"ADDR" help:"Address to listen on; port 0 picks a free port. Default: ${default}."`

	gateway.Flags `embed:""`

	Token    string   `group:"listening" placeholder:"TOKEN" help:"Token that every client must send: in the header X-Headrace-Token, or as /t/TOKEN before the path. Prefer HEADRACE_TOKEN: other users can see the command line."`
	Host     []string `group:"listening" sep:"none" placeholder:"NAME" help:"Accept this name in the Host header, besides localhost and loopback addresses. May be repeated."`
	Origin   []string `group:"listening" sep:"none" placeholder:"URL" help:"Accept requests from web pages of this origin, such as https://app.example.com. May be repeated."`
	tlsFlags `embed:""`

	Dashboard      string        `group:"pages" default:"127.0.0.1:8788" placeholder:"ADDR" help:"Address of the dashboard, with /metrics and /healthz, or off. Default: ${default}."`
	DashboardToken string        `group:"pages" placeholder:"TOKEN" help:"Token for pause, resume, limit and drain, and for access from other machines. Default: that of --token, or none."`
	Metrics        string        `group:"pages" placeholder:"ADDR" help:"Serve /metrics and /healthz here instead."`
	Grace          time.Duration `group:"pages" default:"30s" placeholder:"TIME" help:"Time that requests in progress have after SIGTERM or Ctrl-C. Default: ${default}."`
}

// Help is printed by --help after the list of flags.
func (*proxyCommand) Help() string {
	return `Clients set their base URL to an upstream of the proxy and keep their key. They no longer see 429s: their requests wait until the provider allows them. Upstreams for the known providers are built in, such as /openai, /anthropic and /gemini. A request can name its client with X-Headrace-Client or with /c/NAME before the path; requests with X-Headrace-Priority: batch yield to others. docs/proxy.md has a section for each SDK.

Examples:
  headrace proxy
  OPENAI_BASE_URL=http://127.0.0.1:8787/openai/v1 python app.py
  headrace proxy --upstream local=http://127.0.0.1:9000 --preset openai/tier1
  headrace proxy --weight nightly=0.5 --max-wait 10m`
}

// Run is called by kong.
func (c *proxyCommand) Run(ctx context.Context, p *Program) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	to := terminal.Writer(p.Stderr)
	log := logTo(to, c.LogLevel, c.LogFormat)
	config.Token, config.Hosts, config.Origins = c.Token, c.Host, c.Origin
	if config.TLS, err = c.tls(log); err != nil {
		return err
	}
	if c.Grace < 0 {
		return &settings.Error{Flag: "--grace", Problem: fmt.Sprintf("%v is negative", c.Grace)}
	}
	g, err := gateway.Open(ctx, gateway.Options{
		Proxy: config, Address: c.Addr, Dashboard: at(c.Dashboard), Metrics: at(c.Metrics), Token: cmp.Or(c.DashboardToken, c.Token),
		Share: gateway.Share{Address: c.Share}, Log: log, Getenv: p.Getenv,
	})
	if err != nil {
		return err
	}
	defer func() { _ = g.Close(ctx) }()
	p.mu.Lock()
	p.grace, p.calls = fmt.Sprintf("headrace: draining; requests in progress have %s to finish (again: stop at once)", c.Grace), c.Grace
	p.mu.Unlock()
	c.greet(to, g)
	select {
	case err := <-g.Ended():
		if err != nil {
			return err
		}
	case <-ctx.Done():
	}
	return c.drain(ctx, to, g)
}

// at returns an address, or an empty string for "off".
func at(address string) string {
	if address == "off" {
		return ""
	}
	return address
}

// greet prints one line with the proxy's address and how to use it.
func (c *proxyCommand) greet(to io.Writer, g *gateway.Gateway) {
	base := "http"
	if c.TLSCert != "" {
		base = "https"
	}
	prefix := ""
	if c.Token != "" {
		prefix = "/t/TOKEN"
	}
	line := fmt.Sprintf("headrace proxy on %s: set OPENAI_BASE_URL=%s://%s%s/openai/v1, or ANTHROPIC_BASE_URL=%[2]s://%[3]s%[4]s/anthropic, and keep your key",
		g.Address, base, g.Address, prefix)
	if g.Dashboard != "" {
		line += "; dashboard: http://" + g.Dashboard
	}
	fmt.Fprintln(to, line)
}

// drain lets requests in progress finish.
func (c *proxyCommand) drain(ctx context.Context, to io.Writer, g *gateway.Gateway) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), c.Grace, errGrace)
	defer cancel()
	err := g.Drain(ctx)
	for _, line := range g.Summary("clients") {
		fmt.Fprintln(to, "headrace:", line)
	}
	if err != nil {
		return fmt.Errorf("%s", settings.Plain(err))
	}
	return nil
}

var errGrace = errors.New("the time given by --grace is over")
