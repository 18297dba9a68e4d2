package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// Every page of help fits into a terminal, and says how to go on.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"provider", "--help"}, {"presets", "--help"}, {"presets", "show", "--help"}, {"demo", "--help"}, {"exec", "--help"}, {"proxy", "--help"}, {"completion", "-h"}, {"ctl", "--help"}, {"ctl", "pause", "--help"}} {
		status, out, errs := p.do(args...)
		assert.Zero(t, status, errs)
		assert.Contains(t, out, "Usage: headrace")
		for one := range strings.Lines(out) {
			assert.LessOrEqual(t, len(strings.TrimRight(one, "\n")), 80, one)
		}
	}
	_, out, _ := p.do("exec", "--help")
	assert.Contains(t, out, "Usage: headrace exec [flags] -- COMMAND [ARGUMENTS]\n\nRun a command")
	_, out, _ = p.do("run", "--help")
	for _, want := range []string{"Examples:", "headrace run requests.jsonl --retry-failed", "130  interrupted by Ctrl-C; rerun the command without --fresh", "--max-wait"} {
		assert.Contains(t, out, want)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for want, args := range map[string][]string{
		"unknown flag --rps":                                     {"run", "r.jsonl", "--rps", "1"},
		"missing: <requests> (see headrace run --help":           {"run"},
		"unexpected argument walk":                               {"walk"},
		"rps.yaml: \"rps\" is not a flag, did you mean \"rpm\"?": {"run", "r.jsonl", "--config", "rps.yaml"},
		"no preset belongs to \"nobody\"":                        {"presets", "list", "nobody"},
		"is not a fraction":                                      {"provider", "--faults", "2"},
		"the unit is not supported":                              {"provider", "--limit", "1 points/s"},
		"already a limit of that kind":                           {"provider", "--limit", "1/s, 9/min"},
		"such as 30-60":                                          {"provider", "--hidden", "60-30"},
		"--hidden is missing":                                    {"provider", "--move", "1s"},
		"add up to":                                              {"provider", "--faults", "0.6", "--cut", "0.6"},
		"use another --addr":                                     {"provider", "--addr", "127.0.0.1:http-nowhere"},
		"the folder must not exist yet":                          {"demo", "--keep", "."},
		"0 is below 1":                                           {"demo", "--requests", "0"},
		"must be one of":                                         {"completion", "tcsh"},
		"--config: none.yaml cannot be read":                     {"run", "r.jsonl", "--config", "none.yaml"},
		"unexpected argument rnu, did you mean \"run\"?":         {"rnu"},
		"--fresh: \"maybe\" is not true or false (see ":          {"run", "r.jsonl", "--fresh=maybe"},
		"--rpm: \"x\" is not a whole number":                     {"run", "r.jsonl", "--rpm", "x"},
		"--rpm: a value is missing":                              {"run", "r.jsonl", "--rpm"},
		"--timeout: \"5\" is not a time: it needs a unit":        {"run", "r.jsonl", "--timeout", "5"},
		"--rpm: -5 is negative (see headrace run --help)":        {"run", "r.jsonl", "--rpm", "-5"},
		"--timeout: -1s is negative":                             {"run", "r.jsonl", "--timeout", "-1s"},
		"--limit: -5/s is negative":                              {"run", "r.jsonl", "--limit", "-5/s"},
		"headrace: --latency: must be positive":                  {"provider", "--latency=-1s"},
		"headrace: --spread: must be from 0 to 10":               {"provider", "--spread=-1"},
		"is out of range":                                        {"run", "r.jsonl", "--concurrency", "99999999999999999999"},
		"--law: \"quick\" is not measured":                       {"run", "r.jsonl", "--law", "quick"},
		"--law or --preset: fixed has nothing to keep":           {"run", "r.jsonl", "--law", "fixed", "--base-url", "http://127.0.0.1:1"},
		"--limit: \"50\": a / and a period are missing":          {"run", "r.jsonl", "--limit", "50"},
		"--preset: there is no preset \"openai/tier9\": did you mean openai/tier1": {"run", "r.jsonl", "--preset", "openai/tier9"},
		"--progress: \"loud\" is not one of":                                       {"run", "r.jsonl", "--progress", "loud"},
		"REQUESTS: none.jsonl does not exist":                                      {"run", "none.jsonl"},
		"--report: there is no folder nowhere":                                     {"run", "none.jsonl", "--report", "nowhere/report.json"},
		"did you mean \"openai\"? there are anthropic":                             {"presets", "list", "opneai"},
		"it is the name of an environ":                                             {"run", "r.jsonl", "--api-key-env", "sk-1"},
	} {
		p.write("rps.yaml", "rps: 1\n")
		status, _, errs := p.do(args...)
		assert.Equal(t, 2, status, args)
		assert.Contains(t, errs, want)
	}
}

