// Package command is the command line: what can be given, and how it ends.
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
	Later      = 75 // what is left had to wait for too long; as EX_TEMPFAIL of sysexits.h
	Interrupt  = 130
)

// Program is one process.
type Program struct {
	Args           []string
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // names and values, to find misspelt ones

	given given // beside the arguments

	mu     sync.Mutex       // guards everything below
	resume string           // the command that goes on; empty: nothing is under way
	grace  string           // what is waited for
	calls  time.Duration    // how long that is
	shown  *console.Display // nil: nothing is shown
	undo   func()           // what is left behind else; nil: nothing
	others bool             // signals are for another process
	reload func()           // what SIGHUP does; nil: it ends the program
	dies   func()           // ends this process as a signal does; nil: it just exits
}

// commands are what can be called.
type commands struct {
	Config string `placeholder:"FILE" help:"Take flags from a YAML file: names without the dashes."`

	Run        runCommand        `cmd:"" help:"Do a file of requests at full legal speed."`
	Exec       execCommand       `cmd:"" help:"Run a command behind a proxy that waits instead of returning 429s."`
	Proxy      proxyCommand      `cmd:"" help:"Be a proxy that waits instead of returning 429s, for clients in any language."`
	Serve      serveCommand      `cmd:"" help:"Serve limits to programs in any language: REST, gRPC and Envoy."`
	Demo       demoCommand       `cmd:"" help:"Show a run against a provider on this machine, without a key."`
	Provider   providerCommand   `cmd:"" help:"Be a provider for tests, with limits that nobody sees."`
	Presets    presetsCommand    `cmd:"" help:"Show what is known of the limits of providers."`
	Doctor     doctorCommand     `cmd:"" help:"Examine configurations, stores, groups and programs, and say what to repair."`
	Ctl        ctlCommand        `cmd:"" help:"Show and steer a headrace that runs: pause, limit, drain."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Man        manCommand        `cmd:"" help:"Print the manual page."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

const description = `headrace does a file of requests to a rate-limited API, as fast as the provider allows: it finds the limit, waits where it is refused, and goes on where it was stopped.

Every flag can be given in the environment too (HEADRACE_RPM for --rpm), or in the file of --config. The command line goes before the environment, that before the file, and the file before what a preset says.`

const exits = `Exit status:
  0    all is done
  1    some requests failed, or the run had to stop
  2    something is wrong with the command or its files; nothing was sent
  3    it stopped because the first 20 requests all failed in the same way
  75   nothing failed; what had to wait for too long is left for later
  130  interrupted by Ctrl-C; the same command goes on`

// exited is how kong asks to end, after --help.
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
			{Key: "limits", Title: "Limits (hard caps; within them the pace is found):"},
			{Key: "failures", Title: "Failures:"},
			{Key: "listening", Title: "Clients:"},
			{Key: "upstreams", Title: "Upstreams:"},
			{Key: "waiting", Title: "Waiting:"},
			{Key: "pages", Title: "Pages:"},
			{Key: "display", Title: "Display:"},
			{Key: "allowed", Title: "What it allows:"},
			{Key: "spoken", Title: "What it says:"},
			{Key: "slow", Title: "How it answers:"},
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

// help prints what --help says. Flags behind the command of exec would be those of the command.
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

// arguments are those that are meant by args: what other programs do with "help" and "--version" is done here too.
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

// fail says what went wrong, and returns the exit status.
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
	case errors.Is(err, syscall.EPIPE): // whoever read a list has seen enough
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

// status is that of a *statusError, whose error is said.
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

// errFailed ends a run that has said all there is to say.
var errFailed = errors.New("failed")

// errSystematic is as errFailed, for a run whose first requests all failed in the same way.
var errSystematic = errors.New("systematic failure")

// errLater is as errFailed, for a run whose remaining requests had to wait for too long.
var errLater = errors.New("left for later")

// passed has signals be for another process from now on.
func (p *Program) passed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = true
}

// Passed reports whether a signal is for another process, which gets it from this one.
func (p *Program) Passed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others
}

// Reload does what SIGHUP is for, and reports whether it is for anything but ending the program.
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
			before = "" // it is drawn over
		}
	}
	p.mu.Unlock()
	if grace != "" {
		fmt.Fprintln(to, before+grace)
	}
}

// ending is how long a program takes to end once no calls are in flight: a run waits for its last results to be durable.
const ending = 30 * time.Second

// Patience is how long the program may take to end after the first Ctrl-C.
func (p *Program) Patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.calls, math.MaxInt64-ending) + ending
}

// below begins a line of its own where the terminal shows ^C.
func (p *Program) below() string {
	if f, ok := p.Stderr.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "\n"
		}
	}
	return ""
}

// Abandoned is called at the second, before the process ends.
func (p *Program) Abandoned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume != "" {
		fmt.Fprintln(terminal.Writer(p.Stderr), p.below()+p.resume) // the cursor stands below the display
	}
	if p.undo != nil {
		p.undo()
	}
}
