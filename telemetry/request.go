package telemetry

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// maxLabels bounds the sets of attributes that are kept, at about 1 kB each; it is what
// the SDK keeps of an instrument by default. A request beyond it costs some allocations.
const maxLabels = 2000

// requests are the instruments for event.NetRequest.
type requests struct {
	duration, firstByte, wait metric.Float64Histogram
	sent, received, attempts  metric.Int64Histogram
	cached                    metric.Int64Counter

	servers  *servers
	services *memory[string, string] // by themselves
	labels   *memory[request, *labels]
}

// newRequests has boundaries that are chosen by judgement: those of times are the ones that the
// conventions have for http.client.request.duration, and go on to the 15 minutes that a limiter waits at most; sizes are powers of four.
func newRequests(m *maker, maxNames int) *requests {
	sizes := []float64{0, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
	times := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900}
	return &requests{
		duration:  m.seconds("headrace.http.client.duration", "Duration of requests from their first attempt on, with resends.", times...),
		firstByte: m.seconds("headrace.http.client.first_byte", "Time from the first attempt to the header of the answer.", times...),
		sent:      m.numbers("headrace.http.client.request.body.size", "By", "Size of request bodies.", sizes...),
		received:  m.numbers("headrace.http.client.response.body.size", "By", "Size of response bodies, decompressed.", sizes...),
		wait: m.seconds("headrace.http.client.wait", "Time that requests waited before they were sent.",
			0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
		attempts: m.numbers("headrace.http.client.attempts", "{attempt}", "Attempts that requests took on the wire.",
			0, 1, 2, 3, 5, 10, 20),
		cached:   m.counter("headrace.http.client.cached", "{request}", "Requests that were answered by a cache."),
		servers:  newServers(maxNames),
		services: newMemory(maxNames, func(name string) string { return name }),
		labels:   newMemory(maxLabels, request.labels),
	}
}

func (r *requests) observe(e event.Event) {
	if e.Request == nil {
		return
	}
	ctx, q := context.Background(), e.Request
	l := r.labels.get(r.of(e))
	r.attempts.Record(ctx, int64(e.Attempt), l.record...)
	if q.Cached {
		r.cached.Add(ctx, 1, l.add...)
		return
	}
	if e.Attempt == 0 { // it waited to the end
		r.wait.Record(ctx, e.Wait.Seconds(), l.record...)
		return
	}
	r.wait.Record(ctx, q.Waited.Seconds(), l.record...)
	r.duration.Record(ctx, max(0, e.Wait-q.Waited).Seconds(), l.record...)
	r.sent.Record(ctx, q.Sent, l.record...)
	if q.Status != 0 {
		r.firstByte.Record(ctx, max(0, q.FirstByte-q.Waited).Seconds(), l.record...)
		r.received.Record(ctx, q.Received, l.record...)
	}
}

// of is what e has for attributes, every part of which has few values.
func (r *requests) of(e event.Event) request {
	q := e.Request
	to := r.servers.of(q.URL)
	return request{to, r.service(e), knownMethod(q.Method), q.Status, version(q.Proto), errorType(e.Err)}
}

// service is empty where a client was given no name for it, and says the host.
func (r *requests) service(e event.Event) string {
	if _, host, _ := cut(e.Request.URL); e.Source == host {
		return ""
	}
	name, kept := r.services.kept(e.Source)
	if !kept {
		return other
	}
	return name
}

// request is what requests with the same attributes have in common.
type request struct {
	server  *server
	service string // or empty
	method  string
	status  int
	version string // or empty
	failure string // or empty
}

func (r request) labels() *labels {
	attrs := append(make([]attribute.KeyValue, 0, 7), r.server.attrs...)
	attrs = append(attrs, attribute.String("http.request.method", r.method))
	if r.service != "" {
		attrs = append(attrs, attribute.String("headrace.service", r.service))
	}
	if r.status != 0 {
		attrs = append(attrs, attribute.Int("http.response.status_code", r.status))
	}
	if r.version != "" {
		attrs = append(attrs, attribute.String("network.protocol.version", r.version))
	}
	switch {
	case r.failure != "":
		attrs = append(attrs, attribute.String("error.type", r.failure))
	case r.status >= http.StatusBadRequest:
		attrs = append(attrs, attribute.String("error.type", strconv.Itoa(r.status)))
	}
	return newLabels(attrs...)
}

// knownMethod spells as net/http does, for which methods are case-sensitive.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace, http.MethodPatch, "QUERY":
		return method
	default:
		return other
	}
}

func version(proto string) string {
	switch proto {
	case "HTTP/1.0":
		return "1.0"
	case "HTTP/1.1":
		return "1.1"
	case "HTTP/2.0":
		return "2"
	case "HTTP/3.0":
		return "3"
	default:
		return ""
	}
}

// errorType is empty without an error. The method is the one that OpenTelemetry's own semconv.ErrorType looks for.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	type typed interface {
		error
		ErrorType() string
	}
	if e, ok := errors.AsType[typed](err); ok && e.ErrorType() != "" {
		return e.ErrorType()
	}
	return other
}
