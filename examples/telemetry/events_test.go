package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/telemetry"
)

// collector is an observer with what the SDK has of it.
type collector struct {
	*telemetry.Observer
	reader *metric.ManualReader
}

func newCollector(tb testing.TB) collector {
	tb.Helper()
	reader := metric.NewManualReader()
	o, err := telemetry.New(telemetry.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	require.NoError(tb, err)
	return collector{o, reader}
}

func (c collector) scopes(tb testing.TB) []metricdata.ScopeMetrics {
	tb.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(tb, c.reader.Collect(tb.Context(), &collected))
	return collected.ScopeMetrics
}

// at counts one in each of these of n buckets.
func at(n int, these ...int) []uint64 {
	counts := make([]uint64, n)
	for _, i := range these {
		counts[i]++
	}
	return counts
}

func point[N int64 | float64](bounds []float64, counts []uint64, least, most, sum N, attrs ...attribute.KeyValue) metricdata.HistogramDataPoint[N] {
	p := metricdata.HistogramDataPoint[N]{
		Attributes: attribute.NewSet(attrs...), Bounds: bounds, BucketCounts: counts,
		Min: metricdata.NewExtrema(least), Max: metricdata.NewExtrema(most), Sum: sum,
	}
	for _, n := range counts {
		p.Count += n
	}
	return p
}

func histogram[N int64 | float64](points ...metricdata.HistogramDataPoint[N]) metricdata.Histogram[N] {
	return metricdata.Histogram[N]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}
}

