// Package htmlreport writes what a run did as a page for a browser: what became of the
// items, and how limit, calls in flight, calls waiting, rate and refusals went over time.
//
//	report, err := flow.Run(ctx, f, state, flow.WithSeries())
//	...
//	err = htmlreport.Write(file, "nightly digest", report)
//
// The page is one file. It has no script and loads nothing, so that it can be kept,
// sent and printed; the browser is told to hold it to that.
package htmlreport
