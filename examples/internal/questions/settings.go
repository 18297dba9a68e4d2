package questions

import (
	"flag"
	"fmt"
	"io"
)

// Settings are the flags that all programs have.
type Settings struct {
	Calls, Parallel int
	RPM             int // what the provider allows and does not say, in requests a minute
	Stream, Faults  bool
}

// Flags returns the flags of a program, including those of s, with its RPM as the default.
// The usage goes to out: first about, then the flags.
func (s *Settings) Flags(name, about string, out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.Calls, "calls", 200, "how many `calls` to make")
	flags.IntVar(&s.Parallel, "parallel", 32, "how many `goroutines` make them; the limiter decides how many calls are in flight")
	flags.IntVar(&s.RPM, "rpm", s.RPM, "what the provider allows and does not say, in `requests` a minute")
	flags.BoolVar(&s.Stream, "stream", false, "have the answers streamed")
	flags.BoolVar(&s.Faults, "faults", false, "the provider is overloaded at times, fails, and breaks off answers")
	flags.Usage = func() {
		fmt.Fprintln(out, about)
		flags.PrintDefaults()
	}
	return flags
}
