package gateway

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// exposition writes all metrics in the text format of Prometheus, version 0.0.4, with the names that Prometheus derives
// from OpenTelemetry.
func exposition(all *metricdata.ResourceMetrics) []byte {
	var out bytes.Buffer
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := metricName(m.Name, m.Unit)
			help := strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(m.Description)
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				points(&out, name, help, data.IsMonotonic, data.DataPoints)
			case metricdata.Sum[float64]:
				points(&out, name, help, data.IsMonotonic, data.DataPoints)
			case metricdata.Gauge[int64]:
				points(&out, name, help, false, data.DataPoints)
			case metricdata.Gauge[float64]:
				points(&out, name, help, false, data.DataPoints)
			case metricdata.Histogram[float64]:
				histogram(&out, name, help, data.DataPoints)
			case metricdata.Histogram[int64]:
				histogram(&out, name, help, data.DataPoints)
			}
		}
	}
	return out.Bytes()
}

func points[N int64 | float64](out *bytes.Buffer, name, help string, counter bool, all []metricdata.DataPoint[N]) {
	kind := "gauge"
	if counter {
		kind, name = "counter", strings.TrimSuffix(name, "_total")+"_total"
	}
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	for _, p := range all {
		fmt.Fprintf(out, "%s%s %s\n", name, labels(p.Attributes, ""), number(float64(p.Value)))
	}
}

func histogram[N int64 | float64](out *bytes.Buffer, name, help string, all []metricdata.HistogramDataPoint[N]) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	for _, p := range all {
		var below uint64
		for i, bound := range p.Bounds {
			below += p.BucketCounts[i]
			fmt.Fprintf(out, "%s_bucket%s %d\n", name, labels(p.Attributes, number(bound)), below)
		}
		fmt.Fprintf(out, "%s_bucket%s %d\n", name, labels(p.Attributes, "+Inf"), p.Count)
		fmt.Fprintf(out, "%s_sum%s %s\n", name, labels(p.Attributes, ""), number(float64(p.Sum)))
		fmt.Fprintf(out, "%s_count%s %d\n", name, labels(p.Attributes, ""), p.Count)
	}
}

// labels writes the labels of a series. le is the bound of a bucket; empty if there is none.
func labels(set attribute.Set, le string) string {
	var all []string
	for _, a := range set.ToSlice() {
		all = append(all, plainName(string(a.Key))+"="+quote(a.Value.String()))
	}
	slices.Sort(all)
	if le != "" {
		all = append(all, "le="+quote(le))
	}
	if len(all) == 0 {
		return ""
	}
	return "{" + strings.Join(all, ",") + "}"
}

func quote(text string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(text, "\uFFFD")) + `"`
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// metricName returns the name of an instrument with its unit.
func metricName(name, unit string) string {
	suffix := map[string]string{"s": "_seconds", "By": "_bytes", "{unit}/s": "_per_second"}[unit]
	return strings.TrimSuffix(plainName(name), suffix) + suffix
}

// plainName replaces everything but letters, digits and underscores.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name)
}
