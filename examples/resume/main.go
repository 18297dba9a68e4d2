// Resume has a provider summarise a file of texts. It may be stopped or killed
// at any time: started again, it goes on where it was and pays for no text twice.
//
//	go run ./examples/resume                   # the story, in a second
//	go run ./examples/resume -in texts.jsonl   # your texts: stop it by Ctrl-C or kill -9, and start it again
//	go run ./examples/resume --help
//
// Four settings of a node achieve this: WithJournal, WithKey, WithVersion
// and WithSink; see work.go.
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

	"github.com/headrace/headrace/providertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "resume: stopped; the same command goes on from here")
	default:
		fmt.Fprintln(os.Stderr, "resume:", err)
	}
	os.Exit(1)
}

// settings are the flags.
type settings struct {
	in, out, journal string
	run, url, model  string
	parallel         int
	retryFailed      bool
}

func parse(args []string, usage io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("resume", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.in, "in", "", "the texts: a `file` with a line {\"id\":\"...\",\"text\":\"...\"} for each")
	flags.StringVar(&s.out, "out", "results.jsonl", "where the results go, a line for each text: a `file`")
	flags.StringVar(&s.journal, "journal", "journal.db", "what has come of each text so far: a SQLite `file`")
	flags.StringVar(&s.run, "run", "default", "the `name` under which to go on; another one begins anew, with an -out of its own")
	flags.StringVar(&s.url, "url", "", "the `provider`, such as https://api.openai.com, with API_KEY from the environment, which costs\nmoney; default one in this process")
	flags.StringVar(&s.model, "model", "gpt-4o-mini", "the `model` to ask; results of two models never mix in one run")
	flags.IntVar(&s.parallel, "parallel", 8, "how many `calls` to have in flight")
	flags.BoolVar(&s.retryFailed, "retry-failed", false, "try texts again that failed in an earlier run")
	flags.Usage = func() {
		fmt.Fprintln(usage, `Usage: resume [flags]

Summarises texts, and goes on where an earlier process was stopped or killed.
Without -in it shows that with texts and a provider of its own.

  resume -in texts.jsonl          Ctrl-C lets running calls finish, for 10 s at most
  resume -in texts.jsonl          goes on; what has been paid for is not asked again
  kill -9                         at any time: only calls in flight are made again
  resume -in texts.jsonl -retry-failed

A text is known by its id. The input may grow, or come in another order. Each
result is in the journal before anybody sees it, and in -out once. Another
-model is refused: go on under another -run.

Flags:`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("%q is no flag: the texts go behind -in", flags.Arg(0))
	case s.parallel < 1:
		return s, errors.New("-parallel must be at least 1")
	case s.in == "" && flags.NFlag() > 0:
		return s, errors.New("-in is missing: without flags the program has texts of its own")
	}
	return s, nil
}

func run(ctx context.Context, args []string, getenv func(string) string, out, usage io.Writer) error {
	s, err := parse(args, usage)
	if err != nil {
		return err
	}
	if s.in != "" && s.url != "" {
		return finish(ctx, s, &client{http: http.DefaultClient, base: s.url, key: getenv("API_KEY"), model: s.model}, out)
	}
	provider, err := providertest.New(calm())
	if err != nil {
		return err
	}
	defer provider.Close()
	c := &client{http: provider.Client(), base: provider.URL(), model: s.model}
	if s.in != "" {
		return finish(ctx, s, c, out)
	}
	return show(ctx, s, c, provider, out)
}

// calm is a provider without limits.
func calm() providertest.Config {
	return providertest.Config{Latency: providertest.Uniform{Min: 10 * time.Millisecond, Max: 30 * time.Millisecond}, Seed: 1}
}

// finish is the program without its story.
func finish(ctx context.Context, s settings, c *client, out io.Writer) error {
	w := newWork(s, c)
	err := w.do(ctx)
	n := w.counts
	fmt.Fprintf(out, "%d texts: %d done now, %d before, %d failed, %d left\n", n.Total, n.Done, n.Resumed, n.Failed, n.Pending)
	if w.leftover > 0 {
		fmt.Fprintf(out, "%d texts of earlier processes are not in %s any more\n", w.leftover, s.in)
	}
	return err
}
