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
	Addr string `group:"listening" default:"127.0.0.1:8787" placeholder:"ADDR" help:"Where clients connect; port 0 is any that is free. Default: ${default}."`

	gateway.Flags `embed:""`

	Token    string   `group:"listening" placeholder:"TOKEN" help:"Required from every client: header X-Headrace-Token, or /t/TOKEN before the path. Better in HEADRACE_TOKEN: other users see command lines."`
	Host     []string `group:"listening" sep:"none" placeholder:"NAME" help:"A name in the Host header that is accepted besides localhost and loopback addresses. May be repeated."`
	Origin   []string `group:"listening" sep:"none" placeholder:"URL" help:"An origin of web pages whose requests are accepted, such as https://app.example.com. May be repeated."`
	tlsFlags `embed:""`

	Dashboard      string        `group:"pages" default:"127.0.0.1:8788" placeholder:"ADDR" help:"Where the live page is, with /metrics and /healthz, or off. Default: ${default}."`
	DashboardToken string        `group:"pages" placeholder:"TOKEN" help:"Allows to pause, resume, limit and drain, and to read from other machines. Default: that of --token, or none."`
	Metrics        string        `group:"pages" placeholder:"ADDR" help:"Serve /metrics and /healthz here instead."`
	Grace          time.Duration `group:"pages" default:"30s" placeholder:"TIME" help:"How long requests may go on after SIGTERM or Ctrl-C. Default: ${default}."`
}

// Help is what --help says behind the list of flags.
func (*proxyCommand) Help() string {
	return `Clients set their base URL to an upstream of the proxy, keep their key, and see no 429: their requests wait until the provider allows them. Known upstreams are those of the providers, such as /openai, /anthropic and /gemini. A request can name its client by X-Headrace-Client or by /c/NAME before the path; with X-Headrace-Priority: batch it lets others go first. docs/proxy.md has a block for each SDK.

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
	config.Token, config.Hosts, config.Origins = c.Token, c.Host, c.Origin
	if config.TLS, err = c.tls(); err != nil {
		return err
	}
	if c.Grace < 0 {
		return &settings.Error{Flag: "--grace", Problem: fmt.Sprintf("%v is negative", c.Grace)}
	}
	to := terminal.Writer(p.Stderr)
	g, err := gateway.Open(ctx, gateway.Options{
		Proxy: config, Address: c.Addr, Dashboard: at(c.Dashboard), Metrics: at(c.Metrics), Token: cmp.Or(c.DashboardToken, c.Token),
		Share: gateway.Share{Address: c.Share}, Log: logTo(to, c.LogLevel, c.LogFormat), Getenv: p.Getenv,
	})
	if err != nil {
		return err
	}
	defer func() { _ = g.Close(ctx) }()
	p.mu.Lock()
	p.grace, p.calls = fmt.Sprintf("headrace: draining; requests in progress may finish for %s (again: at once)", c.Grace), c.Grace
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

// at is an address that can be off.
func at(address string) string {
	if address == "off" {
		return ""
	}
	return address
}

// greet says in one line where the proxy is and how to use it.
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
		line += "; live page: http://" + g.Dashboard
	}
	fmt.Fprintln(to, line)
}

// drain lets requests in progress finish.
func (c *proxyCommand) drain(ctx context.Context, to io.Writer, g *gateway.Gateway) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), c.Grace, errGrace)
	defer cancel()
	err := g.Drain(ctx)
	for _, line := range g.Summary() {
		fmt.Fprintln(to, "headrace:", line)
	}
	if err != nil {
		return fmt.Errorf("%s", settings.Plain(err))
	}
	return nil
}

var errGrace = errors.New("the time of --grace is over")
