//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/nodemodules"
	"github.com/headrace/headrace/providertest"
)

// said is a line of testdata/node/chat.mjs.
type said struct {
	Kind, Text, Attempts string
	Chunks               int
	Error, Message       string
	Status               int
	Code, Headrace       string
}

// node is `headrace exec -- node chat.mjs`. Its clients get the provider from the environment only.
func (p *place) node(calls string, flags ...string) (all []said, errs string) {
	p.t.Helper()
	require.NoError(p.t, os.Symlink(nodemodules.Install(p.t, "testdata/node"), p.path("node_modules")))
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
	p := newPlace(t, refuses(3))
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
	assert.Regexp(t, `headrace: 20 calls, 3 429s hidden from the command`, errs)
	assert.NotContains(t, errs, "passed on")
	t.Logf("%d plain calls with more than one attempt\n%s", attempts, errs)
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
	assert.Regexp(t, `4 calls, [1-4] 429s? passed on to the command`, errs)
}

// An error of the proxy itself has the shape of the provider's errors, and can be recognized.
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
