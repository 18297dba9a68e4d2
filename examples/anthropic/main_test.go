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
		{Args: []string{"-rpm", "120"}, Long: true, Refused: true},
		{Args: []string{"-rpm", "120", "-stream"}, Long: true, Refused: true},
		{Args: []string{"-itpm", "4000"}, Long: true, Refused: true},
		{Args: []string{"-otpm", "4000"}, Long: true, Refused: true},
		{Args: []string{"-faults"}},
		{Args: []string{"-faults", "-stream"}},
		{Args: []string{"-parallel", "1"}},
	})
}

func TestAsks(t *testing.T) {
	sdktest.Asks(t, stage, []sdktest.Asked{
		{Path: "/v1/messages", Model: "claude-haiku-4-5"},
		{Args: []string{"-stream", "-model", "m"}, Path: "/v1/messages", Model: "m", Stream: true},
	})
}

func stage(t *testing.T, args []string) sdktest.Stage {
	t.Helper()
	s, err := parse(args, io.Discard)
	require.NoError(t, err)
	return sdktest.Stage{Settings: s.Settings, Provider: hidden(s), Ask: func(base http.RoundTripper, limiters *registry.Registry) questions.Ask {
		transport := headrace.Transport(base, presets.AnthropicStart, headrace.WithRegistry(limiters))
		return asker{s, newClient(transport, local(sdktest.URL)...)}.ask
	}}
}

func TestRun(t *testing.T)     { service().Run(t, run) }
func TestRunReal(t *testing.T) { service().RunReal(t, run) }

func service() sdktest.Real {
	return sdktest.Real{Variable: "ANTHROPIC_BASE_URL", Field: "X-Api-Key"}
}

func TestRunRefuses(t *testing.T) {
	sdktest.Refuses(t, run, map[string][]string{
		"ANTHROPIC_API_KEY": {"--real"},
	})
}
