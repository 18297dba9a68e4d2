// Shared quota: four processes, one limit, and no coordinator.
//
// Each worker is a process of its own with a line of configuration that names a store
// and a limit. Workers are killed at random and replaced, as they are by a deployment
// or by the kernel when memory is short. The provider's ledger says what all of them
// have sent together: never more than the limit, and nothing was refused.
//
//	go run ./examples/sharedquota
//	go run ./examples/sharedquota -store redis://localhost:6379/0
//	go run ./examples/sharedquota -store group:/tmp/api.sock
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/headrace/headrace/providertest"
)

// settings are those of a run.
type settings struct {
	store   string // its address
	workers int
	kills   int
	rate    int // requests a second that the provider allows
	lasts   time.Duration
	seed    uint64
}

// burst is how many requests the workers may send at once. The provider allows as many as
// it allows in a second: requests that are admitted at different times may arrive together.
const burst = 10

// limits are what the provider documents. Each worker configures them.
func (s *settings) limits() string { return fmt.Sprintf("bucket %d/s burst %d", s.rate, burst) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if config := os.Getenv(workerEnv); config != "" {
		if err := work(ctx, config, os.Getenv(urlEnv), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1) //nolint:gocritic // the process ends, and stop with it
		}
		return
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sharedquota:", err)
		os.Exit(1)
	}
}

// run starts the provider and the workers, and prints what the provider saw.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	s := settings{}
	flags := flag.NewFlagSet("sharedquota", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.store, "store", "", "where the limit is shared: sqlite:PATH, redis://HOST:PORT/DB or group:PATH; a file in a temporary folder if it is empty")
	flags.IntVar(&s.workers, "workers", 4, "how many processes work at the same time")
	flags.IntVar(&s.kills, "kills", 8, "how many of them are killed")
	flags.IntVar(&s.rate, "rate", 50, "requests a second that the provider allows")
	flags.DurationVar(&s.lasts, "for", 8*time.Second, "how long they work")
	flags.Uint64Var(&s.seed, "seed", 1, "what the kills are drawn from")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.workers < 1 || s.kills < 0 || s.rate < 1 || s.lasts <= 0 {
		return errors.New("-workers, -rate and -for must be positive, and -kills must not be negative")
	}
	if s.store == "" {
		folder, err := os.MkdirTemp("", "sharedquota")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		s.store = "sqlite:" + filepath.Join(folder, "limits.db")
	}
	provider, err := providertest.New(providertest.Config{
		Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: float64(s.rate), Burst: s.rate}},
		Latency: providertest.LogNormal{Median: 50 * time.Millisecond, Sigma: 0.4}, Seed: s.seed,
	})
	if err != nil {
		return err
	}
	defer provider.Close()
	fmt.Fprintf(out, "%d workers share %s: %s\n", s.workers, s.place(), s.limits())
	began := time.Now()
	if err := s.supervise(ctx, provider.URL()); err != nil {
		return err
	}
	return judge(out, &s, provider.Ledger(), time.Since(began))
}

// place is the store without a password that its address may hold.
func (s *settings) place() string {
	scheme, _, _ := cut(s.store)
	return scheme
}
