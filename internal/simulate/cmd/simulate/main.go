// Command simulate plays control laws against providers with hidden limits, in
// virtual time, and prints what they got as tables of Markdown. It is what
// make simulate calls.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/headrace/headrace/internal/simulate/report"
)

const help = `simulate: our control laws, and those of others, against providers with hidden limits.

Twenty minutes of virtual time are measured after two of warm-up, hours where
quotas are that long. Goodput is what the provider admitted, in percent of an
oracle that sees its limits; 429s are in percent of the attempts, without those
at random, and with them in brackets. The tables of drawn providers count all of
them. Equal flags print equal tables. A cell with "!" misses its target.

There are nine sets:
  twelve    the twelve, the cold start, and what is beyond the twelve
  families  what real services do beside ordinary limits, several members each
  random    providers drawn at random, with ordinary limits
  harsher   the same with what the families have
  recovery  half an hour after one of these has become an ordinary one
  bursts    random providers, and items that arrive in bursts: the time until they are
            answered, beside the oracle's
  sparse    the harsher ones, to which few items came for 20 minutes, and now more than they take
  moving    random providers with limits that become other ones every 10 s to 5 min
  jobs      20, 200 and 2,000 items: the time until they are done, beside the oracle's

A client that "knows the limits", at a part of each rate, shows what can be reached
without headers or coordination.

The default offset is for judging: no law was ever tuned on its worlds. Tune on
offsets below it.

  simulate                                   everything
  simulate -set families -only headrace      our laws in the families
  simulate -set families -family 03,08 -only blind -offset 0
                                             two of them, on worlds for tuning
  simulate -only headrace -set twelve        our laws in the scenarios with a name
  simulate -set random -offset 70000 -show 10
                                             500 random providers, and the worst of them
  simulate -scenario '#70123' -only headers  one of those again; h70123 is one of the harsher ones,
                                             and r70123 the same one that becomes an ordinary one
  simulate -scenario flap -trace 5s          what a run looks like, as tab-separated values
  simulate -scenario flap -only blind -chart pictures
                                             the same as a picture, an SVG of panels over time
  simulate -names everything                 the same where refusals say which limit it was
  simulate -ablate                           the default law without each of its rules

Flags:
`

// judging is the first world that is for judging. No law was tuned on it or on
// any after it.
const judging = 1_000_000

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) (err error) {
	var p report.Plan
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, help)
		flags.PrintDefaults()
	}
	flags.IntVar(&p.Seeds, "seeds", 10, "worlds of each scenario with a name")
	flags.IntVar(&p.Offset, "offset", judging, "the first random and the first harsher provider, and the seed before the first of a family; from the default on worlds are for judging, those below it for tuning")
	flags.IntVar(&p.N, "n", 500, "how many random providers")
	flags.IntVar(&p.Harsher, "harsher", 400, "how many providers of the harsher generator")
	flags.IntVar(&p.Recovery, "recovery", 200, "how many providers of the harsher generator that become ordinary ones")
	flags.IntVar(&p.Bursts, "bursts", 200, "how many random providers to which items come in bursts")
	flags.IntVar(&p.Sparse, "sparse", 200, "how many providers of the harsher generator to which few items come at first")
	flags.IntVar(&p.Moving, "moving", 200, "how many random providers with limits that move")
	flags.StringVar(&p.Set, "set", "", "only these `sets`, separated by commas: twelve, families, random, harsher, recovery, bursts, sparse, moving, jobs")
	flags.StringVar(&p.Family, "family", "", "only `families` whose name begins with one of these, separated by commas, such as 03,08")
	flags.BoolVar(&p.Members, "members", false, "list all members of families, not only those in which the default law is weak")
	flags.StringVar(&p.Only, "only", "", "only `policies` whose name contains one of these, separated by commas")
	flags.StringVar(&p.Scenario, "scenario", "", "only `scenarios` whose name contains one of these, separated by commas; random, harsher, recovery, bursts, sparse and moving stand for drawn providers, #n, hn, rn, bn, sn or mn for one of them")
	flags.Func("names", "what refusals `say` of the limit: everything (which it is, of rates too), requests (always that, whatever refused) or nothing", func(s string) error {
		return name(&p.Names, s)
	})
	flags.BoolVar(&p.ColdOnly, "cold", false, "only the cold start, the first two minutes")
	flags.BoolVar(&p.Ablate, "ablate", false, "the default law without each of its rules")
	flags.IntVar(&p.Show, "show", 0, "print so many of the worst random providers")
	flags.BoolVar(&p.Plain, "rows", false, "aligned lines instead of Markdown")
	trace := flags.Duration("trace", 0, "no tables: what the runs look like, a line each so often")
	pictures := flags.String("chart", "", "no tables: draw the runs, an SVG each into this `folder`")
	page := flags.String("into", "", "put the tables into this `page` of Markdown, between its comments for them")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this `file`")
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp { //nolint:errorlint // Parse returns it as it is
			return nil
		}
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // a profile
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	debug.SetGCPercent(400) // worlds are small and many
	out := bufio.NewWriter(stdout)
	defer func() {
		if e := out.Flush(); err == nil {
			err = e
		}
	}()
	if *trace > 0 {
		return p.Trace(out, *trace)
	}
	if *pictures != "" {
		return draw(&p, *pictures, out)
	}
	p.Took = func(set string, d time.Duration) {
		fmt.Fprintf(stderr, "simulate: %s took %s\n", set, d.Round(100*time.Millisecond))
	}
	began := time.Now()
	if err := tables(&p, *page, out); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "simulate: took %s\n", time.Since(began).Round(100*time.Millisecond))
	return nil
}
