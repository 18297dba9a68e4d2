// Temporal: a flow over three workers, one of which is killed every 20 seconds.
//
// The provider allows 50 requests a second, does not say so, and halves that on the way. One learner
// admits the calls of all workers, and the rate of the task queue follows what it learns. In the end the provider's
// ledger judges: no text is lost, each has one answer, and the limit was used.
//
//	go run ./examples/temporal
//	go run ./examples/temporal -texts 500 -kill 5s
//
// The first run builds a Temporal server, which takes some minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/temporalserver"
	"github.com/headrace/headrace/providertest"
)

// settings are those of a run.
type settings struct {
	texts    int
	workers  int
	parallel int
	kill     time.Duration // how often one is killed; 0: never
	rate     float64       // requests a second that the provider allows at first
	replays  int           // histories that are replayed in the end, at least
	verbose  bool
}

// burst is how many requests the provider takes at once.
const burst = 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if config := os.Getenv(workerEnv); config != "" {
		if err := work(ctx, config, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1) //nolint:gocritic // the process ends, and stop with it
		}
		return
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("temporal", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.texts, "texts", 5000, "how many items there are, of 2 KB each")
	flags.IntVar(&s.workers, "workers", 3, "how many processes work at the same time")
	flags.IntVar(&s.parallel, "parallel", 200, "items that may be worked on at a time")
	flags.DurationVar(&s.kill, "kill", 20*time.Second, "how often one of them is killed; 0 for never")
	flags.Float64Var(&s.rate, "rate", 50, "requests a second that the provider allows; half of it after half of the texts")
	flags.IntVar(&s.replays, "replays", 100, "how many recorded histories are replayed in the end; short runs make up for those that one run lacks")
	flags.BoolVar(&s.verbose, "v", false, "print every five seconds how far it is")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if s.texts < 1 || s.workers < 1 || s.parallel < 1 || s.kill < 0 || s.rate <= 0 {
		return nil, errors.New("-texts, -workers, -parallel and -rate must be positive, and -kill must not be negative")
	}
	return s, nil
}

// run starts what the run needs, waits for it, and judges.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	server, err := temporalserver.Start(ctx, out)
	if err != nil {
		return err
	}
	defer server.Stop()
	folder, err := os.MkdirTemp("", "temporal")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	provider, err := providertest.New(providertest.Config{
		Limits: s.limits(1), RetryAfter: providertest.RetryAfterSeconds, // a 429 says when to come back, and not what is allowed
		Latency: providertest.LogNormal{Median: 150 * time.Millisecond, Sigma: 0.4}, Seed: 1,
		Reply: func(r providertest.Request) string { return answerOf(r.Messages[0].Content) },
	})
	if err != nil {
		return err
	}
	defer provider.Close()
	learner, address, end, err := learn(ctx)
	if err != nil {
		return err
	}
	defer end()

	p := &place{server.Address, server.Namespace, filepath.Join(folder, "store"), address, provider.URL(), s.parallel}
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(out, "%d texts, %d workers, a hidden limit of %g/s that halves on the way\n", s.texts, s.workers, s.rate)

	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	seen := &watch{client: c, place: p, provider: provider, settings: s, out: out, handler: learner}
	killed := make(chan error, 1)
	wg.Go(func() { killed <- s.supervise(watching, p) })
	wg.Go(func() { seen.run(watching) })

	began := time.Now()
	final, err := temporal.Run(ctx, c, archive(&asker{}, nil, s.parallel), &Archive{Count: s.texts}, p.options())
	took, ledger := time.Since(began), provider.Ledger()
	if err == nil {
		err = s.runShort(ctx, c, p)
	}
	stop()
	if err := errors.Join(err, <-killed); err != nil {
		return err
	}
	return s.judge(ctx, out, final, ledger, seen, began, took)
}

// runShort makes as many short runs as it takes to have histories to replay.
func (s *settings) runShort(ctx context.Context, c client.Client, p *place) error {
	const (
		each   = 3 // histories of a run: the flow, its batch, and a page
		atOnce = 8
	)
	var (
		wg   sync.WaitGroup
		errs [atOnce]error
	)
	for i := range atOnce {
		wg.Go(func() {
			for texts := i + 1; texts <= s.replays/each && errs[i] == nil; texts += atOnce {
				short, err := temporal.Run(ctx, c, archive(&asker{}, nil, s.parallel), &Archive{Count: 1 + texts%atOnce}, p.options())
				if err == nil && len(short.Answers) != short.Count {
					err = errors.New("a short run has lost answers")
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// limits are what the provider allows; part is 1, or 0.5 from the middle on.
func (s *settings) limits(part float64) providertest.Limits {
	return providertest.Limits{Rate: providertest.Bucket{PerSecond: s.rate * part, Burst: burst}}
}

// learn serves the learner of all workers, as headrace serve does.
func learn(ctx context.Context) (h *group.Handler, address string, end func(), err error) {
	h, err = group.NewHandler(group.HandlerConfig{})
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		h.Close()
		return nil, "", nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(group.Path, h)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	return h, "http://" + listener.Addr().String(), func() {
		h.Close()
		_ = server.Close()
		wg.Wait()
	}, nil
}
