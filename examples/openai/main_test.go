package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/examples/internal/sdktest"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTwoHundredCalls(t *testing.T) {
	sdktest.Rehearse(t, stage, []sdktest.Rehearsal{
		{Args: nil, Refused: true},
		{Args: []string{"-rpm", "100"}, Long: true, Refused: true},
		{Args: []string{"-rpm", "100", "-stream"}, Long: true, Refused: true},
		{Args: []string{"-tpm", "6000"}, Long: true, Refused: true},
		{Args: []string{"-embeddings"}, Refused: true},
		{Args: []string{"-faults"}},
		{Args: []string{"-faults", "-stream"}},
		{Args: []string{"-parallel", "1"}},
	})
}

func TestAsks(t *testing.T) {
	sdktest.Asks(t, stage, []sdktest.Asked{
		{Path: "/v1/chat/completions", Model: "gpt-5.6-luna"},
		{Args: []string{"-stream", "-model", "m"}, Path: "/v1/chat/completions", Model: "m", Stream: true},
		{Args: []string{"-embeddings"}, Path: "/v1/embeddings", Model: "text-embedding-3-small"},
	})
}

func stage(t *testing.T, args []string) sdktest.Stage {
	t.Helper()
	s, err := parse(args, io.Discard)
	require.NoError(t, err)
	return sdktest.Stage{Settings: s.Settings, Provider: hidden(s), Ask: func(base http.RoundTripper, limiters *registry.Registry) questions.Ask {
		transport := headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(limiters))
		return asker{s, newClient(transport, local(sdktest.URL)...)}.ask
	}}
}

func TestRun(t *testing.T)     { service().Run(t, run) }
func TestRunReal(t *testing.T) { service().RunReal(t, run) }

func service() sdktest.Real {
	return sdktest.Real{Variable: "OPENAI_BASE_URL", Path: "/v1", Field: "Authorization", Prefix: "Bearer "}
}

func TestRunRefuses(t *testing.T) {
	sdktest.Refuses(t, run, map[string][]string{
		"OPENAI_API_KEY":     {"--real"},
		"exclude each other": {"-stream", "-embeddings"},
	})
}
