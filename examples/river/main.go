// Jobs on River: three worker processes, one hidden limit, and a kill -9 every 20 seconds.
//
// The program starts what it needs: PostgreSQL, a provider with a hidden limit that halves
// during the run, and three workers. The workers find the limit out together, as members of a
// group. At the end the provider's ledger is compared with the results in the database.
// Only PostgreSQL has to be installed (on Debian: apt-get install postgresql).
//
//	go run ./examples/river
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// settings are those of a run.
type settings struct {
	jobs    int
	workers int
	rate    int           // requests a second that the provider allows at first
	halves  time.Duration // when it halves
	kill    time.Duration // the time between two kills; 0: none
	warm    time.Duration // what is not judged
	seed    uint64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if place := os.Getenv(workerEnv); place != "" {
		if err := work(ctx, place, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1) //nolint:gocritic // the process ends, and stop with it
		}
		return
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

// run starts everything, and prints what the provider and the database have.
func run(ctx context.Context, args []string, out io.Writer) error {
	s := settings{}
	flags := flag.NewFlagSet("river", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.jobs, "jobs", 5000, "how many jobs there are")
	flags.IntVar(&s.workers, "workers", 3, "how many processes work at the same time")
	flags.IntVar(&s.rate, "rate", 50, "requests a second that the provider allows at first")
	flags.DurationVar(&s.halves, "halves", 70*time.Second, "when the limit halves")
	flags.DurationVar(&s.kill, "kill", 20*time.Second, "the time between two kills; 0 kills none")
	flags.DurationVar(&s.warm, "warm", time.Minute, "the time at the beginning that is not judged")
	flags.Uint64Var(&s.seed, "seed", 1, "what the kills are drawn from")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.jobs < 1 || s.workers < 1 || s.rate < 2 || s.halves <= 0 || s.kill < 0 || s.warm < 0 {
		return errors.New("-jobs, -workers, -rate (2 at least) and -halves must be positive, and -kill and -warm must not be negative")
	}
	return s.run(ctx, out)
}
