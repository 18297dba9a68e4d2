package telemetry

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// maxLabels bounds the sets of attributes that are kept, at about 1 kB each; it is what
// the SDK keeps of an instrument by default. A request beyond it costs some allocations.
const maxLabels = 2000

// requests are the instruments for event.NetRequest.
type requests struct {
	duration       metric.Float64Histogram
	sent, received metric.Int64Histogram
	wait           metric.Float64Histogram
	attempts       metric.Int64Histogram
	cached         metric.Int64Counter
	origins        *memory[origin, *server]
	unknown        *server
	labels         *memory[request, *labels]
}

// newRequests has the boundaries of the duration from the conventions. Those of
// ours are chosen by judgement: sizes in powers of four, waits up to the 15
// minutes that a limiter waits at most.
func newRequests(m *maker, maxNames int) *requests {
	sizes := []float64{0, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
	return &requests{
		duration: m.seconds("http.client.request.duration", "Duration of HTTP client requests.",
			0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		sent:     m.numbers("http.client.request.body.size", "By", "Size of HTTP client request bodies.", sizes...),
		received: m.numbers("http.client.response.body.size", "By", "Size of HTTP client response bodies.", sizes...),
		wait: m.seconds("headrace.http.client.wait", "Time that requests waited before they were sent.",
			0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
		attempts: m.numbers("headrace.http.client.attempts", "{attempt}", "Attempts that requests took on the wire.",
			0, 1, 2, 3, 5, 10, 20),
		cached:  m.counter("headrace.http.client.cached", "{request}", "Requests that were answered by a cache."),
		origins: newMemory(maxNames, newServer),
		unknown: &server{attrs: []attribute.KeyValue{attribute.String("server.address", other)}},
		labels:  newMemory(maxLabels, request.labels),
	}
}

func (r *requests) observe(e event.Event) {
	if e.Request == nil {
		return
	}
	ctx, q := context.Background(), e.Request
	l, _ := r.labels.get(r.of(e))
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
		r.received.Record(ctx, q.Received, l.record...)
	}
}

// of is what e has for attributes, every part of which has few values.
func (r *requests) of(e event.Event) request {
	q := e.Request
	to, kept := r.origins.get(origin{q.Host, strings.HasPrefix(q.URL, "https:")})
	if !kept {
		to = r.unknown
	}
	return request{to, knownMethod(q.Method), q.Status, version(q.Proto), errorType(e.Err)}
}

// request is what requests with the same attributes have in common.
type request struct {
	server  *server
	method  string
	status  int
	version string // or empty
	failure string // or empty
}

func (r request) labels() *labels {
	attrs := append(make([]attribute.KeyValue, 0, 6), r.server.attrs...)
	attrs = append(attrs, attribute.String("http.request.method", r.method))
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

type (
	// origin is whom a request is for.
	origin struct {
		host   string // with the port, if one was given
		secure bool
	}
	// server is the same as attributes.
	server struct{ attrs []attribute.KeyValue }
)

func newServer(o origin) *server {
	u := url.URL{Host: o.host}
	s := &server{attrs: []attribute.KeyValue{attribute.String("server.address", hostname(o.host))}}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		if port = 80; o.secure {
			port = 443
		}
	}
	s.attrs = append(s.attrs, attribute.Int("server.port", port))
	return s
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
