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
	Addr string `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Where to listen; port 0 is any that is free. Default: ${default}."`

	Limit         []string      `group:"allowed" sep:"none" placeholder:"TEXT" help:"What is allowed, such as \"50/s\", \"200k tokens/min\" or \"8 concurrent\". May be repeated. Default: everything."`
	Hidden        string        `group:"allowed" placeholder:"LOW-HIGH" help:"Draw the limit at random, from so many to so many requests a second."`
	Move          time.Duration `group:"allowed" placeholder:"TIME" help:"Draw another one so often, from the first request on. Default: never."`
	RefusalsCount bool          `group:"allowed" help:"Have refused requests spend the limit too, as some providers do."`

	Dialect    string `group:"spoken" default:"route" enum:"route,openai,azure,anthropic,gemini,mistral,groq,ietf,generic" placeholder:"NAME" help:"How refusals are worded: route, openai, azure, anthropic, gemini, mistral, groq, ietf or generic. Default: by the route."`
	RetryAfter string `group:"spoken" default:"none" enum:"none,seconds,millis" placeholder:"HOW" help:"What a refusal says about waiting: none, seconds or millis. Default: ${default}."`
	Headers    bool   `group:"spoken" help:"Tell the limits in the headers of answers."`
	NeedKey    string `group:"spoken" placeholder:"KEY" help:"Answer 401 to other keys."`

	Latency time.Duration `group:"slow" default:"200ms" placeholder:"TIME" help:"How long an answer takes; half of them take less. Default: ${default}."`
	Spread  float64       `group:"slow" default:"0.3" placeholder:"SIGMA" help:"How much that differs: sigma of a log-normal. Default: ${default}."`
	Faults  float64       `group:"slow" placeholder:"SHARE" help:"The share of requests that end in an error 500, such as 0.02."`
	Full    float64       `group:"slow" placeholder:"SHARE" help:"The share that hears of an overloaded provider: 503, of Anthropic 529."`
	Cut     float64       `group:"slow" placeholder:"SHARE" help:"The share whose connection is cut before the answer."`
	Hang    float64       `group:"slow" placeholder:"SHARE" help:"The share whose answer stops in the middle and never ends."`
	Seed    uint64        `group:"slow" default:"1" placeholder:"N" help:"What is drawn at random is drawn from it. Default: ${default}."`

	WithStdin bool `hidden:"" help:"End when standard input does, and with nothing else."`
}

// Help is what --help says behind the list of flags.
func (*providerCommand) Help() string {
	return `It speaks OpenAI's chat completions and embeddings and Anthropic's messages, and answers with the first words of the prompt. A limit is a bucket that holds what is allowed at once. GET /_ledger tells what it saw, and what it would have let through; PUT /_limits sets other limits while it runs.

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
		return &run.UsageError{Err: err}
	}
	defer server.Close()
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("%w: give another --addr, such as 127.0.0.1:0 for a free port", err)}
	}
	h := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: time.Minute}
	fmt.Fprintf(p.Stdout, listening+"\n", listener.Addr())
	if c.WithStdin { // an interrupt is for both, and what is in flight may finish
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

// listening is the first line that the provider says.
const listening = "a provider for tests listens, use --base-url http://%s/v1"

// tell is the last that the provider says.
func tell(to io.Writer, l provider.Ledger) {
	fmt.Fprintf(to, "%d requests: %d served, %d refused (429), %d faults, %d malformed, %d aborted\n",
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
			return config, &settings.Error{Flag: "--hidden", Problem: "--limit has a limit of requests already: give one of them"}
		}
	}
	switch {
	case c.Move < 0:
		return config, &settings.Error{Flag: "--move", Problem: fmt.Sprintf("%v is negative", c.Move)}
	case c.Move > 0 && c.Hidden == "":
		return config, &settings.Error{Flag: "--move", Problem: "there is nothing to draw from: give --hidden"}
	}
	faults := provider.Faults{Error: c.Faults, Full: c.Full, Cut: c.Cut, Hang: c.Hang, Key: c.NeedKey}
	if err := faults.Validate(); err != nil {
		return config, err
	}
	config.Fault = faults.Draw(c.Seed)
	return config, nil
}
