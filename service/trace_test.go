package service_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// traced is a service that keeps its spans. spans returns those since the last call.
func traced(t *testing.T, yaml string) (s *server, spans func() tracetest.SpanStubs) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	c := text(yaml)
	c.TracerProvider = trace.NewTracerProvider(trace.WithSyncer(kept))
	return start(t, c), func() tracetest.SpanStubs {
		all := kept.GetSpans()
		kept.Reset()
		return all
	}
}

func attributesOf(s *tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

const (
	parent      = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + parent + "-00f067aa0ba902b7-01"
)

// Every request of the API is a span, which continues the caller's trace and has no identifier.
func TestSpansOfREST(t *testing.T) {
	s, spans := traced(t, limits)
	post := func(method, body string) (http.Header, map[string]any, *tracetest.SpanStub) {
		t.Helper()
		a := s.post(method, body, "traceparent", traceparent)
		s.client.CloseIdleConnections()
		all := spans()
		require.Len(t, all, 1, a.text)
		assert.Equal(t, "POST /v1/ratelimit/"+method, all[0].Name)
		assert.Equal(t, oteltrace.SpanKindServer, all[0].SpanKind)
		assert.Equal(t, parent, all[0].SpanContext.TraceID().String())
		return a.header, attributesOf(&all[0]), &all[0]
	}

	header, a, _ := post("check", `{"identifier":"alice","resource":"search","tokens":4}`)
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	assert.Equal(t, map[string]any{
		"http.request.method": "POST", "http.route": "/v1/ratelimit/check", "url.scheme": "http", "network.protocol.version": "1.1",
		"http.response.status_code": int64(200), "headrace.ratelimit.outcome": "allowed", "headrace.ratelimit.rule": "user/search",
	}, a)
	_, a, span := post("check", `{"identifier":"alice","resource":"search","tokens":9}`)
	assert.Equal(t, int64(429), a["http.response.status_code"])
	assert.Equal(t, "refused", a["headrace.ratelimit.outcome"])
	assert.Equal(t, codes.Unset, span.Status.Code, "a refusal is an answer")
	_, a, _ = post("check", `{"identifier":"alice"}`)
	assert.Equal(t, "invalid", a["headrace.ratelimit.outcome"])
	_, a, _ = post("check-all", `[{"identifier":"alice","resource":"search"},{"scope":"org","identifier":"7","resource":"x","tokens":5}]`)
	assert.Equal(t, "allowed", a["headrace.ratelimit.outcome"])
	assert.Equal(t, "org", a["headrace.ratelimit.rule"], "of the tightest limit")
	_, a, _ = post("check-all", `[]`)
	assert.Equal(t, int64(400), a["http.response.status_code"])
	_, a, _ = post("acquire", `{"scope":"org","identifier":"7","resource":"x","max_wait_seconds":0}`)
	assert.Equal(t, "refused", a["headrace.ratelimit.outcome"])
	assert.Equal(t, "org", a["headrace.ratelimit.rule"])
	_, a, _ = post("batch", `{"checks":[{"identifier":"bob","resource":"search"}]}`)
	assert.NotContains(t, a, "headrace.ratelimit.outcome", "it has many")

	s.get("/v1/ratelimit/buckets/user/alice/search")
	all := spans()
	require.Len(t, all, 1)
	assert.Equal(t, "GET /v1/ratelimit/buckets/{scope}/{identifier}/{resource}", all[0].Name)
	assert.NotEqual(t, parent, all[0].SpanContext.TraceID().String(), "its request has no trace")
	for _, a := range all[0].Attributes {
		assert.NotContains(t, a.Value.String(), "alice")
	}
	s.do("BREW", "/v1/ratelimit/check", "{}")
	all = spans()
	require.Len(t, all, 1)
	assert.Equal(t, "HTTP /v1/ratelimit/check", all[0].Name)
	assert.Equal(t, "_OTHER", attributesOf(&all[0])["http.request.method"])
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/config", "/v1/ratelimit/elsewhere"} {
		s.get(path)
	}
	assert.Empty(t, spans(), "probes and paths that a caller makes up are no spans")
}

