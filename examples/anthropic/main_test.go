package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rehearse is run with limiters of its own and without a socket, so that a
// bubble's clock runs as fast as it can.
func rehearse(t *testing.T, args ...string) (out, progress string, seen providertest.Ledger) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := parse(args, io.Discard)
		require.NoError(t, err)
		provider, err := providertest.New(hidden(s))
		require.NoError(t, err)
		defer provider.Close()
		limiters, err := registry.New(registry.Config{})
		require.NoError(t, err)
		var figures, news bytes.Buffer
		p := &program{settings: s, limiters: limiters, provider: provider, out: &figures, progress: &news}
		transport := headrace.Transport(provider.Transport(), presets.AnthropicStart, headrace.WithRegistry(limiters))
		require.NoError(t, p.work(t.Context(), newClient(transport, local("http://provider.test")...)))
		out, progress, seen = figures.String(), news.String(), provider.Ledger()
	})
	return out, progress, seen
}

// figure reads the first number that the pattern captures in out.
func figure(t *testing.T, pattern, out string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	require.NotNil(t, found, "%s in:\n%s", pattern, out)
	n, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return n
}

// 200 calls under a hidden limit: none fails, none is lost, and after the first
// minute at most one attempt in fifty is refused.
func TestTwoHundredCalls(t *testing.T) {
	for _, tc := range []struct {
		args    []string
		long    bool // more than a minute
		refused bool
	}{
		{args: nil, refused: true},
		{args: []string{"-rpm", "120"}, long: true, refused: true},
		{args: []string{"-rpm", "120", "-stream"}, long: true, refused: true},
		{args: []string{"-itpm", "4000"}, long: true, refused: true},
		{args: []string{"-otpm", "4000"}, long: true, refused: true},
		{args: []string{"-faults"}},
		{args: []string{"-faults", "-stream"}},
		{args: []string{"-parallel", "1"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			out, progress, seen := rehearse(t, tc.args...)
			t.Log(out)
			assert.Equal(t, 200, seen.Served)
			assert.Zero(t, figure(t, `(\d+) failed`, out))
			assert.Zero(t, figure(t, `(\d+) lost`, out))
			assert.Zero(t, figure(t, `(\d+) done twice`, out))
			if tc.refused {
				assert.Positive(t, seen.TooMany())
			}
			assert.Regexp(t, `^    1 s  \d+ of 200; \d+ in flight`, progress)
			if tc.long {
				assert.LessOrEqual(t, figure(t, `after the first minute: .* \((.*) %\)`, out), 2.0)
			}
		})
	}
}

// The whole program, with sockets and the clock as they are.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	keys := headers(t, "X-Api-Key")
	require.NoError(t, run(t.Context(), []string{"-calls", "5"}, keys.environment, &out, &progress))
	require.Zero(t, figure(t, `(\d+) lost`, out.String()))
	require.InDelta(t, 5, figure(t, `(\d+) served`, out.String()), 0)
	require.Empty(t, keys.told(), "without --real nothing goes to the service")
}

// The real service is another provider for tests here, where ANTHROPIC_BASE_URL points.
func TestRunReal(t *testing.T) {
	keys := headers(t, "X-Api-Key")
	t.Setenv("ANTHROPIC_BASE_URL", keys.url)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	var out, progress bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-real", "-calls", "3"}, keys.environment, &out, &progress))
	require.Equal(t, []string{canary, canary, canary}, keys.told())
	require.NotContains(t, out.String()+progress.String(), canary)
	require.NotContains(t, out.String(), "ledger")
}

func TestRunRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"ANTHROPIC_API_KEY":      {"--real"},
		"must be at least 1":     {"-calls", "0"},
		"flag provided but not":  {"-reel"},
		flag.ErrHelp.Error():     {"-help"},
		context.Canceled.Error(): nil,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := run(ctx, args, func(string) string { return "" }, io.Discard, io.Discard)
		require.ErrorContains(t, err, want)
	}
}

// What the program says of a provider that loses a call.
func TestReportTellsOfLosses(t *testing.T) {
	provider, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer provider.Close()
	limiters, err := registry.New(registry.Config{})
	require.NoError(t, err)
	p := &program{settings: settings{calls: 2}, limiters: limiters, provider: provider, out: io.Discard}
	p.note(1, io.ErrUnexpectedEOF)
	err = p.report(nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "1 of 2 calls failed: question-001")
	require.ErrorContains(t, err, "lost: [question-001 question-002]")
}

const canary = "sk-ant-canary-4711"

// witness is a provider that writes down one header of each request.
type witness struct {
	url  string
	mu   sync.Mutex // guards seen
	seen []string
}

func headers(t *testing.T, name string) *witness {
	t.Helper()
	w := &witness{}
	provider, err := providertest.New(providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, r.Header.Get(name))
		return nil
	}})
	require.NoError(t, err)
	t.Cleanup(provider.Close)
	w.url = provider.URL()
	return w
}

func (w *witness) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *witness) environment(string) string { return canary }
