// Anthropic asks 200 questions by the official Anthropic SDK, as fast as a
// provider lets it that does not tell its limits. There is no node and no flow: the
// SDK's http.Client gets a headrace.Transport, and that is all.
//
//	cd examples/anthropic
//	go run .                 # a provider in this process, about 20 s
//	go run . -stream -faults # streamed, by a provider that has a bad day
//	go run . -rpm 120        # a tight limit, nearly two minutes
//	go run . --real          # the real service, with ANTHROPIC_API_KEY
//
// At the end the provider's own ledger tells what it saw. If a call failed, or
// was lost or done twice, the exit status is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "anthropic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	p := &program{settings: s, limiters: registry.Default(), out: out, progress: progress}
	if s.real {
		key := getenv("ANTHROPIC_API_KEY")
		if key == "" {
			return errors.New("--real needs ANTHROPIC_API_KEY to be set; without --real a provider in this process answers")
		}
		return p.work(ctx, newClient(headrace.Transport(nil, presets.AnthropicStart), option.WithAPIKey(key)))
	}
	if p.provider, err = providertest.New(hidden(s)); err != nil {
		return err
	}
	defer p.provider.Close()
	base := p.provider.Client().Transport
	return p.work(ctx, newClient(headrace.Transport(base, presets.AnthropicStart), local(p.provider.URL())...))
}

// newClient is what a program needs to know of headrace: where the SDK's
// http.Client sends by, and that nobody else retries. The client has no Timeout, for
// a call's wait for its turn would count. For the same reason the SDK is told to be
// patient: it gives an answer that is not streamed ten minutes.
func newClient(transport http.RoundTripper, opts ...option.RequestOption) anthropic.Client {
	return anthropic.NewClient(append(opts,
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(time.Hour),
	)...)
}

// local goes to a provider for tests. It has no use for the key and the profile
// that the environment may hold.
func local(url string) []option.RequestOption {
	return []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey("none")}
}

// settings are the flags.
type settings struct {
	calls, parallel      int
	stream, faults, real bool
	model                string
	rpm, itpm, otpm      int
}

func parse(args []string, usage io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("anthropic", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.calls, "calls", 200, "how many `calls` to make")
	flags.IntVar(&s.parallel, "parallel", 32, "how many `goroutines` make them; the limiter decides how many calls are in flight")
	flags.BoolVar(&s.stream, "stream", false, "have the answers streamed")
	flags.StringVar(&s.model, "model", anthropic.ModelClaudeHaiku4_5, "the `model` to ask")
	flags.IntVar(&s.rpm, "rpm", 600, "what the provider allows and does not say, in `requests` a minute")
	flags.IntVar(&s.itpm, "itpm", 60_000, "the same in `tokens` of questions a minute")
	flags.IntVar(&s.otpm, "otpm", 60_000, "the same in `tokens` of answers a minute")
	flags.BoolVar(&s.faults, "faults", false, "the provider is overloaded at times, fails, and breaks off answers")
	flags.BoolVar(&s.real, "real", false, "call the real service with ANTHROPIC_API_KEY, which costs money;\n-rpm, -itpm, -otpm and -faults mean nothing then")
	flags.Usage = func() {
		fmt.Fprintln(usage, `Usage: anthropic [flags]

Asks questions by the official Anthropic SDK through headrace.Transport. Nobody
tells the limiter what the provider allows: it starts with what Anthropic grants
to the Start tier and finds the rest. The figures go to standard output, the progress to
standard error.

  anthropic                  about 20 s, with a few refusals that no caller sees
  anthropic -rpm 120         nearly two minutes, to see how many are refused after the first
  anthropic -stream -faults  what else can go wrong

Flags:`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.calls < 1 || s.parallel < 1 || s.rpm < 1 || s.itpm < 1 || s.otpm < 1 {
		return s, errors.New("-calls, -parallel, -rpm, -itpm and -otpm must be at least 1")
	}
	return s, nil
}
