package main

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/temporalserver"
	"github.com/headrace/headrace/providertest"
)

var server = flag.Bool("server", false, "run the tests that need a Temporal server, and build it: see make test-engines")

// TestMain is a worker instead when a test has started it as one.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func needsServer(t *testing.T) {
	t.Helper()
	if !*server {
		t.Skip("it needs a server: make test-engines")
	}
}

// The flow is one that runs in one process too.
func TestTheFlowInOneProcess(t *testing.T) {
	provider, err := providertest.New(providertest.Config{Reply: func(r providertest.Request) string { return answerOf(r.Messages[0].Content) }})
	require.NoError(t, err)
	defer provider.Close()
	s := &Archive{Count: 20}
	_, err = flow.Run(t.Context(), archive(&asker{provider.URL(), provider.Client()}, nil, 4), s)
	require.NoError(t, err)
	require.Len(t, s.Answers, 20)
	for i, answer := range s.Answers {
		assert.Equal(t, answerOf(textOf(i).Body), answer)
	}
	assert.Equal(t, 20*len("text-00000"), s.Letters)
	assert.Len(t, textOf(7).Body, size-100)
}

func TestAnAnswerThatIsNoSuccess(t *testing.T) {
	provider, err := providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault { return &providertest.Fault{Status: http.StatusTeapot} }})
	require.NoError(t, err)
	defer provider.Close()
	_, err = (&asker{provider.URL(), provider.Client()}).ask(t.Context(), textOf(1))
	var status *statusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, http.StatusTeapot, status.StatusCode)
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	_, err := parse([]string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	assert.Contains(t, out.String(), "-kill")
	_, err = parse([]string{"-workers", "0"}, &out)
	require.ErrorContains(t, err, "must be positive")
}

func TestWhatTheLimitAllows(t *testing.T) {
	s, from := &settings{rate: 50}, time.Unix(1000, 0)
	assert.InDelta(t, 500, s.possible(from, from.Add(10*time.Second), time.Time{}), 0.01)
	assert.InDelta(t, 200+150, s.possible(from, from.Add(10*time.Second), from.Add(4*time.Second)), 0.01)
	assert.InDelta(t, 250, s.possible(from, from.Add(10*time.Second), from.Add(-time.Second)), 0.01)
}

func TestWhenTheQueueFollowed(t *testing.T) {
	at := time.Unix(1000, 0)
	w := &watch{halved: at, samples: []sample{{at.Add(-1), 60}, {at.Add(time.Second), 58}, {at.Add(3 * time.Second), 31}, {at.Add(4 * time.Second), 30}}}
	before, after, in := w.followed()
	assert.Equal(t, []float64{60, 31}, []float64{before, after})
	assert.Equal(t, 3*time.Second, in)
}

// The copy here is the flow of the tutorial.
func TestItIsTheFlowOfTheTutorial(t *testing.T) {
	part := func(path, from, to string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, rest, ok := strings.Cut(string(text), from)
		require.True(t, ok)
		rest, _, _ = strings.Cut(rest, to)
		return strings.TrimSpace(rest)
	}
	const from = "// Catalogue is the state"
	assert.Equal(t, part("../tutorial/6nested/main.go", from, "func run(ctx"), part("tutorial_flow_test.go", from, "func run(ctx"))
}

// The flow of the tutorial has equal results in one process and on Temporal.
func TestServerRunsTheFlowOfTheTutorial(t *testing.T) {
	needsServer(t)
	made := func() (*fake.Model, *guard.Guard) {
		model, err := fake.New(providertest.Config{Limits: providertest.Limits{Concurrency: 4}})
		require.NoError(t, err)
		t.Cleanup(model.Close)
		quota, err := guard.New(guard.Policy{Name: "model"})
		require.NoError(t, err)
		return model, quota
	}
	model, quota := made()
	want := &Catalogue{}
	_, err := flow.Run(t.Context(), catalogue(model, quota), want)
	require.NoError(t, err)

	s, err := temporalserver.Start(t.Context(), t.Output())
	require.NoError(t, err)
	defer s.Stop()
	p := &place{Address: s.Address, Namespace: s.Namespace, Store: filepath.Join(t.TempDir(), "store")}
	c, err := p.dial()
	require.NoError(t, err)
	defer c.Close()
	model, quota = made()
	w, err := temporal.NewWorker(c, p.options(), catalogue(model, quota))
	require.NoError(t, err)
	require.NoError(t, w.Start())
	defer w.Stop()
	got, err := temporal.Run(t.Context(), c, catalogue(nil, quota), &Catalogue{}, p.options())
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.NotEmpty(t, got.Entries)
}

// A short run, with workers that are killed.
func TestServerRunsTheExample(t *testing.T) {
	needsServer(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-texts", "400", "-kill", "4s", "-replays", "10"}, &out), out.String())
	assert.Contains(t, out.String(), "400 of 400 answers, each once")
	assert.Regexp(t, `\n1\d histories were replayed\n`, out.String())
}