// What is wrong in the environment or in a file says so.
func TestWhereItIsGiven(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	for want, line := range map[string]string{
		"c.yaml: rpm: it is a list":                                      "rpm: [1, 2]",
		"c.yaml: rpm: it is a mapping":                                   "rpm: {a: 1}",
		"c.yaml: rpm: \"3.5\" is not a whole number":                     "rpm: 3.5",
		"c.yaml: fresh: \"maybe\" is not true or false":                  "fresh: maybe",
		"c.yaml: timeout: \"5\" is not a time":                           "timeout: 5",
		"c.yaml: log-level: \"loud\" is not one of debug":                "log-level: loud",
		"c.yaml: progress: \"loud\" is not one of":                       "progress: loud",
		"c.yaml: \"max_wait\" is not a flag, did you mean \"max-wait\"?": "max_wait: 1s",
		"c.yaml: \"config\" can be given on the command line only":       "config: d.yaml",
		"c.yaml: a second YAML document begins after ---":                "rpm: 3\n---\nrpm: 4",
		"c.yaml: it has to be YAML, with lines such as":                  "- rpm",
		"c.yaml: it has to be YAML":                                      "a: b: c",
		"--limit: \"3\": a / and a period":                               "limit: [50/s, 3]",
	} {
		p.write("c.yaml", line+"\n")
		status, out, errs := p.do("run", "r.jsonl", "--dry-run", "--config", "c.yaml")
		assert.Equal(t, 2, status, out)
		assert.Contains(t, errs, want)
	}
	for want, variable := range map[string]string{
		"HEADRACE_RPM: \"x\" is not a whole number":    "HEADRACE_RPM=x",
		"HEADRACE_STRICT: \"on\" is not true or false": "HEADRACE_STRICT=on",
		"HEADRACE_LOG_LEVEL: \"x\" is not one of":      "HEADRACE_LOG_LEVEL=x",
		"HEADRACE_CONFIG: none.yaml cannot be read":    "HEADRACE_CONFIG=none.yaml",
	} {
		p.env = []string{variable}
		status, _, errs := p.do("run", "r.jsonl", "--dry-run")
		assert.Equal(t, 2, status, errs)
		assert.Contains(t, errs, want)
	}
	p.env = []string{"HEADRACE_RPM=", "HEADRACE_CONFIG=", "HEADRACE_FRESH=", "HEADRACE_TIMEOUT=", "HEADRACE_LAW="}
	status, _, errs := p.do("run", "r.jsonl", "--dry-run")
	assert.Zero(t, status, errs)
	assert.Empty(t, errs)
	p.env = []string{"HEADRACE_RPN=3", "HEADRACE_WITH_STDIN=1", "HEADRACE_RPM=7", "HEADRACE_TPN="}
	status, out, errs := p.do("run", "r.jsonl", "--dry-run")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "7/min")
	assert.Equal(t, "headrace: HEADRACE_RPN is set, but does not correspond to a flag: it is ignored, did you mean \"HEADRACE_RPM\"?\n", errs)
}

// The command that resumes a run does not contain --fresh, wherever that was set.
func TestFreshIsForOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	p.write("c.yaml", "fresh: true\n")
	dead := []string{"run", "r.jsonl", "--base-url", "http://127.0.0.1:1/v1"}
	_, _, errs := p.do(append(dead, "--fresh")...)
	assert.Contains(t, errs, "resume with: headrace run r.jsonl --base-url http://127.0.0.1:1/v1\n")
	_, _, errs = p.do(append(dead, "--config", "c.yaml")...)
	assert.Contains(t, errs, "--config c.yaml --fresh=false\n")
	p.env = []string{"HEADRACE_FRESH=1"}
	_, _, errs = p.do(dead...)
	assert.Contains(t, errs, "/v1 --fresh=false\n")
}

// The words for help and version that other programs take.
func TestHelpByOtherWords(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, same := range [][2][]string{
		{{"help"}, {"--help"}},
		{{"help", "run"}, {"run", "--help"}},
		{{"help", "presets", "show"}, {"presets", "show", "-h"}},
		{{"--version"}, {"version"}},
	} {
		status, want, _ := p.do(same[1]...)
		require.Zero(t, status)
		status, out, errs := p.do(same[0]...)
		assert.Zero(t, status, errs)
		assert.Equal(t, want, out)
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
	for one := range strings.Lines(out) {
		assert.LessOrEqual(t, len(one), 81, one)
	}
	status, out, _ = p.do("presets", "list", "voyage")
	require.Zero(t, status)
	assert.Regexp(t, `(?m)^PRESET +AGE +LIMITS$`, out)
	assert.Regexp(t, `(?m)^voyage/tier3/voyage-4-lite +\d+mo, stale +6k/min, 48m tokens/min$`, out)
	for one := range strings.Lines(out) {
		assert.LessOrEqual(t, len(one), 81, one)
	}
	status, out, _ = p.do("presets", "list")
	require.Zero(t, status)
	assert.Contains(t, out, "\n\nPRESET ", "a table for each provider")
	status, _, errs := p.do("presets", "show", "openai/teir1")
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "openai/tier1")
	status, out, _ = p.do("version")
	assert.Zero(t, status)
	assert.Contains(t, out, "headrace ")
}

// It is not an error if the reader of a list closes the pipe.
func TestAListIntoAClosedPipe(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, args := range [][]string{{"presets", "list"}, {"presets", "show", "openai/tier1"}, {"completion", "bash"}} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		cmd := p.command(args...)
		cmd.Stdout = write
		status, _, errs := p.end(cmd, cmd.Run)
		require.NoError(t, write.Close())
		assert.Zero(t, status)
		assert.Empty(t, errs)
	}
}

// What the limits let through at once is not limited by them.
func TestATimeThatIsNotLimited(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(10)
	for want, limit := range map[string]string{
		"as long as the calls take: the limits admit": "--rpm=10", "at least 1m7s, because of 9/min": "--rpm=9", "unknown: no rate limit": "--concurrency=9",
	} {
		_, out, errs := p.do("run", "r.jsonl", "--dry-run", limit)
		assert.Contains(t, out, "time:      "+want, errs)
	}
}

// --strict changes the exit status of an estimate to that of the run, and hides none of it.
func TestDryRunWithStrict(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+unsendable+request(1))
	status, out, errs := p.do("run", "r.jsonl", "--dry-run", "--strict")
	assert.Equal(t, 2, status)
	assert.Contains(t, out, "requests:  2, and 1 that cannot be sent\n")
	assert.Contains(t, out, "results:   r.results.jsonl\n")
	assert.Contains(t, errs, "r.jsonl:2: ")
	assert.Contains(t, errs, "headrace: 1 of 3 lines are invalid: with --strict, the run would send nothing\n")
	p.write("r.jsonl", request(0))
	status, _, errs = p.do("run", "r.jsonl", "--dry-run", "--strict")
	assert.Zero(t, status, errs)
}

// A request that a real run rejects as too large is not in the estimate.
func TestADryRunOfRequestsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+strings.Replace(request(1), "Tell", strings.Repeat("Tell ", 400), 1)+request(2))
	status, out, errs := p.do("run", "r.jsonl", "--dry-run", "--limit", "100 tokens/min")
	assert.Equal(t, 1, status, errs)
	assert.Contains(t, out, "requests:  2, and 1 that cannot be sent\ntoo large: 1, the first one on line 2: it may take ")
	assert.Contains(t, out, "time:      as long as the calls take")
	status, _, errs = p.run("--limit", "100 tokens/min")
	assert.Equal(t, 1, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 2)
	assert.Contains(t, p.read("r.errors.jsonl"), "too_large")
}

