// Command scorecard runs the reliability scorecard: 22 rows, each with the tests that prove it, what they have to count,
// and, for some, mutants of the code that they have to catch.
//
//	go run ./internal/scorecard [-full] [-rows 1,5] [-servers]
//
// A test reports its counts in a line of its own, which is read strictly:
//
//	scorecard: row=5 kills=10 lost=0 duplicates=0
//
// A row fails if a test fails, if no test ran, or if a count is missing or wrong. If its tests were skipped, a row is
// shown as skipped, and fails with -full; so are those that an interrupt has left. A run of all rows writes docs/scorecard.md and docs/scorecard.json.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := scorecard(ctx, os.Stdout, os.Args[1:])
	stop()
	os.Exit(status)
}

// scorecard returns the exit status.
func scorecard(ctx context.Context, out io.Writer, args []string) (status int) {
	flags := flag.NewFlagSet("scorecard", flag.ContinueOnError)
	flags.SetOutput(out)
	full := flags.Bool("full", false, "the sizes of a release, which take hours")
	only := flags.String("rows", "", "the rows to run, in this order, such as 1,5; nothing is written unless all are among them")
	servers := flags.Bool("servers", false, "run the row that needs PostgreSQL and a Temporal server too; -full implies it")
	verbose := flags.Bool("v", false, "print the commands")
	if flags.Parse(args) != nil {
		return 2
	}
	chosen, err := choose(rows(), *only)
	if err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	r := runner{out: out, root: ".", full: *full, servers: *servers || *full, verbose: *verbose, command: goTest}
	c := card{At: time.Now().UTC(), Sizes: sizesOf(*full), Machine: thisMachine(), Commit: commit(ctx)}
	for i := range chosen {
		c.Rows = append(c.Rows, r.row(ctx, &chosen[i]))
	}
	slices.SortFunc(c.Rows, func(a, b result) int { return a.ID - b.ID })
	fmt.Fprint(out, "\n", c.table())
	if len(chosen) == len(rows()) {
		if err := c.write("docs"); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
	}
	if c.failed() || ctx.Err() != nil {
		return 1
	}
	return 0
}

// choose returns the rows that only lists by number, or all.
func choose(all []row, only string) (chosen []row, err error) {
	if only == "" {
		return all, nil
	}
	seen := map[int]bool{}
	for number := range strings.SplitSeq(only, ",") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(all) || seen[n] {
			return nil, fmt.Errorf("scorecard: there is no row %q, or it is named twice: they are 1 to %d", number, len(all))
		}
		seen[n] = true
		chosen = append(chosen, all[n-1])
	}
	return chosen, nil
}
