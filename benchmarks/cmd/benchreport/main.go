// Command benchreport runs the benchmarks of headrace and its peers several
// times over and writes what came of it as a page of Markdown. It is what
// make bench calls, from the folder of the benchmarks' module:
//
//	go run ./cmd/benchreport -count 10 -o ../docs/benchmarks.md
//
// A run that is narrowed down by -bench, or has fewer than ten passes, writes
// to the standard output instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	r := runner{out: os.Stdout}
	flag.StringVar(&r.bench, "bench", everything, "which benchmarks to run, a regular expression as for go test")
	flag.IntVar(&r.count, "count", leastPasses, "how many passes")
	flag.DurationVar(&r.benchtime, "benchtime", 50*time.Millisecond, "how long each benchmark runs in a pass")
	flag.StringVar(&r.page, "o", "", "where a full run writes its page (default the standard output)")
	flag.StringVar(&r.raw, "raw", "", "a file to keep what the benchmarks printed, for benchstat")
	date := flag.String("date", time.Now().UTC().Format(time.DateOnly), "the date of the page")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if r.date, err = time.Parse(time.DateOnly, *date); err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1) //nolint:gocritic // the process ends, the signal handler with it
	}
}
