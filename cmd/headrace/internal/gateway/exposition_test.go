package gateway

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestExposition(t *testing.T) {
	t.Parallel()
	set := attribute.NewSet(attribute.String("a.b", "x\"y\\z\n"), attribute.Int("n", 2))
	all := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "c.hits", Unit: "{hit}", Description: "two\nlines", Data: metricdata.Sum[int64]{IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Value: 3}}}},
		{Name: "g.pace", Unit: "{unit}/s", Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Value: 1.5}}}},
		{Name: "h.wait", Unit: "s", Data: metricdata.Histogram[float64]{DataPoints: []metricdata.HistogramDataPoint[float64]{
			{Bounds: []float64{0.5, 1}, BucketCounts: []uint64{1, 2, 3}, Count: 6, Sum: 9.5},
		}}},
	}}}}
	assert.Equal(t, `# HELP c_hits_total two\nlines
# TYPE c_hits_total counter
c_hits_total{a_b="x\"y\\z\n",n="2"} 3
# HELP g_pace_per_second 
# TYPE g_pace_per_second gauge
g_pace_per_second 1.5
# HELP h_wait_seconds 
# TYPE h_wait_seconds histogram
h_wait_seconds_bucket{le="0.5"} 1
h_wait_seconds_bucket{le="1"} 3
h_wait_seconds_bucket{le="+Inf"} 6
h_wait_seconds_sum 9.5
h_wait_seconds_count 6
`, string(exposition(all)))
}
