package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// Every page of help fits into a terminal, and says how to go on.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"provider", "--help"}, {"presets", "--help"}, {"presets", "show", "--help"}, {"demo", "--help"}, {"completion", "-h"}} {
		status, out, errs := p.do(args...)
		assert.Zero(t, status, errs)
		assert.Contains(t, out, "Usage: headrace")
		for one := range strings.Lines(out) {
			assert.LessOrEqual(t, len(strings.TrimRight(one, "\n")), 80, one)
		}
	}
	_, out, _ := p.do("run", "--help")
	for _, want := range []string{"Examples:", "headrace run requests.jsonl --retry-failed", "130  interrupted by Ctrl-C", "--max-wait"} {
		assert.Contains(t, out, want)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for want, args := range map[string][]string{
		"unknown flag --rps":           {"run", "r.jsonl", "--rps", "1"},
		"expected \"<requests>\"":      {"run"},
		"unexpected argument walk":     {"walk"},
		"--progress":                   {"run", "r.jsonl", "--progress", "loud"},
		"\"rps\", which is no flag":    {"run", "r.jsonl", "--config", "rps.yaml"},
		"no preset is of \"nobody\"":   {"presets", "list", "nobody"},
		"is no share":                  {"provider", "--faults", "2"},
		"counts what the provider":     {"provider", "--limit", "1 points/s"},
		"a limit of that kind already": {"provider", "--limit", "1/s, 9/min"},
		"such as 30-60":                {"provider", "--hidden", "60-30"},
		"give --hidden":                {"provider", "--move", "1s"},
		"of all requests together":     {"provider", "--faults", "0.6", "--cut", "0.6"},
		"give another --addr":          {"provider", "--addr", "127.0.0.1:http-nowhere"},
		"a new folder is wanted":       {"demo", "--keep", "."},
		"0 is below 1":                 {"demo", "--requests", "0"},
		"must be one of":               {"completion", "tcsh"},
		"file or directory":            {"run", "r.jsonl", "--config", "none.yaml"},
		"it is the name of an environ": {"run", "r.jsonl", "--api-key-env", "sk-1"},
	} {
		p.write("rps.yaml", "rps: 1\n")
		status, _, errs := p.do(args...)
		assert.Equal(t, 2, status, args)
		assert.Contains(t, errs, want)
	}
}

// Flags go before the environment, that before the file, and all before a preset.
func TestWhatGoesBeforeWhat(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(100)
	rpm := func(args ...string) string {
		_, out, errs := p.do(append([]string{"run", "r.jsonl", "--dry-run"}, args...)...)
		for one := range strings.Lines(out) {
			if rest, ok := strings.CutPrefix(one, "limits:    "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return errs
	}
	p.write("c.yaml", "rpm: 3\nlimit: [\"7/s, 8/day\", 9/h]\n")
	assert.Equal(t, "7/s, 8/day, 9/h, 3/min", rpm("--config", "c.yaml"))
	p.env = []string{"HEADRACE_CONFIG=c.yaml"}
	assert.Equal(t, "7/s, 8/day, 9/h, 3/min", rpm())
	p.env = append(p.env, "HEADRACE_RPM=2")
	assert.Equal(t, "7/s, 8/day, 9/h, 2/min", rpm())
	assert.Equal(t, "7/s, 8/day, 9/h, 1/min", rpm("--rpm", "1"))
	assert.Equal(t, "6/s, 1/min", rpm("--rpm", "1", "--limit", "6/s"))
}

func TestPresets(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	status, out, _ := p.do("presets", "list", "OpenAI")
	require.Zero(t, status)
	assert.Contains(t, out, "openai/tier1/gpt-4o-mini")
	assert.NotContains(t, out, "anthropic/")
	status, out, _ = p.do("presets", "search", "EUTILS")
	require.Zero(t, status)
	assert.Contains(t, out, "ncbi-eutils/api-key")
	status, out, _ = p.do("presets", "show", "openai/tier1")
	require.Zero(t, status)
	for _, want := range []string{"limits", "as of", "source", "https://", "confidence"} {
		assert.Contains(t, out, want)
	}
	status, _, errs := p.do("presets", "show", "openai/teir1")
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "openai/tier1")
	status, out, _ = p.do("version")
	assert.Zero(t, status)
	assert.Contains(t, out, "headrace ")
}

// The scripts are what their shells can read, and know flags and presets.
func TestCompletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, shell := range []string{"bash", "zsh", "fish"} {
		status, out, errs := p.do("completion", shell)
		require.Zero(t, status, errs)
		assert.Contains(t, out, "retry-failed")
		assert.Contains(t, out, "openai/tier1")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	_, script, _ := p.do("completion", "bash")
	p.write("complete.bash", script)
	complete := func(words ...string) string {
		cmd := exec.CommandContext(t.Context(), bash, "-c", `source ./complete.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _headrace; printf '%s\n' "${COMPREPLY[@]}"`, "_")
		cmd.Args = append(cmd.Args, words...)
		cmd.Dir = p.dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	assert.Equal(t, "run\n", complete("headrace", "ru"))
	assert.Equal(t, "--retry-failed\n", complete("headrace", "run", "--ret"))
	assert.Equal(t, "search\n", complete("headrace", "presets", "se"))
	assert.Equal(t, "openai/tier1/gpt-4o-mini-tts\n", complete("headrace", "run", "r.jsonl", "--preset", "openai/tier1/gpt-4o-mini-tt"))
	assert.Equal(t, "complete.bash\n", complete("headrace", "run", "comp"))
}

// A provider of its own process, and a run against it.
func TestProvider(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(5)
	cmd := p.command("provider", "--addr", "127.0.0.1:0", "--limit", "100/s", "--latency", "1ms", "--need-key", "k", "--headers", "--retry-after", "seconds")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := bufio.NewScanner(out)
	require.True(t, said.Scan())
	_, base, ok := strings.Cut(said.Text(), "--base-url ")
	require.True(t, ok, said.Text())

	status, _, errs := p.do("run", "r.jsonl", "--base-url", base)
	assert.Equal(t, 1, status)
	assert.Contains(t, errs, "wants a key (401)")
	p.env = []string{"K=k"}
	status, _, errs = p.do("run", "r.jsonl", "--base-url", base, "--api-key-env", "K", "--progress", "json")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, `"final":true`)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(base, "/v1")+"/_ledger", nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	var counts providertest.Counts
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&counts))
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 5, counts.Served)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.True(t, said.Scan())
	assert.Contains(t, said.Text(), "5 served")
	require.NoError(t, cmd.Wait())
}
