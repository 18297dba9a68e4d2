package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/providertest"
)

// TestMain is a child process instead when a test has asked for one.
func TestMain(m *testing.M) {
	if at := os.Getenv(childEnv); at != "" {
		os.Exit(beChild(at))
	}
	goleak.VerifyTestMain(m)
}

func noEnv(string) string { return "" }

func TestTheStory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, noEnv, &out, &out))
	told := regexp.MustCompile(`first process: +(\d+) of 200 texts done by (\d+) calls, then it was stopped
second process: +(\d+) texts resumed without a call, (\d+) done by (\d+) calls
provider's ledger: 200 calls served; 0 texts lost, 0 paid twice
results.jsonl: 200 lines`).FindStringSubmatch(out.String())
	require.NotNil(t, told, out.String())
	assert.Equal(t, told[1], told[2])
	assert.Equal(t, told[1], told[3])
	assert.Equal(t, told[4], told[5])
}

// inFolder returns the flags of a run with all files in a folder of its own.
func inFolder(t *testing.T, texts int, more ...string) []string {
	t.Helper()
	folder := t.TempDir()
	in := filepath.Join(folder, "texts.jsonl")
	require.NoError(t, writeTexts(in, texts))
	return append([]string{"-in", in, "-out", filepath.Join(folder, "results.jsonl"), "-journal", filepath.Join(folder, "journal.db")}, more...)
}

func TestARunGoesOn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := inFolder(t, 10)
	for _, want := range []string{
		"10 texts: 10 done now, 0 before, 0 failed, 0 left\n",
		"10 texts: 0 done now, 10 before, 0 failed, 0 left\n",
	} {
		out.Reset()
		require.NoError(t, run(t.Context(), args, noEnv, &out, &out))
		assert.Equal(t, want, out.String())
	}
	require.NoError(t, writeTexts(args[1], 4))
	out.Reset()
	require.NoError(t, run(t.Context(), args, noEnv, &out, &out))
	assert.Contains(t, out.String(), "\n6 texts of earlier processes are not in ")

	var mixed *journal.VersionError
	require.ErrorAs(t, run(t.Context(), append(args, "-model", "another"), noEnv, &out, &out), &mixed)
}

func TestAFailedTextIsTriedAgainOnRequest(t *testing.T) {
	t.Parallel()
	broken := true
	provider, err := providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if broken {
			return &providertest.Fault{Status: 400}
		}
		return nil
	}})
	require.NoError(t, err)
	defer provider.Close()
	s, err := parse(inFolder(t, 1), nil)
	require.NoError(t, err)
	c := &client{http: provider.Client(), base: provider.URL(), model: "m"}
	var out bytes.Buffer
	require.ErrorContains(t, finish(t.Context(), s, c, &out), "status 400")
	broken = false
	require.ErrorContains(t, finish(t.Context(), s, c, &out), "status 400")
	assert.Equal(t, 1, provider.Counts().Arrivals)
	s.retryFailed = true
	require.NoError(t, finish(t.Context(), s, c, &out))
	assert.Equal(t, 2, provider.Counts().Arrivals)
}

func TestALineThatIsNoText(t *testing.T) {
	t.Parallel()
	args := inFolder(t, 0)
	require.NoError(t, os.WriteFile(args[1], []byte("{\"id\":\"a\",\"text\":\"One thing.\"}\n{\"id\":\"b\"}\nnonsense\n"), 0o600))
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), args, noEnv, &out, &out), "line 2: id or text is missing")
	assert.Equal(t, "3 texts: 1 done now, 0 before, 2 failed, 0 left\n", out.String())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for want, args := range map[string][]string{
		"-in is missing":        {"-run", "november"},
		"-parallel must be":     {"-in", "a", "-parallel", "0"},
		`"a.jsonl" is no flag`:  {"a.jsonl"},
		"not defined: -colour":  {"--colour"},
		"no such file":          inFolder(t, 0, "-in", filepath.Join(t.TempDir(), "none")),
		"the results cannot be": inFolder(t, 0, "-out", t.TempDir()),
	} {
		require.ErrorContains(t, run(t.Context(), args, noEnv, &out, &out), want)
	}
	out.Reset()
	require.ErrorIs(t, run(t.Context(), []string{"--help"}, noEnv, &out, &out), flag.ErrHelp)
	assert.Contains(t, out.String(), "kill -9")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, run(stopped, nil, noEnv, &out, &out), context.Canceled)
	require.ErrorIs(t, run(stopped, inFolder(t, 1), noEnv, &out, &out), context.Canceled)
}
