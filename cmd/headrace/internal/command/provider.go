package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/providertest"
)

type providerCommand struct {
	Addr string `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to listen on; port 0 picks a free port. Default: ${default}."`

	Limit         []string      `group:"allowed" sep:"none" placeholder:"TEXT" help:"A limit, such as \"50/s\", \"200k tokens/min\" or \"8 concurrent\". May be repeated. Default: no limit."`
	Hidden        string        `group:"allowed" placeholder:"LOW-HIGH" help:"Pick a random limit from this range, in requests per second."`
	Move          time.Duration `group:"allowed" placeholder:"TIME" help:"Pick another one this often, counted from the first request. Default: never."`
	RefusalsCount bool          `group:"allowed" help:"Count rejected requests against the limit too, as some providers do."`

	Dialect    string `group:"spoken" default:"route" enum:"route,openai,azure,anthropic,gemini,mistral,groq,ietf,generic" placeholder:"NAME" help:"Format of 429 responses: route, openai, azure, anthropic, gemini, mistral, groq, ietf or generic. Default: that of the route."`
	RetryAfter string `group:"spoken" default:"none" enum:"none,seconds,millis" placeholder:"HOW" help:"Retry-After header of 429 responses: none, seconds or millis. Default: ${default}."`
	Headers    bool   `group:"spoken" help:"Send rate limit headers."`
	NeedKey    string `group:"spoken" placeholder:"KEY" help:"Respond with 401 to any other key."`

	Latency time.Duration `group:"slow" default:"200ms" placeholder:"TIME" help:"Median response time. Default: ${default}."`
	Spread  float64       `group:"slow" default:"0.3" placeholder:"SIGMA" help:"Spread of the response time: sigma of a log-normal distribution. Default: ${default}."`
	Faults  float64       `group:"slow" placeholder:"SHARE" help:"Fraction of requests that fail with status 500, such as 0.02."`
	Full    float64       `group:"slow" placeholder:"SHARE" help:"Fraction that is answered with an overload error: 503, or 529 on Anthropic's routes."`
	Cut     float64       `group:"slow" placeholder:"SHARE" help:"Fraction for which the connection is closed before the response."`
	Hang    float64       `group:"slow" placeholder:"SHARE" help:"Fraction for which the response stops in the middle and never ends."`
	Seed    uint64        `group:"slow" default:"1" placeholder:"N" help:"Seed of everything random. Default: ${default}."`

	WithStdin bool `hidden:"" help:"Exit only when standard input is closed."`
}

// Help is printed by --help after the list of flags.
func (*providerCommand) Help() string {
	return `Implements OpenAI's chat completions and embeddings and Anthropic's messages, and answers with the first words of the prompt. A limit is a token bucket: it holds what may be sent at once. GET /_ledger returns what the provider received, and what it would have admitted; PUT /_limits changes the limits while it runs.

Examples:
  headrace provider --limit 50/s --faults 0.02
  headrace provider --hidden 30-70 --move 10s
  headrace provider --limit "500/min, 8 concurrent" --headers
  headrace run requests.jsonl --base-url http://127.0.0.1:8080/v1
  curl http://127.0.0.1:8080/_ledger
  curl -X PUT -d 20/s http://127.0.0.1:8080/_limits`
}

// Run is called by kong.
func (c *providerCommand) Run(ctx context.Context, p *Program) error {
	config, err := c.config()
	if err != nil {
		return &run.UsageError{Err: err}
	}
	server, err := provider.New(config)
	if err != nil {
		return &run.UsageError{Err: errors.New(ofFlags(err))}
	}
	defer server.Close()
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("%w: use another --addr, such as 127.0.0.1:0 for a free port", err)}
	}
	h := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: time.Minute}
	fmt.Fprintf(p.Stdout, listening+"\n", listener.Addr())
	if c.WithStdin { // an interrupt reaches both processes, and calls in flight may finish
		var end context.CancelFunc
		ctx, end = context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			_, _ = io.Copy(io.Discard, p.Stdin)
			end()
		}()
	}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if !c.WithStdin {
		tell(p.Stdout, server.Reveal(0))
	}
	return nil
}

// ofFlags returns the text of an error of a configuration, with the names of the flags.
func ofFlags(err error) string {
	return strings.NewReplacer(
		"providertest: Latency.Median:", "--latency:", "providertest: Latency.Sigma:", "--spread:",
	).Replace(err.Error())
}

// listening is the first line that the provider prints.
const listening = "test provider is listening: use --base-url http://%s/v1"

// tell prints the provider's summary at its end.
func tell(to io.Writer, l provider.Ledger) {
	fmt.Fprintf(to, "%d requests: %d served, %d rate-limited (429), %d faults, %d malformed, %d aborted\n",
		l.Arrivals, l.Served, l.Refused, l.Faulted, l.Invalid, l.Aborted)
	if l.Possible > 0 {
		fmt.Fprintf(to, "%.0f were possible in %.1f s\n", l.Possible, l.Seconds)
	}
}

func (c *providerCommand) config() (provider.Config, error) {
	config := provider.Config{Text: strings.Join(c.Limit, ", "), Move: c.Move, Config: providertest.Config{
		Headers: c.Headers, Seed: c.Seed, RefusalsCount: c.RefusalsCount, Latency: providertest.LogNormal{Median: c.Latency, Sigma: c.Spread},
		Dialect: map[string]providertest.Dialect{
			"openai": providertest.OpenAI, "azure": providertest.Azure, "anthropic": providertest.Anthropic, "gemini": providertest.Gemini,
			"mistral": providertest.Mistral, "groq": providertest.Groq, "ietf": providertest.IETF, "generic": providertest.Generic,
		}[c.Dialect],
		RetryAfter: map[string]providertest.RetryAfter{"seconds": providertest.RetryAfterSeconds, "millis": providertest.RetryAfterMillis}[c.RetryAfter],
	}}
	var err error
	if config.Limits, err = provider.Limits(c.Limit); err != nil {
		return config, &settings.Error{Flag: "--limit", Problem: settings.Plain(err)}
	}
	if c.Hidden != "" {
		if config.Hidden, err = provider.ParseRange(c.Hidden); err != nil {
			return config, &settings.Error{Flag: "--hidden", Problem: err.Error()}
		}
		if config.Limits.Rate.PerSecond > 0 {
			return config, &settings.Error{Flag: "--hidden", Problem: "--limit already limits requests: use only one of them"}
		}
	}
	switch {
	case c.Move < 0:
		return config, &settings.Error{Flag: "--move", Problem: fmt.Sprintf("%v is negative", c.Move)}
	case c.Move > 0 && c.Hidden == "":
		return config, &settings.Error{Flag: "--move", Problem: "--hidden is missing: it gives the range of the limits"}
	}
	faults := provider.Faults{Error: c.Faults, Full: c.Full, Cut: c.Cut, Hang: c.Hang, Key: c.NeedKey}
	if err := faults.Validate(); err != nil {
		return config, err
	}
	config.Fault = faults.Draw(c.Seed)
	return config, nil
}