// A call of gRPC is a span with the names of the conventions for RPC, and so is one of Envoy.
func TestSpansOfGRPC(t *testing.T) {
	file := write(t, t.TempDir(), "shop.yaml", "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1}}]")
	s, spans := traced(t, someLimits+"\nenvoy: {files: ["+file+"]}")
	conn := dial(t, s.url[len("http://"):])
	c := pb.NewRateLimitServiceClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	one := func(err error, wants bool) (tracetest.SpanStub, map[string]any) {
		t.Helper()
		assert.Equal(t, wants, err != nil)
		all := spans()
		require.Len(t, all, 1)
		assert.Equal(t, oteltrace.SpanKindServer, all[0].SpanKind)
		assert.Equal(t, parent, all[0].SpanContext.TraceID().String())
		return all[0], attributesOf(&all[0])
	}

	_, err := c.CheckRateLimit(ctx, &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "ann", Resource: "api.search"}})
	span, a := one(err, false)
	assert.Equal(t, "headrace.ratelimit.v1.RateLimitService/CheckRateLimit", span.Name)
	assert.Equal(t, map[string]any{
		"rpc.system.name": "grpc", "rpc.method": span.Name, "rpc.response.status_code": "OK",
		"headrace.ratelimit.outcome": "allowed", "headrace.ratelimit.rule": "search",
	}, a)
	_, err = c.CheckRateLimit(ctx, &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "ann"}})
	span, a = one(err, true)
	assert.Equal(t, "INVALID_ARGUMENT", a["rpc.response.status_code"])
	assert.Equal(t, codes.Unset, span.Status.Code, "it is the caller's mistake")

	envoy := rls.NewRateLimitServiceClient(conn)
	for _, want := range []string{"allowed", "refused"} {
		_, err = envoy.ShouldRateLimit(ctx, &rls.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimit.RateLimitDescriptor{
			{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "user", Value: "alice"}}},
		}})
		span, a = one(err, false)
		assert.Equal(t, "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", span.Name)
		assert.Equal(t, want, a["headrace.ratelimit.outcome"])
	}

	_, err = c.HealthCheck(ctx, &pb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	assert.Empty(t, spans(), "probes are no spans")
}

// A request without a valid token makes no span: the number of such requests has no bound.
func TestNoSpansWithoutAToken(t *testing.T) {
	file := write(t, t.TempDir(), "tokens", "a-token-of-some-length-0123456789\n")
	s, spans := traced(t, someLimits+"runtime: {auth: {token_file: "+file+"}}")
	assert.Equal(t, http.StatusUnauthorized, s.post("check", `{"identifier":"a","resource":"x"}`).status)
	_, err := pb.NewRateLimitServiceClient(dial(t, s.url[len("http://"):])).CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{})
	require.Error(t, err)
	assert.Empty(t, spans())
}

// An answer that is the service's failure is a failed span.
func TestSpansOfFailures(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	c := text("{}")
	c.Open = func(context.Context, service.Storage) (quota.Store, error) { return brokenStore{}, nil }
	c.TracerProvider = trace.NewTracerProvider(trace.WithSyncer(kept))
	s := start(t, c)
	assert.Equal(t, http.StatusServiceUnavailable, s.post("check", `{"identifier":"a","resource":"x"}`).status)
	require.Len(t, kept.GetSpans(), 1)
	span := kept.GetSpans()[0]
	assert.Equal(t, codes.Error, span.Status.Code)
	a := attributesOf(&span)
	assert.Equal(t, "503", a["error.type"])
	assert.Equal(t, "unavailable", a["headrace.ratelimit.outcome"])
	assert.NotEmpty(t, a["headrace.ratelimit.degraded_reason"])

	kept.Reset()
	_, err := pb.NewRateLimitServiceClient(dial(t, s.url[len("http://"):])).CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "a", Resource: "x"}})
	require.Error(t, err)
	require.Len(t, kept.GetSpans(), 1)
	span = kept.GetSpans()[0]
	assert.Equal(t, codes.Error, span.Status.Code)
	assert.Equal(t, "UNAVAILABLE", attributesOf(&span)["error.type"])
}

// brokenStore takes nothing.
type brokenStore struct{ quota.Store }

func (brokenStore) Take(context.Context, quota.Request) (quota.Grant, error) {
	return quota.Grant{}, io.ErrUnexpectedEOF
}

// A provider that panics costs a span, not an answer.
func TestATracerThatPanics(t *testing.T) {
	for _, p := range []panickingProvider{{start: true}, {end: true}} {
		c := text(limits)
		c.TracerProvider = p
		s := start(t, c)
		assert.Equal(t, http.StatusOK, s.post("check", `{"identifier":"alice","resource":"search"}`).status)
		_, err := pb.NewRateLimitServiceClient(dial(t, s.url[len("http://"):])).CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{
			Check: &pb.Check{Identifier: "ann", Resource: "x"},
		})
		require.NoError(t, err)
	}
}

type panickingProvider struct {
	noop.TracerProvider

	start, end bool
}

func (p panickingProvider) Tracer(string, ...oteltrace.TracerOption) oteltrace.Tracer {
	return panickingTracer{of: p}
}

type panickingTracer struct {
	noop.Tracer

	of panickingProvider
}

func (p panickingTracer) Start(ctx context.Context, _ string, _ ...oteltrace.SpanStartOption) (context.Context, oteltrace.Span) {
	if p.of.start {
		panic("start")
	}
	s := panickingSpan{}
	return oteltrace.ContextWithSpan(ctx, s), s
}

type panickingSpan struct{ noop.Span }

func (panickingSpan) IsRecording() bool                   { return true }
func (panickingSpan) SetAttributes(...attribute.KeyValue) { panic("set") }
func (panickingSpan) End(...oteltrace.SpanEndOption)      { panic("end") }

func TestANilTracerProviderOfAType(t *testing.T) {
	c := text(limits)
	c.TracerProvider = (*trace.TracerProvider)(nil)
	_, err := service.New(t.Context(), c)
	require.ErrorContains(t, err, "TracerProvider")
}
