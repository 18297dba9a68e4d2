package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
)

// reveal prints what a provider allowed, and what was achieved. The possible number of requests follows from the limits alone: they
// are what the limits admit from the first request to the last answer, beginning with a full bucket.
func reveal(to io.Writer, l *provider.Ledger) {
	fmt.Fprintln(to, "\nThe hidden limits of the provider:")
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "from\tto\tlimit\tpossible\tserved\t\t429\t")
	for _, p := range l.Limits {
		fmt.Fprintf(table, "%.1f s\t%.1f s\t%s\t%.0f\t%d\t%s\t%d\t\n", p.From, p.To, p.Limit, p.Possible, p.Served, share(float64(p.Served), p.Possible), p.Refused)
	}
	_ = table.Flush() // a failed write is reported at the end
	fmt.Fprintf(to, "\nGoodput: %d answers in %.1f s, of %.0f possible: %s.\n", l.Served, l.Seconds, l.Possible, share(float64(l.Served), l.Possible))
	fmt.Fprintf(to, "Of %d calls, %d got a 429: %s. %d failed on purpose (500).\n",
		l.Arrivals, l.Refused, share(float64(l.Refused), float64(l.Arrivals)), l.Faulted)
}

func share(part, of float64) string {
	if of <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/of)
}
