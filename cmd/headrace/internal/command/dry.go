package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// dry estimates the size and the duration of a run, and sends nothing.
func (*runCommand) dry(ctx context.Context, p *Program, j *run.Job) error {
	strict := j.Strict
	j.Strict = false // the estimate is printed all the same
	scan, err := j.Scan(ctx)
	if err != nil {
		return err
	}
	if scan == nil {
		return &run.UsageError{Err: fmt.Errorf("--dry-run: %s can be read only once: use a regular file", j.Requests)}
	}
	bad, out := scan.Bad+scan.TooLarge, terminal.Writer(p.Stdout)
	fmt.Fprintf(out, "requests:  %s, and %s that cannot be sent\n", grouped(scan.Lines-bad), grouped(bad))
	if scan.TooLarge > 0 {
		fmt.Fprintf(out, "too large: %s, the first one on line %d: %s\n", grouped(scan.TooLarge), scan.Large.Line, scan.Large.Text)
	}
	if len(scan.Models) > 0 {
		fmt.Fprintf(out, "models:    %s\n", strings.Join(scan.Models, ", "))
	}
	fmt.Fprintf(out, "tokens:    %s, of them %s in the prompts (estimated)%s\n",
		grouped(scan.Cost.Tokens), grouped(scan.Cost.Input), uncounted(scan.Open))
	fmt.Fprintf(out, "to:        %s\n", j.Base.Redacted())
	limits := j.Spec.Limits
	if j.Spec.Preset != "" {
		row, err := presets.Lookup(string(j.Spec.Preset))
		if err != nil {
			return &run.UsageError{Err: err}
		}
		fmt.Fprintf(out, "preset:    %s, of %s\n", row.ID, row.Date())
		limits.Windows = append(limits.Windows, row.Limits.Windows...)
	}
	if len(limits.Windows) > 0 {
		fmt.Fprintf(out, "limits:    %s\n", limits)
	}
	took, by := longest(limits, scan.Cost)
	switch {
	case took == 0 && len(limits.Windows) > 0:
		fmt.Fprintln(out, "time:      as long as the calls take: the limits admit all requests at once")
	case took == 0:
		fmt.Fprintln(out, "time:      unknown: no rate limit is set (--preset, --rpm, --limit)")
	default:
		fmt.Fprintf(out, "time:      at least %s, because of %s\n", took.Round(time.Second), by)
	}
	fmt.Fprintf(out, "results:   %s\n", j.Out)
	switch {
	case strict && scan.Bad > 0:
		return &run.UsageError{Err: fmt.Errorf("%s of %s are invalid: with --strict, the run would send nothing", grouped(scan.Bad), plural(scan.Lines, "line"))}
	case bad > 0:
		return errFailed
	}
	return nil
}

// uncounted describes the output of n requests that is not in an estimate.
func uncounted(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", plus the output of %s without max_tokens", plural(n, "request"))
}

// longest returns how long the limits take to admit cost, and which limit takes longest.
func longest(l throttle.Limits, cost throttle.Cost) (took time.Duration, by throttle.Window) {
	for _, w := range l.Windows {
		n := cost.Of(w.Unit())
		if n <= w.Max() {
			continue
		}
		d := time.Duration(float64(n) / w.Rate() * float64(time.Second))
		if d > took {
			took, by = d, w
		}
	}
	return took, by
}
