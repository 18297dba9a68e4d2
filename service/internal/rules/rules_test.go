package rules_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

const example = `
rate_limits:
  - {scope: user, resource: search, capacity: 100, refill_rate: 2.5}
  - {scope: user, capacity: 50, refill_rate: 5, min_refill_interval_ms: 200}
  - {name: trial, scope: trial, resource: "*", capacity: 20, refill_rate: 0}
  - {scope: org, limits: "5/s, 300/min"}
costs: {export: 10}
`

func TestResolution(t *testing.T) {
	c, err := rules.Parse([]byte(example))
	require.NoError(t, err)
	for _, tc := range []struct{ scope, resource, want, limits string }{
		{"user", "search", "user/search", "bucket 2.5 points/s burst 100"},
		{"user", "other", "user", "bucket 5 points/s burst 50"},
		{"trial", "search", "trial", ""},
		{"org", "", "org", "5 points/s, 300 points/min"},
		{"nobody", "search", "default", "bucket 10 points/s burst 1000"},
		{"", "", "default", "bucket 10 points/s burst 1000"},
	} {
		r := c.Rules.Resolve(tc.scope, tc.resource)
		assert.Equal(t, tc.want, r.Name, tc)
		if tc.limits != "" {
			assert.Equal(t, tc.limits, r.Limits.String(), tc)
		}
	}
	assert.Equal(t, 200*time.Millisecond, c.Rules.Resolve("user", "").MinWait)
	assert.True(t, c.Rules.Resolve("trial", "").OneShot)
	assert.False(t, c.Rules.Resolve("user", "").OneShot)
	assert.Equal(t, int64(10), c.Rules.Cost("export"))
	assert.Equal(t, int64(1), c.Rules.Cost("search"))
	assert.True(t, c.Rules.Knows("user"))
	assert.False(t, c.Rules.Knows("nobody"))
	assert.Len(t, c.Rules.All(), 5)
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "{}", "# nothing\n{}"} {
		c, err := rules.Parse([]byte(text))
		require.NoError(t, err)
		r := c.Runtime
		assert.Equal(t, "memory", r.Store)
		assert.Equal(t, rules.Closed, r.Outage)
		assert.Equal(t, rules.Breaker{Failures: 5, Successes: 2, Open: 10 * time.Second, MaxOpen: time.Minute}, r.Breaker)
		assert.Equal(t, 500*time.Millisecond, r.Timeout)
		assert.Equal(t, time.Hour, r.Permits.MaxAge)
		assert.Empty(t, c.Tokens)
		assert.Nil(t, c.Key)
	}
}

// Every problem has its place and its path.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"rate_limits:\n- {scope: user, capacity: 0, refill_rate: 1}":                                   "line 2:27: rate_limits[0].capacity: 0 is not between 1 and 1099511627776",
		"rate_limits:\n- {scope: user, refill_rate: 1}":                                                "line 2:3: rate_limits[0].capacity: it is missing: write how many tokens",
		"rate_limits:\n- {scope: user}":                                                                "line 2:3: rate_limits[0].capacity: there is neither a capacity nor limits",
		"rate_limits:\n- {scope: user, capacity: 5}":                                                   "rate_limits[0].refill_rate: it is missing",
		"rate_limits:\n- {scope: user, capacity: 5, refill_rate: -1}":                                  "line 2:43: rate_limits[0].refill_rate: -1 is negative",
		"rate_limits:\n- {scope: user, capacity: 5, refill_rate: 5001}":                                "rate_limits[0].refill_rate: 5001 is more than 1000 times the capacity: write at most 5000",
		"rate_limits:\n- {scope: user, capacity: 5, refill_rate: 1e-12}":                               "is too slow for a capacity of 5",
		"rate_limits:\n- {capacity: 5, refill_rate: 1}":                                                "rate_limits[0].scope: it is missing",
		"rate_limits:\n- {scope: user, capacity: 5, refill_rate: 1, limits: 5/s}":                      "rate_limits[0].limits: it is set together with capacity",
		"rate_limits:\n- {scope: user, limits: 8 concurrent}":                                          "rate_limits[0].limits: 8 concurrent cannot be enforced",
		"rate_limits:\n- {scope: user, limits: 5 tokens/s}":                                            "rate_limits[0].limits: 5 tokens/s counts tokens",
		"rate_limits:\n- {scope: user, limits: unlimited}":                                             "rate_limits[0].limits: there is no window",
		"rate_limits:\n- {scope: a, limits: 1/s}\n- {scope: a, limits: 2/s}":                           "line 3:3: rate_limits[1]: the scope \"a\" has a default already",
		"rate_limits:\n- {scope: a, resource: b, limits: 1/s}\n- {scope: a, resource: b, limits: 2/s}": "has a limit already",
		"rate_limits:\n- {name: x, scope: a, limits: 1/s}\n- {name: x, scope: b, limits: 2/s}":         "rate_limits[1].name: \"x\" is also the name of another limit",
		"rate_limits:\n- {name: default, scope: a, limits: 1/s}":                                       "rate_limits[0].name: ",
		"rate_limits:\n- {name: \"a b\", scope: a, limits: 1/s}":                                       "rate_limits[0].name: \"a b\" is not a name",
		"rate_limits:\n- {scope: a, limits: 1/s, min_refill_interval_ms: -1}":                          "min_refill_interval_ms: -1 is not between",
		"rate_limits:\n- {scope: a, limts: 1/s}":                                                       "rate_limits[0].limts: the key is unknown: did you mean limits?",
		"rate_limits: 5":                                                                               "rate_limits: it is a number: write a list of objects",
		"default: {scope: a, limits: 1/s}":                                                             "default.scope: the default is for every scope",
		"costs: {a: 0}":                                                                                "costs.a: 0 would be the default",
		"costs: {a: 1000001}":                                                                          "costs.a: 1000001 is not between 1 and 1000000",
		"runtime: {outage: opne}":                                                                      "runtime.outage: \"opne\" is not a policy: did you mean open?",
		"runtime: {outage: local}":                                                                     "runtime.local_share: outage: local needs it",
		"runtime: {local_share: 0.5}":                                                                  "runtime.local_share: it is for outage: local",
		"runtime: {timeout: 1ms}":                                                                      "runtime.timeout: 1ms is not between 10ms and 30s",
		"runtime: {breaker: {open: 2m, max_open: 1m}}":                                                 "runtime.breaker.open: 2m0s is longer than max_open, 1m0s",
		"runtime: {auth: {token_hashes: [abc]}}":                                                       "runtime.auth.token_hashes: one of them is not a SHA-256",
		"runtime: {auth: {token_file: /does/not/exist}}":                                               "runtime.auth.token_file: ",
		"runtime: {permits: {max_age: 25h}}":                                                           "runtime.permits.max_age: 25h0m0s is not between",
		"a: [":                                                                                         "it is not YAML",
		"{}\n---\n{}":                                                                                  "a second document begins",
	} {
		_, err := rules.Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
		assert.True(t, errors.As(err, new(*fault.FieldError)), text)
	}
}

