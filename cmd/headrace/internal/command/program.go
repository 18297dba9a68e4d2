// Package command is the command line: commands, flags, messages and exit statuses.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/console"
)

// The exit statuses.
const (
	OK         = 0
	Failed     = 1
	Usage      = 2
	Systematic = 3  // the first requests all failed in the same way
	Later      = 75 // nothing failed; some requests are left for a later run; EX_TEMPFAIL of sysexits.h
	Interrupt  = 130
)

// Program is one process.
type Program struct {
	Args           []string
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // names and values, to find misspelt ones

	given given // flags that are not arguments

	mu     sync.Mutex       // guards everything below
	resume string           // the command that resumes the run; empty if there is no run
	grace  string           // what the program waits for
	calls  time.Duration    // how long that is
	shown  *console.Display // nil if there is no display
	undo   func()           // removes temporary files; may be nil
	others bool             // signals are for another process
	reload func()           // the action of SIGHUP; if nil, it ends the program
	dies   func()           // ends this process as a signal does; if nil, it just exits
}

// commands are the commands of the program.
type commands struct {
	Config string `placeholder:"FILE" help:"Take flags from a YAML file: names without the dashes."`

	Run        runCommand        `cmd:"" help:"Send a file of requests as fast as the limits allow."`
	Exec       execCommand       `cmd:"" help:"Run a command behind a proxy that waits instead of returning 429s."`
	Proxy      proxyCommand      `cmd:"" help:"Run a proxy that waits instead of returning 429s, for clients in any language."`
	Serve      serveCommand      `cmd:"" help:"Run a rate limit service for programs in any language: REST, gRPC and Envoy."`
	Demo       demoCommand       `cmd:"" help:"Show a run against a local test provider, without a key."`
	Provider   providerCommand   `cmd:"" help:"Run a test provider with hidden limits."`
	Presets    presetsCommand    `cmd:"" help:"Show the published limits of providers."`
	Doctor     doctorCommand     `cmd:"" help:"Examine configurations, stores, groups and programs, and suggest repairs."`
	Ctl        ctlCommand        `cmd:"" help:"Show and control a running headrace: pause, limit, drain."`
	Completion completionCommand `cmd:"" help:"Print a shell completion script."`
	Man        manCommand        `cmd:"" help:"Print the manual page."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

const description = `headrace sends requests to a rate-limited API as fast as the provider allows. It finds the limit, waits when the provider returns 429, and resumes where it was stopped.

Every flag can also be set in the environment (HEADRACE_RPM for --rpm) or in the file of --config. The command line takes precedence over the environment, the environment over the file, and the file over a preset.`

const exits = `Exit status:
  0    all requests are done
  1    some requests failed, or the run had to stop early
  2    the command or its files are invalid; nothing was sent
  3    stopped because the first 20 requests all failed in the same way
  75   nothing failed; some requests are left for a later run
  130  interrupted by Ctrl-C; rerun the command without --fresh to resume`

// exited is the panic by which kong ends the program after --help.
type exited int

// Main parses, runs, and returns the exit status.
func (p *Program) Main(ctx context.Context) (status int) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case exited:
			status = int(why)
		default:
			panic(why)
		}
	}()
	out := &told{to: p.Stdout}
	p.Stdout = out
	defer func() {
		if status == OK && out.err != nil {
			status = p.fail(out.err)
		}
	}()
	var c commands
	p.given.getenv = p.Getenv
	parser, err := kong.New(&c,
		kong.Name("headrace"), kong.Description(description+"\n\n"+exits), kong.Writers(p.Stdout, p.Stderr), kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80, NoExpandSubcommands: true}),
		kong.Help(help), kong.Resolvers(&p.given), numbers(), kong.ValueFormatter(func(v *kong.Value) string { return v.Help }),
		kong.ExplicitGroups([]kong.Group{
			{Key: "files", Title: "Files:"},
			{Key: "provider", Title: "Provider:"},
			{Key: "limits", Title: "Limits (never exceeded; the rate is found within them):"},
			{Key: "failures", Title: "Failures:"},
			{Key: "listening", Title: "Clients:"},
			{Key: "upstreams", Title: "Upstreams:"},
			{Key: "waiting", Title: "Waiting:"},
			{Key: "pages", Title: "Pages:"},
			{Key: "display", Title: "Display:"},
			{Key: "allowed", Title: "What it allows:"},
			{Key: "spoken", Title: "What it announces:"},
			{Key: "slow", Title: "How it responds:"},
			{Key: "doctor", Title: "What to examine:"},
		}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p, &c),
	)
	if err != nil {
		fmt.Fprintln(p.Stderr, "headrace:", err)
		return Usage
	}
	if len(p.Args) > 1 && p.Args[0] == completeWord {
		p.complete(parser.Model.Node, p.Args[1], p.Args[2:])
		return OK
	}
	parsed, err := parser.Parse(arguments(p.Args))
	if err != nil {
		return p.fail(&run.UsageError{Err: plainly(err)})
	}
	for _, told := range strangers(p.Environ, parser.Model.Node) {
		fmt.Fprintln(terminal.Writer(p.Stderr), "headrace:", told)
	}
	return p.fail(parsed.Run())
}

// help prints the text of --help. In the usage of exec it leaves out flags after the command, because those belong to the command.
func help(o kong.HelpOptions, c *kong.Context) error {
	if n := c.Selected(); n != nil && n.Name == "serve" {
		if flag := flags(c.Model.Node)["config"]; flag != nil {
			flag.Help = "The limits, in YAML. It is read again when it changes."
		}
	}
	if n := c.Selected(); n != nil && n.Name == "exec" {
		o.NoAppSummary = true
		fmt.Fprintln(c.Stdout, "Usage: headrace exec [flags] -- COMMAND [ARGUMENTS]")
	}
	return kong.DefaultHelpPrinter(o, c)
}

// arguments translates "help" and "--version", which other programs accept, into commands of this one.
func arguments(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return []string{"version"}
	case len(args) > 1 && args[0] == "doctor" && args[1] == "rate-limits":
		return append([]string{"doctor"}, args[2:]...)
	}
	return args
}

// fail prints the error, and returns the exit status.
func (p *Program) fail(err error) int {
	switch {
	case err == nil:
		return OK
	case errors.As(err, new(*statusError)):
		return p.status(err)
	case errors.Is(err, errSystematic):
		return Systematic
	case errors.Is(err, errLater):
		return Later
	case errors.Is(err, errFailed):
		return Failed
	case errors.Is(err, syscall.EPIPE): // the reader of the list has closed the pipe
		return OK
	}
	status := Failed
	if errors.As(err, new(*run.UsageError)) || errors.As(err, new(*settings.Error)) {
		status = Usage
	}
	if errors.Is(err, run.ErrInterrupted) {
		return Interrupt
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(terminal.Writer(p.Stderr), "headrace:", line)
	}
	return status
}

// status returns the status of a *statusError, and prints its error.
func (p *Program) status(err error) int {
	of := (*statusError)(nil)
	if !errors.As(err, &of) {
		return Failed
	}
	if of.err != nil {
		for line := range strings.SplitSeq(of.err.Error(), "\n") {
			fmt.Fprintln(terminal.Writer(p.Stderr), "headrace:", line)
		}
	}
	return of.status
}

// errFailed ends a run that has already printed what went wrong.
var errFailed = errors.New("failed")

// errSystematic is like errFailed, for a run in which the first requests all failed in the same way.
var errSystematic = errors.New("systematic failure")

// errLater is like errFailed, for a run in which nothing failed and some requests are left for a later run.
var errLater = errors.New("left for later")

// passed hands signals over to another process from now on.
func (p *Program) passed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = true
}

// Passed reports whether signals are passed on to another process.
func (p *Program) Passed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others
}

// Reload runs the action of SIGHUP, and reports whether there is one other than ending the program.
func (p *Program) Reload() bool {
	p.mu.Lock()
	reload := p.reload
	p.mu.Unlock()
	if reload != nil {
		reload()
	}
	return reload != nil
}

// End is called last, before the process exits. It does not return if that process ends by a signal.
func (p *Program) End() {
	if p.dies != nil {
		p.dies()
	}
}

// Interrupted is called at the first Ctrl-C.
func (p *Program) Interrupted() {
	p.mu.Lock()
	grace, to, before := p.grace, p.Stderr, p.below()
	if p.shown != nil {
		to = p.shown.Writer()
		if p.shown.Mode() == console.TTY {
			before = "" // the next state of the display overwrites it
		}
	}
	p.mu.Unlock()
	if grace != "" {
		fmt.Fprintln(to, before+grace)
	}
}

// ending is how long a program takes to end once no calls are in flight: a run waits for its last results to be durable.
const ending = 30 * time.Second

// Patience returns how long the program may take to end after the first Ctrl-C.
func (p *Program) Patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.calls, math.MaxInt64-ending) + ending
}

// below starts a new line if the terminal shows ^C.
func (p *Program) below() string {
	if f, ok := p.Stderr.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "\n"
		}
	}
	return ""
}

// Abandoned is called at the second Ctrl-C, before the process ends.
func (p *Program) Abandoned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume != "" {
		fmt.Fprintln(terminal.Writer(p.Stderr), p.below()+p.resume) // the cursor is below the display
	}
	if p.undo != nil {
		p.undo()
	}
}
