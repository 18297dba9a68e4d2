package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

type providerCommand struct {
	Addr       string        `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Where to listen. Default: ${default}."`
	Limit      []string      `sep:"none" placeholder:"TEXT" help:"What is allowed, such as \"50/s\", \"500/min\" or \"8 concurrent\". May be repeated."`
	Dialect    string        `default:"route" enum:"route,openai,azure,anthropic,gemini,mistral,groq,ietf,generic" placeholder:"NAME" help:"How refusals are worded: route, openai, azure, anthropic, gemini, mistral, groq, ietf or generic. Default: by the route."`
	RetryAfter string        `default:"none" enum:"none,seconds,millis" placeholder:"HOW" help:"What a refusal says about waiting: none, seconds or millis. Default: ${default}."`
	Headers    bool          `help:"Tell the limits in the headers of answers."`
	Latency    time.Duration `default:"200ms" placeholder:"TIME" help:"How long an answer takes, in the middle. Default: ${default}."`
	Spread     float64       `default:"0.3" placeholder:"SIGMA" help:"How much latencies differ (sigma of a log-normal). Default: ${default}."`
	Faults     float64       `placeholder:"SHARE" help:"The share of requests that fail with 500, such as 0.02."`
	Seed       uint64        `default:"1" placeholder:"N" help:"What is drawn at random is drawn from it. Default: ${default}."`
	NeedKey    string        `name:"need-key" placeholder:"KEY" help:"Answer 401 to other keys."`
}

// Help is what --help says behind the list of flags.
func (*providerCommand) Help() string {
	return `It speaks OpenAI's chat completions and embeddings and Anthropic's messages. What it saw is at /ledger.

Examples:
  headrace provider --limit 50/s --faults 0.02
  headrace run requests.jsonl --base-url http://127.0.0.1:8080/v1
  curl http://127.0.0.1:8080/ledger`
}

// Run is called by kong.
func (c *providerCommand) Run(ctx context.Context, p *Program) error {
	config, err := c.config()
	if err != nil {
		return &run.UsageError{Err: err}
	}
	server, err := providertest.New(config)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	defer server.Close()
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(server.Counts())
	})
	mux.Handle("/", server.Handler())
	h := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	fmt.Fprintf(p.Stdout, "listening on http://%s (base URL http://%s/v1)\n", listener.Addr(), listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	fmt.Fprintf(p.Stdout, "%+v\n", server.Counts())
	return nil
}

func (c *providerCommand) config() (providertest.Config, error) {
	config := providertest.Config{
		Headers: c.Headers, Seed: c.Seed, Latency: providertest.LogNormal{Median: c.Latency, Sigma: c.Spread},
		Dialect: map[string]providertest.Dialect{
			"openai": providertest.OpenAI, "azure": providertest.Azure, "anthropic": providertest.Anthropic, "gemini": providertest.Gemini,
			"mistral": providertest.Mistral, "groq": providertest.Groq, "ietf": providertest.IETF, "generic": providertest.Generic,
		}[c.Dialect],
		RetryAfter: map[string]providertest.RetryAfter{"seconds": providertest.RetryAfterSeconds, "millis": providertest.RetryAfterMillis}[c.RetryAfter],
	}
	if c.Faults < 0 || c.Faults > 1 {
		return config, &settings.Error{Flag: "--faults", Problem: fmt.Sprintf("%g is no share: 0 to 1", c.Faults)}
	}
	for _, text := range c.Limit {
		l, err := throttle.ParseLimits(text)
		if err != nil {
			return config, &settings.Error{Flag: "--limit", Problem: err.Error()}
		}
		if err := allow(&config.Limits, l); err != nil {
			return config, err
		}
	}
	config.Fault = c.fault()
	return config, nil
}

// allow adds limits as the provider knows them: one bucket for each unit.
func allow(to *providertest.Limits, l throttle.Limits) error {
	if l.Concurrency > 0 {
		to.Concurrency = l.Concurrency
	}
	for _, w := range l.Windows {
		bucket := providertest.TokenBucket{Max: int(w.Max()), Per: time.Duration(float64(w.Max()) / w.Rate() * float64(time.Second)).Round(time.Microsecond)}
		switch w.Unit() {
		case throttle.Requests:
			to.Rate = bucket
		case throttle.Tokens:
			to.Tokens = bucket
		case throttle.InputTokens:
			to.InputTokens = bucket
		case throttle.OutputTokens:
			to.OutputTokens = bucket
		default:
			return &settings.Error{Flag: "--limit", Problem: w.String() + " counts what the provider does not"}
		}
	}
	return nil
}

// fault is what goes wrong, drawn at random.
func (c *providerCommand) fault() func(providertest.Request) *providertest.Fault {
	if c.Faults == 0 && c.NeedKey == "" {
		return nil
	}
	var mu sync.Mutex                        // guards draw
	draw := rand.New(rand.NewPCG(c.Seed, 0)) //nolint:gosec // nothing secret is drawn
	return func(r providertest.Request) *providertest.Fault {
		if c.NeedKey != "" && r.Header.Get("Authorization") != "Bearer "+c.NeedKey && r.Header.Get("X-Api-Key") != c.NeedKey {
			return &providertest.Fault{Status: http.StatusUnauthorized}
		}
		mu.Lock()
		defer mu.Unlock()
		if draw.Float64() < c.Faults {
			return &providertest.Fault{Status: http.StatusInternalServerError}
		}
		return nil
	}
}
