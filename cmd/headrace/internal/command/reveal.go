package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
)

// reveal tells what a provider has allowed, and what came of it. Only limits count: what is possible is what they
// admit from the first request to the last answer, with the full bucket at the beginning.
func reveal(to io.Writer, l *provider.Ledger) {
	fmt.Fprintln(to, "\nWhat the provider allowed, and nobody was told:")
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "from\tto\tlimit\tpossible\tserved\t\t429\t")
	for _, p := range l.Limits {
		fmt.Fprintf(table, "%.1f s\t%.1f s\t%s\t%.0f\t%d\t%s\t%d\t\n", p.From, p.To, p.Limit, p.Possible, p.Served, share(float64(p.Served), p.Possible), p.Refused)
	}
	_ = table.Flush() // as the lines around it
	fmt.Fprintf(to, "\nGoodput: %d answers in %.1f s, where %.0f were possible: %s.\n", l.Served, l.Seconds, l.Possible, share(float64(l.Served), l.Possible))
	fmt.Fprintf(to, "Of %d calls %d were refused (429): %s. %d failed on purpose (500).\n",
		l.Arrivals, l.Refused, share(float64(l.Refused), float64(l.Arrivals)), l.Faulted)
}

func share(part, of float64) string {
	if of <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/of)
}
