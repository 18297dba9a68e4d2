package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/dashboard"
)

type ctlCommand struct {
	Addr  string `default:"127.0.0.1:8788" placeholder:"ADDR" help:"The address of the dashboard. Default: ${default}."`
	Token string `placeholder:"TOKEN" help:"The token of the dashboard. Prefer HEADRACE_TOKEN: other users can see the command line."`
	JSON  bool   `name:"json" help:"Print the dashboard's response as JSON."`
	Flag  string `kong:"-"` // the flag that errors name for Addr; empty means --addr

	Status ctlStatus `cmd:"" help:"Show the state of each limiter, and what holds calls back."`
	Pause  ctlPause  `cmd:"" help:"Pause a limiter for a while."`
	Resume ctlResume `cmd:"" help:"End a pause, or reopen a closed limiter."`
	Limit  ctlLimit  `cmd:"" help:"Replace the hard limits of a limiter."`
	Drain  ctlDrain  `cmd:"" help:"Stop the program: finish the calls in progress, and accept no new ones."`
}

// Help is printed by --help after the list of flags.
func (*ctlCommand) Help() string {
	return `Controls from a shell what the dashboard of "headrace proxy" and "headrace run --dashboard" controls in a browser. All commands but "status" need the dashboard's token. NAME is a limiter listed by "status", or an unambiguous prefix of one.

Examples:
  headrace ctl status
  headrace ctl pause api.openai.com --for 10m
  headrace ctl resume api.openai.com
  headrace ctl limit api.openai.com "20/s, 8 concurrent"
  headrace ctl limit api.openai.com unlimited
  headrace ctl drain
  headrace ctl status --json | jq '.limiters[] | select(.waiting > 0).name'`
}

type ctlStatus struct{}

type ctlPause struct {
	Name string        `arg:"" help:"The limiter."`
	For  time.Duration `default:"5m" placeholder:"TIME" help:"Length of the pause, up to 24h. A longer pause that is already in effect is kept; \"resume\" ends it. Default: ${default}."`
}

type ctlResume struct {
	Name string `arg:"" help:"The limiter."`
}

type ctlLimit struct {
	Name   string `arg:"" help:"The limiter."`
	Limits string `arg:"" help:"The limits, such as \"20/s\", \"600/min, 8 concurrent\" or \"unlimited\"."`
}

type ctlDrain struct{}

// Run is called by kong.
func (*ctlStatus) Run(ctx context.Context, c *commands, p *Program) error {
	var s dashboard.Status
	text, err := c.Ctl.ask(ctx, http.MethodGet, "/api/status", nil, &s)
	if err != nil {
		return err
	}
	return c.Ctl.print(p, text, func(to io.Writer) { writeStatus(to, &s) })
}

// Run is called by kong.
func (a *ctlPause) Run(ctx context.Context, c *commands, p *Program) error {
	return c.Ctl.act(ctx, p, a.Name, "pause", map[string]string{"for": a.For.String()})
}

// Run is called by kong.
func (a *ctlResume) Run(ctx context.Context, c *commands, p *Program) error {
	return c.Ctl.act(ctx, p, a.Name, "resume", map[string]string{})
}

// Run is called by kong.
func (a *ctlLimit) Run(ctx context.Context, c *commands, p *Program) error {
	return c.Ctl.act(ctx, p, a.Name, "limit", map[string]string{"limits": a.Limits})
}

// Run is called by kong.
func (*ctlDrain) Run(ctx context.Context, c *commands, p *Program) error {
	var s dashboard.Status
	text, err := c.Ctl.ask(ctx, http.MethodPost, "/api/drain", nil, &s)
	if err != nil {
		return err
	}
	return c.Ctl.print(p, text, func(to io.Writer) {
		var flying, waiting int
		for _, l := range s.Limiters {
			flying, waiting = flying+l.InFlight, waiting+l.Waiting
		}
		fmt.Fprintf(to, "draining: no new calls are accepted, %d in flight, %d waiting\n", flying, waiting)
	})
}

// act performs an action on the limiter that name refers to.
func (c *ctlCommand) act(ctx context.Context, p *Program, name, action string, body any) error {
	var s dashboard.Status
	if _, err := c.ask(ctx, http.MethodGet, "/api/status", nil, &s); err != nil {
		return err
	}
	name, err := limiterCalled(&s, name)
	if err != nil {
		return err
	}
	var l dashboard.Limiter
	text, err := c.ask(ctx, http.MethodPost, "/api/limiters/"+url.PathEscape(name)+"/"+action, body, &l)
	if err != nil {
		return err
	}
	return c.print(p, text, func(to io.Writer) {
		fmt.Fprintf(to, "%s is %s: %s\n", l.Name, l.State, l.Why)
		if l.Limits != "" {
			fmt.Fprintf(to, "limits: %s\n", l.Limits)
		}
		if l.Note != "" {
			fmt.Fprintln(to, l.Note)
		}
	})
}

// print writes the dashboard's response as it is with --json, and as write formats it otherwise.
func (c *ctlCommand) print(p *Program, text []byte, write func(io.Writer)) error {
	if c.JSON {
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return err
		}
		_, err := p.Stdout.Write(b.Bytes())
		return err
	}
	write(terminal.Writer(p.Stdout))
	return nil
}

const (
	ctlTimeout = 15 * time.Second
	mostStatus = 16 << 20 // bytes of a response
)

// ask sends a request to the dashboard, and decodes the response.
func (c *ctlCommand) ask(ctx context.Context, method, path string, body, into any) (text []byte, err error) {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return nil, &settings.Error{Flag: c.flag(), Problem: fmt.Sprintf("%q is not a host and port, such as 127.0.0.1:8788", c.Addr)}
	}
	ctx, end := context.WithTimeout(ctx, ctlTimeout)
	defer end()
	var b bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&b).Encode(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.Addr+path, &b)
	if err != nil {
		return nil, &settings.Error{Flag: c.flag(), Problem: fmt.Sprintf("%q is not a host and port, such as 127.0.0.1:8788", c.Addr)}
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	transport := &http.Transport{} // no proxy, because the request carries the token
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req) // redirects are not followed, for the same reason
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, mostStatus))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, c.refused(resp.StatusCode, text)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || json.Unmarshal(text, into) != nil {
		return nil, c.foreign()
	}
	return text, nil
}

// unreachable returns an error that names the remedy if nothing answers.
func (c *ctlCommand) unreachable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return run.ErrInterrupted
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start headrace proxy or headrace run --dashboard %s, or set %s to the address of a running one", c.Addr, c.Addr, c.flag())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the dashboard at %s did not answer within %s", c.Addr, ctlTimeout)
	}
	return fmt.Errorf("the request to the dashboard at %s failed: %w", c.Addr, err)
}

// refused returns the error for a response that is not a success.
func (c *ctlCommand) refused(status int, text []byte) error {
	var e dashboard.Error
	if json.Unmarshal(text, &e) != nil || e.Error.Message == "" {
		return c.foreign()
	}
	if status == http.StatusNotFound && !slices.Contains([]string{"unknown_limiter", "no_drain"}, e.Error.Code) { // the API of a provider, or the proxy's own address
		return c.foreign()
	}
	if status == http.StatusUnauthorized {
		if c.Token == "" {
			return errors.New("the token is missing: set HEADRACE_TOKEN to the dashboard's token, or give --token")
		}
		return errors.New("the token is wrong: set HEADRACE_TOKEN to the dashboard's token, or give --token")
	}
	return errors.New(e.Error.Message)
}

func (c *ctlCommand) foreign() error {
	return fmt.Errorf("the server at %s is not a headrace dashboard: set %s to the address of one", c.Addr, c.flag())
}

func (c *ctlCommand) flag() string { return cmp.Or(c.Flag, "--addr") }

