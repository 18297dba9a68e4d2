package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// printTable writes a line for each set of attributes of each instrument.
func printTable(out io.Writer, collected metricdata.ResourceMetrics) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INSTRUMENT\tUNIT\tCOUNT\tSUM\tATTRIBUTES")
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					fmt.Fprintf(w, "%s\t%s\t\t%d\t%s\n", m.Name, m.Unit, p.Value, list(p.Attributes))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", m.Name, m.Unit, p.Count, p.Sum, list(p.Attributes))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%s\n", m.Name, m.Unit, p.Count, p.Sum, list(p.Attributes))
				}
			}
		}
	}
	return w.Flush()
}

func list(set attribute.Set) string {
	var all []string
	for _, a := range set.ToSlice() {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	return strings.Join(all, " ")
}
