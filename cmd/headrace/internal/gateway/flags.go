// Package gateway is the proxy of the command line: its flags, its addresses, the processes it shares limits with, and
// its summary.
package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/proxy"
)

// Flags are the flags that `headrace proxy` and `headrace exec` have in common.
type Flags struct {
	Upstream []string `group:"upstreams" sep:"none" placeholder:"NAME=URL" help:"Add an upstream, or replace a built-in one: /NAME/... is forwarded to URL. May be repeated."`
	Preset   []string `group:"upstreams" sep:"none" placeholder:"ID" help:"Start from the limits of this preset, such as openai/tier1 (see headrace presets). May be repeated, once for each provider. Without a preset, the limits are found."`
	Share    string   `group:"upstreams" placeholder:"ADDRESS" help:"Share the limits with other processes: group:PATH (one host) or group:https://HOST:PORT; with --preset also sqlite:PATH, redis://HOST:PORT/DB or service:https://HOST:PORT."`

	MaxQueue  int           `group:"waiting" default:"10000" placeholder:"N" help:"Maximum number of waiting requests for each upstream and key. Default: ${default}."`
	MaxWait   time.Duration `group:"waiting" default:"5m" placeholder:"TIME" help:"Maximum time a request may wait for limits in total, retries included. Default: ${default}."`
	MaxBody   string        `group:"waiting" default:"16MiB" placeholder:"SIZE" help:"Maximum size of a body that can be sent again after a 429. Default: ${default}."`
	Weight    []string      `group:"waiting" sep:"none" placeholder:"NAME=N" help:"Weight of a client, where the others have 1. May be repeated."`
	Heartbeat time.Duration `group:"waiting" placeholder:"TIME" help:"Send a comment this often to streams that wait, which commits the status 200. Default: never."`

	LogLevel  string `group:"display" default:"warn" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Log level on standard error: debug, info, warn or error. Default: ${default}."`
	LogFormat string `group:"display" default:"text" enum:"text,json" placeholder:"HOW" help:"Log format: text or json. Default: ${default}."`
}

type problems struct{ all []error }

func (p *problems) addf(flag, format string, args ...any) {
	p.all = append(p.all, &settings.Error{Flag: flag, Problem: fmt.Sprintf(format, args...)})
}

// Config returns the configuration of the flags. The error joins a *settings.Error for each problem.
func (f *Flags) Config() (proxy.Config, error) {
	var p problems
	c := proxy.Config{
		Upstreams: map[string]proxy.Upstream{}, Weights: map[string]float64{},
		MaxQueue: f.MaxQueue, MaxWait: f.MaxWait, MaxBody: f.size(&p), Heartbeat: f.Heartbeat,
	}
	if f.MaxQueue < 1 {
		p.addf("--max-queue", "%d is below 1", f.MaxQueue)
	}
	if f.MaxWait <= 0 {
		p.addf("--max-wait", "%v is not positive", f.MaxWait)
	}
	f.upstreams(&c, &p)
	f.presets(&c, &p)
	for _, one := range f.Weight {
		name, text, _ := strings.Cut(one, "=")
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil || name == "" {
			p.addf("--weight", "%q is not NAME=N, such as nightly=0.5", one)
		}
		if _, twice := c.Weights[name]; twice {
			p.addf("--weight", "%q is given twice", name)
		}
		c.Weights[name] = weight
	}
	if err := errors.Join(p.all...); err != nil {
		return c, err
	}
	_, err := proxy.New(c)
	return c, flagged(err)
}

func (f *Flags) size(p *problems) int64 {
	text, unit := strings.TrimSpace(f.MaxBody), int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(rest), bytes
		}
	}
	n, err := strconv.ParseInt(text, 10, 33)
	if err != nil || n < 1 {
		p.addf("--max-body", "%q is not a size, such as 16MiB", f.MaxBody)
	}
	return n * unit
}

func (f *Flags) upstreams(c *proxy.Config, p *problems) {
	for _, one := range f.Upstream {
		name, url, ok := strings.Cut(one, "=")
		if !ok || name == "" || url == "" {
			p.addf("--upstream", "one of them is not NAME=URL, such as local=http://127.0.0.1:9000") // it may hold a key
			continue
		}
		if _, twice := c.Upstreams[name]; twice {
			p.addf("--upstream", "%q is given twice", name)
		}
		c.Upstreams[name] = proxy.Upstream{URL: url}
	}
}

// presets assigns each preset to the upstreams of its provider.
func (f *Flags) presets(c *proxy.Config, p *problems) {
	given := map[string]string{}
	for _, id := range f.Preset {
		profile, err := presets.Lookup(id)
		if err != nil {
			p.addf("--preset", "%s", settings.Plain(err))
			continue
		}
		if other := given[profile.Provider]; other != "" {
			p.addf("--preset", "%s and %s belong to the same provider: use only one of them", other, id)
		}
		given[profile.Provider] = id
		if len(f.Preset) == 1 {
			c.Preset = presets.ID(id)
			continue
		}
		used := false
		for name, u := range All(c.Upstreams) {
			if at, err := url.Parse(u.URL); err == nil && providerOf(at) == profile.Provider {
				u.Preset, used = presets.ID(id), true
				c.Upstreams[name] = u
			}
		}
		if !used {
			p.addf("--preset", "%s: no upstream belongs to %s: add one with --upstream, or use this preset alone", id, profile.Provider)
		}
	}
}

// flagged converts an error of package proxy to one that names flags.
func flagged(err error) error {
	if err == nil {
		return nil
	}
	var p problems
	for _, field := range fields(err) {
		name, rest, _ := strings.Cut(field.Field, "[")
		flag := map[string]string{
			"Upstreams": "--upstream", "Preset": "--preset", "MaxQueue": "--max-queue", "MaxWait": "--max-wait",
			"MaxBody": "--max-body", "Weights": "--weight", "Heartbeat": "--heartbeat", "Token": "--token", "Hosts": "--host", "Origins": "--origin",
		}[name]
		if flag == "" {
			flag = name
		}
		at, _, _ := strings.Cut(rest, "]")
		if at != "" {
			at += ": "
		}
		p.addf(flag, "%s%s", at, field.Problem)
	}
	if len(p.all) == 0 {
		return err
	}
	return errors.Join(p.all...)
}

// fields returns the *fault.FieldErrors that err joins.
func fields(err error) (all []*fault.FieldError) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			all = append(all, fields(one)...)
		}
		return all
	}
	if field := (*fault.FieldError)(nil); errors.As(err, &field) {
		all = append(all, field)
	}
	return all
}