// limiterCalled returns the name of a limiter: name itself, or else the only one that begins with it.
func limiterCalled(s *dashboard.Status, name string) (string, error) {
	var names, begin []string
	for _, l := range s.Limiters {
		names = append(names, l.Name)
		if l.Name == name {
			return name, nil
		}
		if strings.HasPrefix(l.Name, name) {
			begin = append(begin, l.Name)
		}
	}
	switch {
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		return "", fmt.Errorf("%s match %q: %s", plural(int64(len(begin)), "limiter"), name, strings.Join(begin, ", "))
	case s.More > 0:
		return name, nil // it may be one of those that are not listed
	case len(names) == 0:
		return "", fmt.Errorf("there is no limiter %q: a limiter exists from its first call on, and no call has been made yet", name)
	}
	return "", fmt.Errorf("there is no limiter %q%s there are %s", name, cmp.Or(meant(name, names), ";"), strings.Join(names, ", "))
}

// writeStatus writes a table of the limiters, and below it why calls wait or fail.
func writeStatus(to io.Writer, s *dashboard.Status) {
	if s.Draining {
		fmt.Fprintln(to, "draining: no new calls are accepted")
	}
	if s.Keys != nil {
		writeKeys(to, s.Keys)
		return
	}
	if len(s.Limiters) == 0 {
		fmt.Fprintln(to, "no calls yet: a limiter is listed from its first call on")
		return
	}
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMITER\tSTATE\tALLOWED\tADMITTED\tIN FLIGHT\tWAITING\tCALLS\t429s")
	for _, l := range s.Limiters {
		flying := strconv.Itoa(l.InFlight)
		if l.Cap > 0 {
			flying += "/" + strconv.Itoa(l.Cap)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n",
			oneLine(l.Name), l.State, allowed(&l), perSecond(l.PerSecond), flying, l.Waiting, l.Admitted, l.Hits)
	}
	_ = table.Flush() // a buffer
	if s.More > 0 {
		fmt.Fprintf(&b, "and %s\n", plural(int64(s.More), "more limiter"))
	}
	writeClients(&b, s.Clients)
	for _, l := range s.Limiters {
		if l.State != dashboard.Open || l.Note != "" {
			fmt.Fprintf(&b, "\n%s: %s", oneLine(l.Name), strings.TrimSpace(oneLine(l.Why)+" "+oneLine(l.Note)))
		}
	}
	_, _ = to.Write(bytes.TrimRight(b.Bytes(), "\n"))
	fmt.Fprintln(to)
}

// writeKeys writes the keys of a service with the most refused calls.
func writeKeys(to io.Writer, keys []dashboard.Key) {
	if len(keys) == 0 {
		fmt.Fprintln(to, "no call has been refused yet")
		return
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tREFUSED")
	for _, k := range keys {
		fmt.Fprintf(table, "%s\t%d\n", oneLine(k.Name), k.Refused)
	}
	_ = table.Flush() // a failed write is reported at the end
}

func writeClients(b *bytes.Buffer, clients []dashboard.Share) {
	if len(clients) == 0 {
		return
	}
	slices.SortStableFunc(clients, func(x, y dashboard.Share) int { return cmp.Compare(y.PerSecond, x.PerSecond) })
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nCLIENT\tADMITTED\tWAITING\tCALLS")
	for _, c := range clients {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", oneLine(c.Name), perSecond(c.PerSecond), c.Waiting, c.Admitted)
	}
	_ = table.Flush() // a buffer
}

// allowed is a short form of what a limiter allows.
func allowed(l *dashboard.Limiter) string {
	if l.Rate > 0 {
		return perSecond(l.Rate)
	}
	for _, unit := range slices.Sorted(maps.Keys(l.Learned)) {
		return strings.TrimSuffix(perSecond(l.Learned[unit]), "/s") + " " + unit + "/s"
	}
	return "-"
}

func perSecond(rate float64) string {
	if rate >= 1000 {
		return fmt.Sprintf("%.0f/s", rate)
	}
	return fmt.Sprintf("%.3g/s", rate)
}

// oneLine replaces line breaks, so that the rows of a table stay intact.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
