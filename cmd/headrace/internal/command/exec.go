package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/gateway"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/spawn"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
)

// notRun is the exit status if the proxy does not start. The programs env and timeout use the same one.
const notRun = 125

type execCommand struct {
	gateway.Flags `embed:""`

	Dashboard string `group:"pages" default:"off" placeholder:"ADDR" help:"Address of the dashboard, with /metrics and /healthz. Default: ${default}."`
	Quiet     bool   `short:"q" group:"display" help:"Print no summary at the end."`

	Command []string `arg:"" passthrough:"" placeholder:"COMMAND" help:"The command, and its arguments."`
}

// Help is printed by --help after the list of flags.
func (*execCommand) Help() string {
	return `Starts a proxy on a free port, points OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL and similar variables of the command at it, and prints a summary at the end. If a variable is already set, the proxy forwards its calls to the URL it was set to. Commands of the same user with the same keys share what they learn about the limits, unless --share is off.

Examples:
  headrace exec -- python app.py
  headrace exec -- node script.mjs
  headrace exec --preset anthropic/tier1 -- claude
  OPENAI_BASE_URL=http://localhost:8000/v1 headrace exec -- python app.py

Exit status: that of the command; 128+N if signal N ended it; 127 if it is not found, 126 if it cannot be executed; 125 if the proxy does not start; 2 for a usage error.`
}

// Run is called by kong.
func (c *execCommand) Run(ctx context.Context, p *Program) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	} else if len(c.Command) > 0 && strings.HasPrefix(c.Command[0], "-") { // kong treats the first unknown flag as the command
		return &run.UsageError{Err: fmt.Errorf("unknown flag %s (see headrace exec --help)", c.Command[0])}
	}
	if len(c.Command) == 0 {
		return &run.UsageError{Err: errors.New("the command to run is missing (see headrace exec --help)")}
	}
	config, err := c.Config()
	if err != nil {
		return err
	}
	to := terminal.Writer(p.Stderr)
	cmd := spawn.Command{Name: c.Command[0], Args: c.Command[1:], Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
	if out, ok := p.Stdout.(*told); ok {
		cmd.Stdout = out.to
	}
	if err := cmd.Find(); err != nil {
		return c.ended(p, spawn.End{}, err)
	}
	redirect := gateway.Redirect(p.Getenv, gateway.All(config.Upstreams))
	maps.Copy(config.Upstreams, redirect.Upstreams)
	log := logTo(to, c.LogLevel, c.LogFormat)
	share := gateway.Share{Address: at(c.Share)}
	if c.Share == "" {
		if share, err = gateway.Own(redirect.Names(), p.Getenv); err != nil {
			log.Warn("limits are not shared with other commands of this user", "err", err)
		}
	}
	g, err := gateway.Open(ctx, gateway.Options{Proxy: config, Address: "127.0.0.1:0", Dashboard: at(c.Dashboard), Share: share, Log: log})
	if err != nil {
		return &statusError{notRun, err}
	}
	defer func() { _ = g.Close(ctx) }()
	if g.Dashboard != "" && !c.Quiet {
		fmt.Fprintln(to, "headrace: dashboard: http://"+g.Dashboard)
	}
	cmd.Env = redirect.Environ(p.Environ, g.Base(""))
	signals := spawn.Catch()
	defer signals.Release()
	p.passed()
	if ctx.Err() != nil { // it arrived before the signals were caught
		return run.ErrInterrupted
	}
	end, err := cmd.Run(signals)
	if err == nil && !c.Quiet {
		summarise(to, redirect, g)
	}
	return c.ended(p, end, err)
}

func summarise(to io.Writer, r *gateway.Redirection, g *gateway.Gateway) {
	for _, line := range append(g.Summary("the command"), r.Notes...) {
		fmt.Fprintln(to, "headrace:", line)
	}
}

// ended ends this process the way the command ended.
func (c *execCommand) ended(p *Program, end spawn.End, err error) error {
	if start := (*spawn.StartError)(nil); errors.As(err, &start) {
		return &statusError{start.Status, err}
	}
	if end.Terminal {
		p.dies = spawn.Interrupt
	}
	if end.Status == OK {
		return nil
	}
	return &statusError{status: end.Status}
}

// statusError ends the program with a status. A nil error means that everything has been printed.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }
