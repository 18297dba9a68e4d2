package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/presets/dialect"
)

// usual are the flags that have a default.
func usual() settings.Flags {
	return settings.Flags{Requests: "r.jsonl", MaxAttempts: 3, MaxWait: time.Minute, Timeout: time.Minute}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set     func(f *settings.Flags)
		base    string
		key     string
		format  requests.Format
		dialect dialect.Name
	}{
		"nothing":        {func(*settings.Flags) {}, "https://api.openai.com/v1", "OPENAI_API_KEY", requests.OpenAI, dialect.OpenAI},
		"format":         {func(f *settings.Flags) { f.Format = "anthropic" }, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", requests.Anthropic, dialect.Anthropic},
		"preset":         {func(f *settings.Flags) { f.Preset = "anthropic/tier1" }, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", requests.Anthropic, dialect.Anthropic},
		"another preset": {func(f *settings.Flags) { f.Preset = "groq/free" }, "https://api.groq.com/openai/v1", "GROQ_API_KEY", requests.OpenAI, dialect.Groq},
		"known host":     {func(f *settings.Flags) { f.BaseURL = "https://api.mistral.ai/v1" }, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", requests.OpenAI, dialect.Mistral},
		"unknown host":   {func(f *settings.Flags) { f.BaseURL = "http://localhost:8000" }, "http://localhost:8000", "", requests.OpenAI, dialect.Auto},
		"a gateway":      {func(f *settings.Flags) { f.Preset, f.BaseURL = "openai/tier1", "https://gate.example/v1" }, "https://gate.example/v1", "", requests.OpenAI, dialect.OpenAI},
		"its key":        {func(f *settings.Flags) { f.BaseURL, f.APIKeyEnv = "https://gate.example", "MINE" }, "https://gate.example", "MINE", requests.OpenAI, dialect.Auto},
		"a header":       {func(f *settings.Flags) { f.Header = []string{"Authorization: Bearer x"} }, "https://api.openai.com/v1", "", requests.OpenAI, dialect.OpenAI},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := usual()
			tc.set(&f)
			r, err := settings.Resolve(f, func(string) string { return "secret" })
			require.NoError(t, err)
			assert.Equal(t, tc.base, r.Base.String())
			assert.Equal(t, tc.key, r.KeyName)
			assert.Equal(t, tc.key == "", r.Key.IsZero())
			assert.Equal(t, tc.format, r.Lines)
			assert.Equal(t, tc.dialect, r.Dialect)
		})
	}
}

func TestProblemsNameTheirFlag(t *testing.T) {
	t.Parallel()
	f := settings.Flags{
		Requests: "r.jsonl", Out: "r.jsonl", Errors: "-", Format: "csv", Preset: "openai/tier9", BaseURL: "https://u:secret@h/v1?api_key=secret",
		APIKeyEnv: "sk-secret", Header: []string{"secret"}, RPM: new(int64(-1)), TPM: new(int64(0)), Concurrency: new(0), Limit: []string{"often"}, Grace: -1,
		MaxFailures: new(int64(-1)), RetryFailed: true, Fresh: true,
	}
	_, err := settings.Resolve(f, env())
	for _, flag := range []string{
		"--out", "--errors", "--format", "--preset", "--base-url", "--api-key-env", "--header", "--rpm", "--tpm", "--concurrency", "--limit",
		"--grace", "--max-attempts", "--max-wait", "--timeout", "--max-failures", "--retry-failed",
	} {
		require.ErrorContains(t, err, flag+": ")
	}
	assert.NotContains(t, err.Error(), "secret")

	f = usual()
	f.Format = "csv"
	_, err = settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.EqualError(t, err, `--format: "csv" is not openai or anthropic`)
	f = usual()
	f.MaxWait = -1
	_, err = settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.EqualError(t, err, "--max-wait: -1ns is not positive")
	f = usual()
	f.RPM, f.TPM, f.Concurrency = new(int64(0)), new(int64(0)), new(0)
	_, err = settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.EqualError(t, err, "--rpm: 0 is less than 1: leave the flag out for no limit\n"+
		"--tpm: 0 is less than 1: leave the flag out for no limit\n--concurrency: 0 is less than 1: leave the flag out for no limit", "like --limit 0/s")
	f = usual()
	f.Law = "fixed"
	_, err = settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.ErrorContains(t, err, "fixed has nothing to keep")
	f = usual()
	_, err = settings.Resolve(f, env("OPENAI_API_KEY", " "))
	require.ErrorContains(t, err, "OPENAI_API_KEY is not set")
	f.DryRun = true
	_, err = settings.Resolve(f, env())
	require.NoError(t, err)
	f.BaseURL = "localhost:8000"
	_, err = settings.Resolve(f, env())
	require.ErrorContains(t, err, "has to begin with https://")
}

// What cannot be a key is a mistake of the command, and not a service that fails.
func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"sk-secret\nsk-other":   "has a line break or another character that no key has",
		"sk-secret\u200b":       "has a line break or another character that no key has",
		`"sk-secret"`:           "has quotes around the key",
		"'sk-secret'":           "has quotes around the key",
		"Bearer sk-secret":      "begins with Bearer",
		" sk-secret\n":          "",
		"no key":                "",
		"bearer-of-this-secret": "",
	} {
		_, err := settings.Resolve(usual(), env("OPENAI_API_KEY", value))
		if want == "" {
			assert.NoError(t, err, value)
			continue
		}
		assert.EqualError(t, err, "--api-key-env: the environment variable OPENAI_API_KEY "+want+": set it to the key alone")
	}
}

// A word that looks like a key is not printed, and neither is the value of a --header without quotes.
func TestAKeyInPlaceOfAName(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"sk-12345678": true, "sk_live_12345678": true, "gsk_9abc": true, "AIzaSyA1": true, "eyJhbGciOiJIUzI1NiJ9.eyJz": true, "0123456789abcdef": true,
		"MY_KEY": false, "OPENAI_API_KEY_2": false, "openai_key": false, "AVERYLONGNAMEWITHOUTDIGITS": false, "requests-2026-11.jsonl": false, "sk-": false,
		"in/0123456789abcdef.jsonl": false, "0123456789abcdef.JSON": false,
	} {
		assert.Equal(t, want, settings.LooksLikeKey(word), word)
		f := usual()
		f.APIKeyEnv, f.Requests = word, word
		r, err := settings.Resolve(f, env())
		require.Error(t, err)
		if want {
			assert.NotContains(t, err.Error(), word)
			assert.NotContains(t, r.Present().Error(), word)
			continue
		}
		assert.ErrorContains(t, r.Present(), word+" does not exist")
		_, err = settings.Resolve(f, env(word, "k"))
		assert.Equal(t, strings.ContainsAny(word, "-/"), err != nil, "a name holds no hyphen and no slash")
	}
	f := usual()
	f.APIKeyEnv = "A1234567890123456"
	_, err := settings.Resolve(f, env(f.APIKeyEnv, "k"))
	assert.NoError(t, err, "it is a name after all")
}

// A header that net/http rejects would fail each call, and one that it ignores would be missing.
func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"X(Y): secret": `one of them is not "Name: value"`, "X Y: secret": `one of them is not "Name: value"`, ": secret": `one of them is not "Name: value"`,
		"X: secret\x01": `one of them is not "Name: value"`, "X: secret\n": "", "X-My_Id.1: é\tb": "", "X:": "",
		"host: secret":           "Host cannot be set: it follows from --base-url and the request",
		"Content-Length: 5":      "Content-Length cannot be set: it follows from --base-url and the request",
		"transfer-encoding: any": "Transfer-Encoding cannot be set: it follows from --base-url and the request",
		"trailer: X":             "Trailer cannot be set: headrace sets it for each request",
		"Connection: close":      "Connection cannot be set: headrace sets it for each request",
		"Upgrade: h2c":           "Upgrade cannot be set: headrace sets it for each request",
		"Accept-Encoding: br":    "Accept-Encoding cannot be set: headrace sets it for each request",
		"idempotency-key: 1":     "Idempotency-Key cannot be set: headrace sets it for each request",
	} {
		f := usual()
		f.Header = []string{header}
		_, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
		if want == "" {
			assert.NoError(t, err, header)
			continue
		}
		assert.EqualError(t, err, "--header: "+want)
	}
}

func TestAllCapsHold(t *testing.T) {
	t.Parallel()
	f := usual()
	f.RPM, f.TPM, f.Concurrency, f.Limit = new(int64(100)), new(int64(5000)), new(9), []string{"2/s, 7 concurrent", "8 concurrent"}
	r, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.NoError(t, err)
	assert.Equal(t, "2/s, 100/min, 5000 tokens/min, 7 concurrent", r.Spec.Limits.String())
	g, end, err := r.Guard(nil, nil)
	require.NoError(t, err)
	require.NoError(t, end())
	assert.Equal(t, r.Spec.Limits, g.Stats().Limits)
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][3]string{
		"a/r.jsonl":    {"a/r.results.jsonl", "a/r.errors.jsonl", "a/r.results.jsonl.journal"},
		"a/r.jsonl.gz": {"a/r.results.jsonl", "a/r.errors.jsonl", "a/r.results.jsonl.journal"},
		"r.txt":        {"r.txt.results.jsonl", "r.txt.errors.jsonl", "r.txt.results.jsonl.journal"},
		"-":            {"headrace.results.jsonl", "headrace.errors.jsonl", "headrace.results.jsonl.journal"},
		"/dev/stdin":   {"headrace.results.jsonl", "headrace.errors.jsonl", "headrace.results.jsonl.journal"},
		"/dev/fd/63":   {"headrace.results.jsonl", "headrace.errors.jsonl", "headrace.results.jsonl.journal"},
		"/dev/shm/r":   {"/dev/shm/r.results.jsonl", "/dev/shm/r.errors.jsonl", "/dev/shm/r.results.jsonl.journal"},
	} {
		f := usual()
		f.Requests = in
		r, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
		require.NoError(t, err)
		assert.Equal(t, want, [3]string{r.Out, r.Errors, r.Journal})
	}
	f := usual()
	f.Out = "-"
	r, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.NoError(t, err)
	assert.Empty(t, r.Journal)
}

// What a link leads to is the same file: --fresh would empty the requests.
func TestALinkIsTheFileItLeadsTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, soft, hard := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "soft"), filepath.Join(dir, "hard")
	require.NoError(t, os.WriteFile(in, []byte("{}\n"), 0o600))
	require.NoError(t, os.Symlink(in, soft))
	require.NoError(t, os.Link(in, hard))
	for _, out := range []string{in, soft, hard} {
		f := usual()
		f.Requests, f.Out = in, out
		_, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
		require.ErrorContains(t, err, "--out: "+out+" is also used for REQUESTS: each needs a file of its own")
	}
}
