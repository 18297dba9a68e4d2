package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/doctor"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/dashboard"
)

type doctorCommand struct {
	Config string `arg:"" optional:"" placeholder:"CONFIG" name:"configuration" help:"The configuration of a registry or of headrace serve: a YAML or JSON file, or limits such as \"openai: 500/min\"."`

	Share     string        `group:"doctor" placeholder:"ADDRESS" help:"A store or a group to examine: sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT, group:PATH or group:https://HOST:PORT."`
	Preset    []string      `group:"doctor" placeholder:"ID" help:"A preset to examine. May be repeated."`
	Dashboard string        `group:"doctor" placeholder:"ADDR" help:"The dashboard of a running headrace, or off. Default: 127.0.0.1:8788, if it responds."`
	Service   string        `group:"doctor" placeholder:"ADDR" help:"A running headrace serve: HOST:PORT, https://HOST:PORT or unix:PATH."`
	Token     string        `group:"doctor" placeholder:"TOKEN" help:"The token of the dashboard or the service. Prefer HEADRACE_TOKEN."`
	Bound     time.Duration `group:"doctor" default:"5s" placeholder:"TIME" help:"The time each store, group and program has to answer. Default: ${default}."`
	Keys      int           `group:"doctor" default:"20" placeholder:"N" help:"Number of keys to list for each store, those nearest to their limits first. Default: ${default}."`
	Prefix    string        `group:"doctor" placeholder:"TEXT" help:"List only keys with this prefix."`
	JSON      bool          `group:"doctor" name:"json" help:"Print the report as JSON."`
}

// Findings is the exit status of headrace doctor if there are problems or warnings.
const Findings = 4

// defaultPage is the default address of the dashboard of headrace proxy.
const defaultPage = "127.0.0.1:8788"

// mostBound is longer than anything in working order takes.
const mostBound = 5 * time.Minute

// Help is printed by --help after the list of flags.
func (*doctorCommand) Help() string {
	return `Prints the limits as a program resolves them, how much of each is used and when it becomes free, whether the stores respond, and which process leads a group. For each problem it suggests a remedy. It changes nothing. docs/doctor.md lists the findings.

Examples:
  headrace doctor
  headrace doctor limits.yaml
  headrace doctor "store: redis://localhost:6379/0; openai: 500/min"
  headrace doctor --share sqlite:limits.db --prefix crawl/
  headrace doctor --service 127.0.0.1:8790
  headrace doctor limits.yaml --json | jq '.findings[] | select(.severity == "problem")'

Exit status: 0 if nothing is wrong; 4 if there are problems or warnings; 2 for a usage error; 130 if it was interrupted.`
}

// Run is called by kong.
func (c *doctorCommand) Run(ctx context.Context, p *Program) error {
	switch {
	case c.Bound <= 0 || c.Bound > mostBound:
		return &settings.Error{Flag: "--bound", Problem: fmt.Sprintf("%s is not above 0 and at most %s", c.Bound, mostBound)}
	case c.Keys < 0:
		return &settings.Error{Flag: "--keys", Problem: fmt.Sprintf("%d is negative", c.Keys)}
	}
	o := doctor.Options{
		Config: c.Config, Share: at(c.Share), Presets: c.Preset, Getenv: p.Getenv, Wait: c.Bound, Keys: c.Keys, Prefix: c.Prefix,
		Service: at(c.Service), Token: c.Token,
		Page: at(c.Dashboard), Given: c.Dashboard != "",
	}
	if o.Config == "" && p.given.limits {
		o.Config = p.given.path
	}
	if c.Dashboard == "" {
		o.Page = defaultPage
	}
	page := &ctlCommand{Addr: o.Page, Token: c.Token, Flag: "--dashboard"}
	o.Ask = func(ctx context.Context) (*dashboard.Status, error) {
		var s dashboard.Status
		_, err := page.ask(ctx, http.MethodGet, "/api/status", nil, &s)
		return &s, err
	}
	r, err := doctor.Examine(ctx, o)
	if err != nil {
		return err
	}
	if err := c.print(p, r); err != nil {
		return err
	}
	if !r.Healthy {
		return &statusError{status: Findings}
	}
	return nil
}

func (c *doctorCommand) print(p *Program, r *doctor.Report) error {
	if c.JSON {
		e := json.NewEncoder(p.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	to := terminal.Writer(p.Stdout)
	r.WritePlaces(to)
	if r.Program != nil {
		fmt.Fprintf(to, "program %s at %s\n", oneLine(r.Program.Title), r.Program.Address)
		status := r.Program.Status
		status.Limiters = slices.DeleteFunc(slices.Clone(status.Limiters), func(l dashboard.Limiter) bool {
			return l.State == dashboard.Open && l.Admitted == 0 && l.Waiting == 0 && l.InFlight == 0
		})
		writeStatus(to, &status)
		if idle := len(r.Program.Limiters) - len(status.Limiters); idle > 0 {
			fmt.Fprintf(to, "and %s without calls\n", plural(int64(idle), "limiter"))
		}
		r.Program.WriteWindows(to)
		fmt.Fprintln(to)
	}
	r.WriteFindings(to)
	return nil
}