// Lines that repeat a custom_id are not sent, and not in the estimate.
func TestADryRunOfRepeatedRequests(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	large := strings.Replace(request(1), "Tell", strings.Repeat("Tell ", 400), 1)
	p.write("r.jsonl", request(0)+large)
	_, once, _ := p.do("run", "r.jsonl", "--dry-run", "--limit", "100 tokens/min")
	assert.Contains(t, once, "requests:  1, and 1 that cannot be sent\ntoo large: 1, the first one on line 2: ")
	p.write("r.jsonl", request(0)+large+request(0)+large+strings.Replace(request(0), `"m"`, `"other"`, 1))
	status, out, errs := p.do("run", "r.jsonl", "--dry-run", "--limit", "100 tokens/min")
	assert.Equal(t, 1, status, errs)
	assert.Equal(t, strings.Replace(once, "and 1 that", "and 4 that", 1), out)
	assert.Contains(t, errs, "r.jsonl:5: custom_id is the same as on line 1: each line needs its own\n")
}

// What the program says to the scripts.
func TestComplete(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.env = []string{"HEADRACE_CONFIG=none.yaml", "HEADRACE_RPM=x"} // nothing that it has to look at
	for _, tc := range []struct{ shell, words, want string }{
		{"fish", "ru", "run\tSend a file of requests as fast as the limits allow.\n"},
		{"fish", "help ru", "run\tSend a file of requests as fast as the limits allow.\n"},
		{"zsh", "run --ret", "--retry-failed:Retry requests that failed in an earlier run.\n"},
		{"zsh", "presets show openai/tier1/gpt-4.1-mini:l", "openai/tier1/gpt-4.1-mini\\:long-context\n"},
		{"zsh", "run --law=a", "--law=aimd\n"},
		{"bash", "presets se", "search\n"},
		{"bash", "run --law = a", "aimd\n"},
		{"bash", "run --preset openai/tier1/gpt-4.1-mini : l", "long-context\n"},
		{"bash", "run r.jsonl --preset openai/tier1/gpt-4o-mini-tt", "openai/tier1/gpt-4o-mini-tts\n"},
		{"bash", "provider --dialect az", "azure\n"},
		{"bash", "completion z", "zsh\n"},
		{"bash", "presets list openr", "openrouter\n"},
		{"bash", "run ", ""}, // a file
		{"bash", "run --out ", ""},
		{"bash", "run --fresh --fres", ""},
		{"bash", "run --limit 5/s --lim", "--limit\n"},
		{"bash", "provider --with", ""},
		{"bash", "version ", "--config\n--help\n"},
		{"bash", "nonsense ", "run\nexec\nproxy\nserve\ndemo\nprovider\npresets\ndoctor\nctl\ncompletion\nman\nversion\n"},
	} {
		status, out, errs := p.do(append([]string{"__complete", tc.shell}, strings.Split(tc.words, " ")...)...)
		assert.Zero(t, status)
		assert.Empty(t, errs)
		assert.Equal(t, tc.want, out, tc.words)
	}
}

// The scripts, in their shells as far as those are here.
func TestCompletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(p.path("bin"), 0o700))
	require.NoError(t, os.Symlink(self, p.path("bin/headrace")))
	p.write("complete-me", "")
	for shell, script := range map[string]string{
		"bash": `source ./script; for words in "headrace ru" "headrace run --ret" "headrace run --preset openai/tier1/gpt-4o-mini-tt" "headrace run comp"; do
			COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _headrace headrace; echo "${COMPREPLY[@]}"; done`,
		"zsh": `compdef() { echo "$@" }; _describe() { shift 2; echo $found }; _files() { echo a file }
			source ./script; for words in "headrace ru" "headrace run --ret" "headrace run --preset openai/tier1/gpt-4o-mini-tt" "headrace run comp"; do
			words=(${=words}); CURRENT=$#words; _headrace; done`,
		"fish": `source ./script; for words in "headrace ru" "headrace run --ret" "headrace run --preset openai/tier1/gpt-4o-mini-tt" "headrace run comp"; complete -C $words; end`,
	} {
		status, text, errs := p.do("completion", shell)
		require.Zero(t, status, errs)
		where, err := exec.LookPath(shell)
		if err != nil {
			t.Log("no " + shell)
			continue
		}
		p.write("script", text)
		cmd := exec.CommandContext(t.Context(), where, "-c", script)
		cmd.Dir = p.dir
		cmd.Env = []string{childEnv + "=1", "HOME=" + p.dir, "PATH=" + p.path("bin") + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		run, retry, file := "run\tSend a file of requests as fast as the limits allow.\n", "--retry-failed\tRetry requests that failed in an earlier run.\n", "complete-me\n"
		switch shell {
		case "bash": // -o default completes files
			run, retry, file = "run\n", "--retry-failed\n", "\n"
		case "zsh":
			run, retry, file = "_headrace headrace\n"+strings.ReplaceAll(run, "\t", ":"), strings.ReplaceAll(retry, "\t", ":"), "a file\n"
		}
		assert.Equal(t, run+retry+"openai/tier1/gpt-4o-mini-tts\n"+file, string(out), shell)
	}
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
	assert.Contains(t, errs, "requires a key (401)")
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

// Why requests are left is what the provider has said, and no document.
func TestWhyItIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: http.StatusTooManyRequests, Body: `{"error":{"message":"come back later"}}`}
	}})
	p.requests(1)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--max-wait", "3s")
	assert.Equal(t, 75, status)
	assert.Contains(t, errs, "1 request left for later; the first one because of: come back later (429)\n")
	assert.NotContains(t, errs, "the provider asks to wait")
}

