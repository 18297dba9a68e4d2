// Openai asks 200 questions by the official OpenAI SDK, as fast as a provider
// lets it that does not tell its limits. There is no node and no flow: the SDK's
// http.Client gets a headrace.Transport, and that is all.
//
//	cd examples/openai
//	go run .                 # a provider in this process, half a minute
//	go run . -stream -faults # streamed, by a provider that has a bad day
//	go run . -rpm 100        # a tight limit, a little over two minutes
//	go run . --real          # the real service, with OPENAI_API_KEY
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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "openai:", err)
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
		key := getenv("OPENAI_API_KEY")
		if key == "" {
			return errors.New("--real needs OPENAI_API_KEY to be set; without --real a provider in this process answers")
		}
		return p.work(ctx, newClient(headrace.Transport(nil, presets.OpenAITier1), option.WithAPIKey(key)))
	}
	if p.provider, err = providertest.New(hidden(s)); err != nil {
		return err
	}
	defer p.provider.Close()
	base := p.provider.Client().Transport
	return p.work(ctx, newClient(headrace.Transport(base, presets.OpenAITier1), local(p.provider.URL())...))
}

// newClient is what a program needs to know of headrace: where the SDK's
// http.Client sends by, and that nobody else retries. The client has no Timeout, for
// a call's wait for its turn would count.
func newClient(transport http.RoundTripper, opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append(opts,
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
	)...)
}

// local goes to a provider for tests. It has no use for the key that the environment may hold.
func local(url string) []option.RequestOption {
	return []option.RequestOption{option.WithBaseURL(url + "/v1"), option.WithAPIKey("none")}
}

// settings are the flags.
type settings struct {
	calls, parallel                  int
	stream, embeddings, faults, real bool
	model                            string
	rpm, tpm                         int
}

func parse(args []string, usage io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("openai", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.calls, "calls", 200, "how many `calls` to make")
	flags.IntVar(&s.parallel, "parallel", 32, "how many `goroutines` make them; the limiter decides how many calls are in flight")
	flags.BoolVar(&s.stream, "stream", false, "have the answers streamed")
	flags.BoolVar(&s.embeddings, "embeddings", false, "ask for embeddings in place of chats")
	flags.StringVar(&s.model, "model", "", "the `model`; default gpt-5.6-luna, or text-embedding-3-small")
	flags.IntVar(&s.rpm, "rpm", 420, "what the provider allows and does not say, in `requests` a minute")
	flags.IntVar(&s.tpm, "tpm", 60_000, "the same in `tokens` a minute")
	flags.BoolVar(&s.faults, "faults", false, "the provider is overloaded at times, fails, and breaks off answers")
	flags.BoolVar(&s.real, "real", false, "call the real service with OPENAI_API_KEY, which costs money;\n-rpm, -tpm and -faults mean nothing then")
	flags.Usage = func() {
		fmt.Fprintln(usage, `Usage: openai [flags]

Asks questions by the official OpenAI SDK through headrace.Transport. Nobody
tells the limiter what the provider allows: it starts with what OpenAI grants to
tier 1 and finds the rest. The figures go to standard output, the progress to
standard error.

  openai                  half a minute, with a few refusals that no caller sees
  openai -rpm 100         a little over two minutes, to see how many are refused after the first
  openai -stream -faults  what else can go wrong

Flags:`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.calls < 1 || s.parallel < 1 || s.rpm < 1 || s.tpm < 1:
		return s, errors.New("-calls, -parallel, -rpm and -tpm must be at least 1")
	case s.stream && s.embeddings:
		return s, errors.New("-stream and -embeddings exclude each other: embeddings are not streamed")
	case s.model == "" && s.embeddings:
		s.model = openai.EmbeddingModelTextEmbedding3Small
	case s.model == "":
		s.model = openai.ChatModelGPT5_6Luna
	}
	return s, nil
}
