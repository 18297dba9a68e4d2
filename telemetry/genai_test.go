package telemetry_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/telemetry"
)

// told is what is measured of a model call.
func told(t *testing.T, c telemetry.Config, calls ...event.Model) []string {
	t.Helper()
	c.TracerProvider = noop.NewTracerProvider()
	r, o := record(t, c)
	for _, about := range calls {
		e := event.New(time.Now(), event.ModelStarted, "h")
		e.Model = &about
		_, end := emit.Trace(event.With(t.Context(), o), e)
		e.Kind, e.Wait = event.ModelFinished, 2*time.Second
		end(e)
	}
	return r.taken()
}

func TestModels(t *testing.T) {
	about := event.Model{
		Provider: "openai", URL: "https://api.openai.com/v1/chat/completions",
		Asked: "gpt-4o", Answered: "gpt-4o-2024", Status: http.StatusOK, Input: 7, Output: 3,
	}
	const asked = " gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-4o"
	const server = " server.address=api.openai.com server.port=443"
	assert.Equal(t, []string{
		"gen_ai.client.operation.duration=2" + asked + " gen_ai.response.model=gpt-4o-2024" + server,
		"gen_ai.client.token.usage=3" + asked + " gen_ai.response.model=gpt-4o-2024 gen_ai.token.type=output" + server,
		"gen_ai.client.token.usage=7" + asked + " gen_ai.response.model=gpt-4o-2024 gen_ai.token.type=input" + server,
	}, told(t, telemetry.Config{}, about))
	assert.Equal(t, []string{"gen_ai.client.operation.duration=2 error.type=503" + asked + server},
		told(t, telemetry.Config{Spans: telemetry.Spans{Off: true}}, event.Model{
			Provider: "openai", URL: "https://api.openai.com/v1/chat/completions", Asked: "gpt-4o", Status: 503,
		}), "without a span")

	assert.Equal(t, []string{
		"gen_ai.client.operation.duration=2 error.type=400" + asked + server,
		"gen_ai.client.token.usage=3" + asked + " gen_ai.token.type=output" + server,
	}, told(t, telemetry.Config{}, event.Model{
		URL: "https://api.openai.com", Asked: "gpt-4o", Status: http.StatusBadRequest, Output: 3,
	}), "tokens are used, whatever became of the call")
}

// Models beyond the most are one.
func TestModelsBeyondTheMost(t *testing.T) {
	var got []string
	for _, line := range told(t, telemetry.Config{MaxNames: 1}, event.Model{Asked: "a"}, event.Model{Asked: "b"}, event.Model{Asked: "c"}) {
		name, _ := attributeOf(line, "gen_ai.request.model")
		got = append(got, name)
	}
	assert.ElementsMatch(t, []string{"a", "_OTHER", "_OTHER"}, got)
}

func TestOperationsAndProviders(t *testing.T) {
	for _, c := range []struct{ provider, host, path, operation, name string }{
		{"openai", "h", "/v1/chat/completions", "chat", "openai"},
		{"openai", "h", "/v1/responses", "chat", "openai"},
		{"openai", "h", "/v1/completions", "text_completion", "openai"},
		{"openai", "h", "/v1/embeddings", "embeddings", "openai"},
		{"gemini", "h", "/v1beta/models/g:generateContent", "generate_content", "gcp.gemini"},
		{"gemini", "h", "/v1beta/models/g:streamGenerateContent", "generate_content", "gcp.gemini"},
		{"gemini", "h", "/v1beta/models/g:batchEmbedContents", "embeddings", "gcp.gemini"},
		{"anthropic", "h", "/v1/messages", "chat", "anthropic"},
		{"azure-openai", "h", "/openai/deployments/d/chat/completions", "chat", "azure.ai.openai"},
		{"aws-bedrock", "h", "/model/m/converse", "chat", "aws.bedrock"},
		{"mistral", "h", "/", "chat", "mistral_ai"},
		{"xai", "h", "/", "chat", "x_ai"},
		{"voyage", "h", "/v1/embeddings", "embeddings", "voyage"},
		{"", "api.openai.com:443", "/", "chat", "openai"},
		{"", "name.openai.azure.com", "/", "chat", "azure.ai.openai"},
		{"generic", "API.Anthropic.com", "/", "chat", "anthropic"},
		{"", "us-central1-aiplatform.googleapis.com", "/", "chat", "gcp.vertex_ai"},
		{"", "bedrock-runtime.us-east-1.amazonaws.com", "/", "chat", "aws.bedrock"},
		{"", "notopenai.com", "/", "chat", "_OTHER"},
		{"", "127.0.0.1:80", "/", "chat", "_OTHER"},
	} {
		line := told(t, telemetry.Config{}, event.Model{Provider: c.provider, URL: "https://" + c.host + c.path, Asked: "m"})[0]
		operation, _ := attributeOf(line, "gen_ai.operation.name")
		name, _ := attributeOf(line, "gen_ai.provider.name")
		assert.Equal(t, [2]string{c.operation, c.name}, [2]string{operation, name}, c)
	}
}
