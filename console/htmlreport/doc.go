// Package htmlreport writes the report of a run as an HTML page: its items, and the limit,
// calls in flight and waiting, rate and refusals over time.
//
//	report, err := flow.Run(ctx, f, state, flow.WithSeries())
//	...
//	err = htmlreport.Write(file, "nightly digest", report)
//
// The page is one file without scripts that loads nothing, which its
// Content-Security-Policy enforces.
package htmlreport
