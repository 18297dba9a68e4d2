package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/event"
)

// The conventions for generative AI, of which the last version that the core conventions had is
// 1.41.0: they live in a repository of their own since, and all of them are still in development. Names
// and values stand in this file and nowhere else.
const (
	operationName  = attribute.Key("gen_ai.operation.name")
	providerName   = attribute.Key("gen_ai.provider.name")
	requestModel   = attribute.Key("gen_ai.request.model")
	responseModel  = attribute.Key("gen_ai.response.model")
	inputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	outputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	tokenType      = attribute.Key("gen_ai.token.type")
	genAIDuration  = "gen_ai.client.operation.duration"
	genAITokens    = "gen_ai.client.token.usage" //nolint:gosec // not a token of that kind
	operationChat  = "chat"
	operationTexts = "text_completion"
)

// models are the instruments for model calls.
type models struct {
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram
	names    *memory[string, string] // of models, by themselves
	servers  *servers
	labels   *memory[model, *labels]
}

// newModels has the boundaries that the conventions give.
func newModels(m *maker, maxNames int) *models {
	return &models{
		duration: m.seconds(genAIDuration, "GenAI operation duration.",
			0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
		tokens: m.numbers(genAITokens, "{token}", "Number of input and output tokens used.",
			1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864),
		names: newMemory(maxNames, itself), servers: newServers(maxNames), labels: newMemory(maxLabels, model.labels),
	}
}

// model follows a model call: a span for it, if one is wanted, and measurements at its end.
func (o *Observer) model(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	about := begin.Model
	if about == nil {
		return ctx, nil
	}
	if o.spans.leaves(ctx) {
		return ctx, o.models.observe
	}
	secure, host, path := cut(about.URL)
	operation := operationOf(path)
	server := newServer(originOf(host, secure))
	attrs := append([]attribute.KeyValue{
		operationName.String(operation), providerName.String(providerOf(about)), requestModel.String(about.Asked),
	}, server.attrs...)
	ctx, span := o.spans.tracer.Start(ctx, operation+" "+about.Asked,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx, func(e event.Event) {
		o.endModel(span, e)
		o.models.observe(e)
	}
}

func (o *Observer) endModel(span trace.Span, e event.Event) {
	defer span.End()
	about := e.Model
	if about == nil || !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Int("headrace.attempts", e.Attempt))
	if about.Answered != "" {
		span.SetAttributes(responseModel.String(about.Answered))
	}
	if about.Input > 0 {
		span.SetAttributes(inputTokens.Int64(about.Input))
	}
	if about.Output > 0 {
		span.SetAttributes(outputTokens.Int64(about.Output))
	}
	failure := modelFailure(e)
	if failure == "" {
		return
	}
	span.SetAttributes(attribute.String("error.type", failure))
	if e.Err != nil {
		o.spans.fail(span, e.Err)
	} else {
		span.SetStatus(codes.Error, failure)
	}
}

// modelFailure is what error.type is; empty for a call that went well.
func modelFailure(e event.Event) string {
	switch {
	case e.Err != nil && e.Model.Status < http.StatusBadRequest:
		return failureType(e.Err)
	case e.Model.Status >= http.StatusBadRequest:
		return strconv.Itoa(e.Model.Status)
	default:
		return ""
	}
}

func (m *models) observe(e event.Event) {
	about := e.Model
	if about == nil {
		return
	}
	_, _, path := cut(about.URL)
	ctx, of := context.Background(), model{
		operation: operationOf(path), provider: providerOf(about), asked: m.name(about.Asked), answered: m.name(about.Answered),
		server: m.servers.of(about.URL), failure: modelFailure(e),
	}
	m.duration.Record(ctx, e.Wait.Seconds(), m.labels.get(of).record...)
	of.failure = ""
	for _, t := range [...]struct {
		kind string
		n    int64
	}{{"input", about.Input}, {"output", about.Output}} {
		if of.tokens = t.kind; t.n > 0 {
			m.tokens.Record(ctx, t.n, m.labels.get(of).record...)
		}
	}
}

func (m *models) name(of string) string {
	if of == "" {
		return ""
	}
	if _, kept := m.names.kept(of); !kept {
		return other
	}
	return of
}

// model is what calls with the same attributes have in common.
type model struct {
	operation, provider, asked string
	answered, failure, tokens  string // or empty
	server                     *server
}

func (m model) labels() *labels {
	attrs := append(make([]attribute.KeyValue, 0, 8), m.server.attrs...)
	attrs = append(attrs, operationName.String(m.operation), providerName.String(m.provider), requestModel.String(m.asked))
	if m.answered != "" {
		attrs = append(attrs, responseModel.String(m.answered))
	}
	if m.failure != "" {
		attrs = append(attrs, attribute.String("error.type", m.failure))
	}
	if m.tokens != "" {
		attrs = append(attrs, tokenType.String(m.tokens))
	}
	return newLabels(attrs...)
}

// operationOf goes by the path. What is not known is a chat, as almost all is.
func operationOf(path string) string {
	path = strings.ToLower(path)
	switch {
	case strings.Contains(path, "embed"):
		return "embeddings"
	case strings.Contains(path, "generatecontent"):
		return "generate_content"
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		return operationTexts
	default:
		return operationChat
	}
}

// providerOf returns the provider in the spelling of the conventions. If they do not list it, the spelling of
// presets is used; if it is not known at all, the host.
func providerOf(m *event.Model) string {
	switch m.Provider {
	case "azure-openai":
		return "azure.ai.openai"
	case "gemini":
		return "gcp.gemini"
	case "aws-bedrock", "bedrock":
		return "aws.bedrock"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	case "", "generic", "ietf":
		_, host, _ := cut(m.URL)
		return providerAt(host)
	default:
		return m.Provider
	}
}

func providerAt(host string) string {
	host = hostname(host)
	for _, at := range [...]struct{ domain, name string }{
		{"openai.azure.com", "azure.ai.openai"},
		{"openai.com", "openai"},
		{"anthropic.com", "anthropic"},
		{"generativelanguage.googleapis.com", "gcp.gemini"},
		{"aiplatform.googleapis.com", "gcp.vertex_ai"},
		{"amazonaws.com", "aws.bedrock"},
		{"mistral.ai", "mistral_ai"},
		{"x.ai", "x_ai"},
		{"groq.com", "groq"},
		{"cohere.com", "cohere"},
		{"deepseek.com", "deepseek"},
		{"perplexity.ai", "perplexity"},
	} {
		if host == at.domain || strings.HasSuffix(host, "."+at.domain) || at.name == "gcp.vertex_ai" && strings.HasSuffix(host, "-"+at.domain) {
			return at.name
		}
	}
	return other
}
