//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// modules installs what testdata/node/package-lock.json names, once, and returns where.
func modules(t *testing.T) string {
	t.Helper()
	needs(t, "node", "npm")
	lock, err := os.ReadFile("testdata/node/package-lock.json")
	require.NoError(t, err)
	sum := sha256.Sum256(lock)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	cache = filepath.Join(cache, "headrace-tests")
	done := filepath.Join(cache, "node-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(done); err == nil {
		return filepath.Join(done, "node_modules")
	}
	require.NoError(t, os.MkdirAll(cache, 0o700))
	dir, err := os.MkdirTemp(cache, "install-") //nolint:usetesting // it is renamed, which works within one file system
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/node")))
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if said, err := npm.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the SDKs: %v\n%s", err, said)
	}
	if err := os.Rename(dir, done); err != nil {
		require.DirExists(t, done) // another process was faster
	}
	return filepath.Join(done, "node_modules")
}

// said is a line of testdata/node/chat.mjs.
type said struct {
	Kind, Text, Attempts string
	Chunks               int
	Error, Message       string
	Status               int
	Code, Headrace       string
}

// node is `headrace exec -- node chat.mjs`, whose clients know the provider from the environment only.
func (p *place) node(calls string, flags ...string) (all []said, errs string) {
	p.t.Helper()
	require.NoError(p.t, os.Symlink(modules(p.t), p.path("node_modules")))
	script, err := os.ReadFile("testdata/node/chat.mjs")
	require.NoError(p.t, err)
	p.write("chat.mjs", string(script))
	p.env = append(p.env, "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+p.dir,
		"OPENAI_API_KEY="+canary, "ANTHROPIC_API_KEY="+canary, "OPENAI_BASE_URL="+p.provider.URL()+"/v1", "ANTHROPIC_BASE_URL="+p.provider.URL())
	cmd := p.command(append(append([]string{"exec"}, flags...), "--", "node", "chat.mjs", calls)...)
	status, out, errs := p.end(cmd, cmd.Run)
	require.Zero(p.t, status, errs)
	lines := json.NewDecoder(strings.NewReader(out))
	for lines.More() {
		var one said
		require.NoError(p.t, lines.Decode(&one))
		all = append(all, one)
	}
	return all, errs
}

// The SDKs of Node.js, unchanged and without retries of their own, see no 429.
func TestNodeSDKsSeeNo429(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{
		Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 20, Burst: 4}}, RetryAfter: providertest.RetryAfterSeconds,
		Latency: providertest.Fixed(10 * time.Millisecond),
	})
	p.env = []string{"MAX_RETRIES=0"}
	all, errs := p.node("5")
	require.Len(t, all, 20)
	attempts := 0
	for _, one := range all {
		assert.Empty(t, one.Error, one.Message)
		assert.NotEmpty(t, one.Text, one.Kind)
		if strings.HasSuffix(one.Kind, "Stream") {
			assert.Greater(t, one.Chunks, 2, one.Kind)
		} else if one.Attempts != "1" {
			attempts++
		}
	}
	refused := p.provider.Ledger().Refused
	assert.Positive(t, refused)
	assert.Contains(t, errs, "that the command never saw")
	assert.NotContains(t, errs, "that it did")
	t.Logf("%d refused, %d plain calls with more than one attempt\n%s", refused, attempts, errs)
}

// A 429 that asks for a longer pause than headrace waits for is left to the command, as the provider sent it.
func TestNodeSDKsSeeALongPause(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7200"}}}
	}})
	p.env = []string{"MAX_RETRIES=0"}
	all, errs := p.node("1")
	require.Len(t, all, 4)
	for _, one := range all {
		assert.Equal(t, http.StatusTooManyRequests, one.Status, one)
		assert.Equal(t, "RateLimitError", one.Error, one)
	}
	assert.Regexp(t, `4 calls, [1-4] 429s? that it did`, errs)
}

// An error of the proxy itself has the shape of the provider's, and says whose it is.
func TestNodeSDKsTellWhoseErrorItIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.provider.Close()
	p.env = []string{"MAX_RETRIES=0"}
	all, errs := p.node("1")
	require.Len(t, all, 4)
	for _, one := range all {
		assert.Equal(t, "headrace_upstream_unreachable", one.Headrace, one)
		assert.Equal(t, 502, one.Status)
	}
	assert.Contains(t, errs, "headrace_upstream_unreachable (4)")
}