func TestSeveralProblemsAreJoined(t *testing.T) {
	_, err := rules.Parse([]byte("costs: {a: -1}\nruntime: {timeout: 1ms}"))
	assert.Len(t, strings.Split(err.Error(), "\n"), 2)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Files of secrets are relative to the configuration, and no error repeats what is in them.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tokens", "# of ci\nabcdefghijklmnopqrstuvwxyz\n\n0123456789abcdef0123456789abcdef\n")
	write(t, dir, "key", strings.Repeat("k", 32)+"\n")
	c, _, err := rules.Load(write(t, dir, "limits.yaml", "runtime: {auth: {token_file: tokens}, permits: {key_file: key}}"))
	require.NoError(t, err)
	assert.Len(t, c.Tokens, 2)
	assert.Equal(t, strings.Repeat("k", 32), string(c.Key))

	write(t, dir, "tokens", "se cret-of mine-and yours\n")
	write(t, dir, "key", "secret")
	_, _, err = rules.Load(filepath.Join(dir, "limits.yaml"))
	require.ErrorContains(t, err, "limits.yaml:1:30: runtime.auth.token_file: a line is not a token")
	require.ErrorContains(t, err, "runtime.permits.key_file: the key has fewer than 32 bytes")
	assert.NotContains(t, err.Error(), "cret-of")
	write(t, dir, "tokens", "\n")
	_, _, err = rules.Load(filepath.Join(dir, "limits.yaml"))
	require.ErrorContains(t, err, "the file has no token")
}

func TestLoadDoesNotWaitForAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, _, err := rules.Load(path)
	require.ErrorContains(t, err, "is not a file")
}

func TestLoadSaysWhichFileMayHaveBeenMeant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "limits.yaml", "{}")
	_, _, err := rules.Load(filepath.Join(dir, "limit.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "did you mean "+filepath.Join(dir, "limits.yaml"))
}

func TestTheFileIsBounded(t *testing.T) {
	_, err := rules.Parse([]byte("# " + strings.Repeat("x", 5<<20)))
	require.ErrorContains(t, err, "the file has more than")
}

func TestAOneShotQuotaIsAValidWindow(t *testing.T) {
	c, err := rules.Parse([]byte("default: {capacity: 1099511627776, refill_rate: 0}"))
	require.NoError(t, err)
	require.NoError(t, c.Rules.Resolve("", "").Limits.Validate())
	assert.Equal(t, throttle.CalendarWindow, c.Rules.Resolve("", "").Limits.Windows[0].Kind())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("default: {limits: 5/s}\nruntime: {store: redis://x, outage: local, local_share: 0.5, breaker: {open: 1s}}"))
	f.Add([]byte("rate_limits: [&a {scope: x, capacity: 5, refill_rate: 1}, *a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "_file") {
			t.Skip("it reads files")
		}
		c, err := rules.Parse(data)
		if err != nil {
			return
		}
		for _, r := range c.Rules.All() {
			if err := r.Limits.Validate(); err != nil || len(r.Limits.Windows) == 0 {
				t.Fatalf("%q: %v", r.Name, err)
			}
		}
		if r := c.Rules.Resolve("user", "x"); r == nil {
			t.Fatal("no rule")
		}
	})
}