// A long wait is named as the provider sent it, in all messages.
func TestARunNamesALongWaitOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"31536000"}}}
	}})
	p.requests(2)
	_, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--concurrency", "1")
	assert.Contains(t, errs, "is closed: the provider asks to wait for 365 days: ")
	assert.Contains(t, errs, "\nthe provider asks to wait for 365 days, until ")
	assert.NotContains(t, errs, "level=", "the display and the summary say it")
	for _, wait := range regexp.MustCompile(`\d+h\d+m\d+s|\d+ days`).FindAllString(errs, -1) {
		assert.Equal(t, "365 days", wait)
	}
}

// A wait for limits of this program is described without terms of the library.
func TestALimitThatIsTooLow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.run("--limit", "1/h", "--max-wait", "5s")
	require.Equal(t, 75, status)
	assert.Contains(t, errs, "\n2 requests left for later; the first one because of: the limits do not admit it within 5s (--max-wait)\n")

	cmd := p.command("run", "-", "--out", "r.results.jsonl", "--errors", "r.errors.jsonl", "--base-url", p.provider.URL()+"/v1")
	cmd.Stdin = strings.NewReader("")
	status, _, errs = p.end(cmd, cmd.Run)
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "\n1 result of requests that are no longer in standard input (--fresh leaves them out)\n")

	status, out, errs := p.run("--limit", "1/h", "--max-wait", "5s", "--out", "-", "--errors", "e.jsonl")
	require.Equal(t, 75, status)
	assert.Equal(t, 1, strings.Count(out, "\n"))
	assert.Contains(t, errs, "3 requests: 1 done, 0 failed, 2 left, ")
	assert.NotContains(t, errs, "failures:")
	assert.NoFileExists(t, p.path("e.jsonl"), "what is left has not failed, also without a journal")
}

// A century is not waited out, whatever --max-wait is up to a day.
func TestARunDoesNotWaitForACentury(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3153600000"}}}
	}})
	p.requests(2)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--concurrency", "1", "--max-wait", "24h")
	assert.Equal(t, 75, status)
	assert.Contains(t, errs, "is closed: the provider asks to wait for 36500 days")
	assert.Regexp(t, `\nthe provider asks to wait for 36500 days or longer, until \d+-\S+ \S+: resume then, or now, if the provider cannot mean that\n`, errs)
	assert.NotContains(t, errs, "24h0m0s\n")
}

// Without --max-wait a run does not wait for an hour. It ends, and says when the rest can be done.
func TestARunSaysWhenItCanGoOn(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if calls.Add(1) < 3 {
			return nil
		}
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3600"}}}
	}})
	p.requests(20)
	began := time.Now()
	status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--concurrency", "1")
	assert.Equal(t, 75, status)
	assert.Contains(t, errs, "20 requests: 2 done, 0 failed, 18 left")
	said := regexp.MustCompile(`the provider asks to wait for 1h0m0s, until (\S+ \S+): resume then, or let the run wait with --max-wait 1h1m0s\n`).FindStringSubmatch(errs)
	require.Len(t, said, 2, errs)
	until, err := time.ParseInLocation(time.DateTime, said[1], time.Local)
	require.NoError(t, err)
	assert.WithinRange(t, until, began.Add(time.Hour-time.Second), time.Now().Add(time.Hour))
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")
	assert.EqualValues(t, 3, calls.Load())
}
