// Demo shows the display of console: a flow calls a provider in the same process with
// hidden limits, and some of the calls fail.
//
//	go run ./console/examples/demo                   # redrawn in place
//	go run ./console/examples/demo 2>&1 | cat        # lines
//	go run ./console/examples/demo -progress json
//	go run ./console/examples/demo -log              # with a log above the display
//	go run ./console/examples/demo -html report.html # and a page with curves of the run
//
// Interrupt it to see it stop.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/console/htmlreport"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	var mode console.Mode
	flags.TextVar(&mode, "progress", console.Auto, "how to show it: auto, tty, plain, json or off")
	items := flags.Int("items", 600, "how `many` to ask for")
	withLog := flags.Bool("log", false, "print refusals above the display")
	page := flags.String("html", "", "write a report of the run to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	provider, err := providertest.New(hidden())
	if err != nil {
		return err
	}
	defer provider.Close()

	d, err := console.New(console.Config{Output: out, Mode: mode})
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if *withLog {
		log = slog.New(slog.NewTextHandler(d.Writer(), nil))
	}
	report, err := flow.Run(ctx, pipeline(provider, *items, log), &work{}, d.Watch(), flow.WithSeries())
	if failed, ok := errors.AsType[*node.BatchError](err); ok && failed.Counts.Pending == 0 {
		err = nil // that is meant
	}
	err = errors.Join(err, d.Close())
	if *page != "" {
		err = errors.Join(err, writePage(*page, report))
	}
	return err
}

// writePage writes the report also of a run that was stopped.
func writePage(path string, report *flow.Report) error {
	var b bytes.Buffer
	if err := htmlreport.Write(&b, "demo", report); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// hidden is what the provider allows and does not say.
func hidden() providertest.Config {
	return providertest.Config{
		Limits: providertest.Limits{
			Concurrency: 8,
			Rate:        providertest.Bucket{PerSecond: 60, Burst: 10},
		},
		RetryAfter:     providertest.RetryAfterMillis,
		Latency:        providertest.LogNormal{Median: 100 * time.Millisecond, Sigma: 0.4, Max: time.Second},
		RefusalLatency: 10 * time.Millisecond,
		Seed:           1,
		Fault: func(r providertest.Request) *providertest.Fault {
			if strings.HasSuffix(r.Key, "77") {
				return &providertest.Fault{Status: http.StatusInternalServerError}
			}
			return nil
		},
	}
}

type work struct{ questions, answers []string }

// pipeline is read, ask, and write.
func pipeline(provider *providertest.Server, items int, log *slog.Logger) *flow.Flow[*work] {
	read := node.Do("read", func(_ context.Context, w *work) error {
		for i := range items {
			w.questions = append(w.questions, fmt.Sprintf("question %d", i))
		}
		return nil
	})
	ask := node.Each("ask",
		func(w *work) []string { return w.questions },
		func(ctx context.Context, question string) (string, error) {
			answer, err := ask(ctx, provider, question)
			if err != nil {
				log.WarnContext(ctx, "no answer", "question", question, "err", err)
			}
			return answer, err
		},
		func(w *work, answers []string) { w.answers = answers }).
		WithParallel(16).
		WithRetry(retry.Policy{MaxAttempts: 2})
	write := node.Do("write", func(context.Context, *work) error { return nil })
	return flow.New("demo", read).Then(ask).Then(write)
}

// refusal is an answer that is not 200, as the default detector reads it.
type refusal struct {
	StatusCode int
	Response   *http.Response
}

func (r *refusal) Error() string { return "the provider said " + r.Response.Status }

func ask(ctx context.Context, provider *providertest.Server, question string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": "demo", "messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider.URL()+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", question)
	res, err := provider.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &refusal{StatusCode: res.StatusCode, Response: res}
	}
	return string(answer), err
}
