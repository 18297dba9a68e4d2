// Command goodput measures what clients get of a provider's limits over real
// HTTP and writes a page about it. It is what make goodput calls, from the
// folder of the benchmarks' module:
//
//	go run ./goodput/cmd/goodput -seeds 5 -o ../docs/goodput.md
//
// A run that is narrowed down, shorter, or has fewer than five seeds writes to
// the standard output instead.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/headrace/headrace/benchmarks/goodput"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "goodput:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	plan := goodput.Plan{Times: goodput.Full(), Progress: os.Stderr}
	flags := flag.NewFlagSet("goodput", flag.ContinueOnError)
	flags.IntVar(&plan.Seeds, "seeds", 5, "runs of each contender in each scenario")
	flags.IntVar(&plan.AtOnce, "at-once", 1, "seeds that run at a time; with more, two cores are too busy; 0 for all")
	flags.IntVar(&plan.Simulated, "simulated", 20, "seeds that the simulator plays; 0 leaves it out")
	flags.DurationVar(&plan.Times.WarmUp, "warm-up", plan.Times.WarmUp, "time before it counts")
	flags.DurationVar(&plan.Times.Measured, "measured", plan.Times.Measured, "time that counts")
	flags.StringVar(&plan.Scenario, "scenario", "", "part of the names of scenarios")
	flags.StringVar(&plan.Only, "only", "", "part of the names of contenders")
	page := flags.String("o", "", "where a full run writes its page (default the standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	result, err := plan.Run(ctx)
	if err != nil {
		return err
	}
	today := time.Now().UTC()
	if *page == "" || !plan.Full() {
		return result.Write(out, today)
	}
	var b bytes.Buffer
	if err := result.Write(&b, today); err != nil {
		return err
	}
	return os.WriteFile(*page, b.Bytes(), 0o644) //nolint:gosec // documentation, readable by all users
}