func sum(points ...metricdata.DataPoint[int64]) metricdata.Sum[int64] {
	return metricdata.Sum[int64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
}

// Two requests that went well, one that failed, one from a cache, a
// download, two hits and a cut: everything that arrives at the SDK, by hand.
func TestWhatArrives(t *testing.T) {
	c := newCollector(t)
	tell := func(attempt int, took time.Duration, err error, r event.Request) {
		e := event.New(time.Now(), event.NetRequest, "openai")
		e.Attempt, e.Wait, e.Err, e.Request = attempt, took, err, &r
		c.Observe(e)
	}
	to := event.Request{Method: "POST", URL: "https://api.example.com/v1/chat"}
	well := to
	well.Status, well.Proto, well.Sent = 200, "HTTP/2.0", 300
	first, second, cached := well, well, well
	first.Waited, first.FirstByte, first.Received = 250*time.Millisecond, 300*time.Millisecond, 1000
	second.Waited, second.FirstByte, second.Received = 20*time.Second, 23*time.Second, 5000
	cached.Cached, cached.Received = true, 1000
	broken := to
	broken.Sent = 300
	tell(1, time.Second, nil, first)       // 0.75 s on the wire
	tell(4, 24*time.Second, nil, second)   // 4 s
	tell(0, time.Millisecond, nil, cached) // none
	tell(3, 8*time.Second, io.EOF, broken)
	for _, kind := range []event.Kind{event.LimiterHit, event.LimiterHit, event.LimiterCut} {
		c.Observe(event.New(time.Now(), kind, "openai/api.example.com"))
	}
	fetched := event.New(time.Now(), event.DownloadFetch, "files.example.com")
	fetched.Attempt, fetched.Wait, fetched.Download = 1, 2*time.Second, &event.Download{Target: "a", Bytes: 100_000, Resumed: 20_000}
	c.Observe(fetched)

	server := []attribute.KeyValue{
		attribute.String("headrace.service", "openai"), attribute.String("http.request.method", "POST"), attribute.String("server.address", "api.example.com"), attribute.Int("server.port", 443),
	}
	ok := append([]attribute.KeyValue{
		attribute.Int("http.response.status_code", 200), attribute.String("network.protocol.version", "2"),
	}, server...)
	failed := append([]attribute.KeyValue{attribute.String("error.type", "_OTHER")}, server...)
	files := attribute.String("server.address", "files.example.com")
	limiter := attribute.NewSet(attribute.String("headrace.limiter.name", "openai/api.example.com"))

	times := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900}
	waits := []float64{0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	attempts := []float64{0, 1, 2, 3, 5, 10, 20}
	sizes := []float64{0, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	metricdatatest.AssertEqual(t, metricdata.ScopeMetrics{
		Scope: instrumentation.Scope{Name: "github.com/headrace/headrace/telemetry", SchemaURL: "https://opentelemetry.io/schemas/1.43.0"},
		Metrics: []metricdata.Metrics{
			{
				Name: "headrace.http.client.duration", Unit: "s", Description: "Duration of requests from their first attempt on, with resends.",
				Data: histogram(point(times, at(19, 8, 11), 0.75, 4.0, 4.75, ok...), point(times, at(19, 13), 8.0, 8.0, 8.0, failed...)),
			},
			{
				Name: "headrace.http.client.first_byte", Unit: "s", Description: "Time from the first attempt to the header of the answer.",
				Data: histogram(point(times, at(19, 3, 11), 0.05, 3.0, 3.05, ok...)),
			},
			{
				Name: "headrace.http.client.request.body.size", Unit: "By", Description: "Size of request bodies.",
				Data: histogram(point[int64](sizes, at(12, 2, 2), 300, 300, 600, ok...), point[int64](sizes, at(12, 2), 300, 300, 300, failed...)),
			},
			{
				Name: "headrace.http.client.response.body.size", Unit: "By", Description: "Size of response bodies, decompressed.",
				Data: histogram(point[int64](sizes, at(12, 2, 4), 1000, 5000, 6000, ok...)),
			},
			{
				Name: "headrace.http.client.wait", Unit: "s", Description: "Time that requests waited before they were sent.",
				Data: histogram(point(waits, at(17, 6, 12), 0.25, 20.0, 20.25, ok...), point(waits, at(17, 0), 0.0, 0.0, 0.0, failed...)),
			},
			{
				Name: "headrace.http.client.attempts", Unit: "{attempt}", Description: "Attempts that requests took on the wire.",
				Data: histogram(point[int64](attempts, at(8, 0, 1, 4), 0, 4, 5, ok...), point[int64](attempts, at(8, 3), 3, 3, 3, failed...)),
			},
			{
				Name: "headrace.http.client.cached", Unit: "{request}", Description: "Requests that were answered by a cache.",
				Data: sum(metricdata.DataPoint[int64]{Attributes: attribute.NewSet(ok...), Value: 1}),
			},
			{
				Name: "headrace.download.duration", Unit: "s", Description: "Duration of downloads.",
				Data: histogram(point([]float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}, at(13, 4), 2.0, 2.0, 2.0, files)),
			},
			{
				Name: "headrace.download.size", Unit: "By", Description: "Size of what downloads fetched.",
				Data: histogram(point[int64]([]float64{
					0, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824, 4294967296, 17179869184,
				}, at(12, 2), 80_000, 80_000, 80_000, files)),
			},
			{
				Name: "headrace.limiter.hits", Unit: "{hit}", Description: "Calls that the provider refused for rate.",
				Data: sum(metricdata.DataPoint[int64]{Attributes: limiter, Value: 2}),
			},
			{
				Name: "headrace.limiter.cuts", Unit: "{cut}", Description: "Times that a limiter lowered what it allows.",
				Data: sum(metricdata.DataPoint[int64]{Attributes: limiter, Value: 1}),
			},
		},
	}, only(t, c.scopes(t)), metricdatatest.IgnoreTimestamp())
}

func only(tb testing.TB, scopes []metricdata.ScopeMetrics) metricdata.ScopeMetrics {
	tb.Helper()
	require.Len(tb, scopes, 1)
	return scopes[0]
}

// With the SDK a request that has the attributes of an earlier one costs no allocation.
func TestObserveAllocatesNothing(t *testing.T) {
	c := newCollector(t)
	e := event.New(time.Now(), event.NetRequest, "openai")
	e.Attempt, e.Wait = 1, time.Second
	e.Request = &event.Request{Method: "POST", URL: "https://api.example.com/v1/chat", Status: 200, Proto: "HTTP/2.0"}
	c.Observe(e)
	assert.Zero(t, testing.AllocsPerRun(100, func() { c.Observe(e) }))
}

func BenchmarkObserve(b *testing.B) {
	c := newCollector(b)
	e := event.New(time.Now(), event.NetRequest, "openai")
	e.Attempt, e.Wait = 1, time.Second
	e.Request = &event.Request{Method: "POST", URL: "https://api.example.com/v1/chat", Status: 200, Proto: "HTTP/2.0"}
	b.ReportAllocs()
	for b.Loop() {
		c.Observe(e)
	}
}
