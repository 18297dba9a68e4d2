// Package tracing makes spans of requests, as the semantic conventions of OpenTelemetry name them. A span has no
// identifier, no path and no header of a request, which may be personal data or secrets.
package tracing

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	scope = "github.com/headrace/headrace/service"
	// schema is the version of the conventions that names and attributes are from.
	schema = "https://opentelemetry.io/schemas/1.43.0"
)

// Tracer makes spans. They continue the trace that a request names in its header traceparent. A nil Tracer makes none.
type Tracer struct {
	tracer trace.Tracer
	header propagation.TraceContext
}

// New returns a tracer, which is nil if p is.
func New(p trace.TracerProvider) *Tracer {
	if p == nil {
		return nil
	}
	return &Tracer{tracer: p.Tracer(scope, trace.WithSchemaURL(schema))}
}

// start begins a span. A provider that panics makes none.
func (t *Tracer) start(ctx context.Context, from propagation.TextMapCarrier, name string, attrs ...attribute.KeyValue) (inner context.Context, span trace.Span) {
	defer func() {
		if v := recover(); v != nil {
			inner, span = ctx, noop.Span{}
		}
	}()
	return t.tracer.Start(t.header.Extract(ctx, from), name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// survive is deferred around methods of a span, which are the provider's code.
func survive() { _ = recover() }

// HTTP begins the span of a request. Call end once the request is answered, through the ResponseWriter that it returns.
func (t *Tracer) HTTP(w http.ResponseWriter, r *http.Request, route string) (_ http.ResponseWriter, _ *http.Request, end func()) {
	if t == nil {
		return w, r, func() {}
	}
	method := knownMethod(r.Method)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	name := method
	if method == otherMethod {
		name = "HTTP"
	}
	ctx, span := t.start(r.Context(), propagation.HeaderCarrier(r.Header), name+" "+route,
		attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.String("url.scheme", scheme),
		attribute.String("network.protocol.version", version(r)),
	)
	seen := &recorder{ResponseWriter: w}
	return seen, r.WithContext(ctx), func() {
		defer survive()
		if code := seen.status; code != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", code))
			if code >= http.StatusInternalServerError {
				fail(span, strconv.Itoa(code))
			}
		}
		span.End()
	}
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.status == 0 && code >= http.StatusOK {
		r.status = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// otherMethod stands for methods that the conventions do not list, of which a client could send any number.
const otherMethod = "_OTHER"

func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, http.MethodPatch:
		return m
	default:
		return otherMethod
	}
}

func version(r *http.Request) string {
	if r.ProtoMajor == 1 {
		return "1." + strconv.Itoa(r.ProtoMinor)
	}
	return strconv.Itoa(r.ProtoMajor)
}

// RPC begins the span of a call of a method such as /package.Service/Method. Call end with its error.
func (t *Tracer) RPC(ctx context.Context, method string) (_ context.Context, end func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	method = method[min(len(method), 1):]
	md, _ := metadata.FromIncomingContext(ctx)
	ctx, span := t.start(ctx, carrier(md), method, attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", method))
	return ctx, func(err error) {
		defer survive()
		code := status.Code(err)
		text := codeName(code)
		span.SetAttributes(attribute.String("rpc.response.status_code", text))
		switch code {
		case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
			fail(span, text)
		default: // the caller's
		}
		span.End()
	}
}

func fail(span trace.Span, kind string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(otelcodes.Error, "")
}

// carrier is metadata of gRPC, the keys of which are in lower case.
type carrier metadata.MD

// Get implements propagation.TextMapCarrier, as do the others.
func (c carrier) Get(key string) string {
	if v := metadata.MD(c).Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c carrier) Keys() []string {
	all := make([]string, 0, len(c))
	for key := range c {
		all = append(all, key)
	}
	return all
}

// Note adds to the span of ctx, if there is one, what became of a check. An empty text is left out.
func Note(ctx context.Context, outcome, rule, degraded string) {
	defer survive()
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	for _, a := range []struct{ name, value string }{
		{"headrace.ratelimit.outcome", outcome}, {"headrace.ratelimit.rule", rule}, {"headrace.ratelimit.degraded_reason", degraded},
	} {
		if a.value != "" {
			span.SetAttributes(attribute.String(a.name, a.value))
		}
	}
}

func codeName(c codes.Code) string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return strconv.Itoa(int(c))
}

// codeNames are the names of codes in the protocol.
var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}
