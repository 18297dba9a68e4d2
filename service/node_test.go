package service_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/nodemodules"
	"github.com/headrace/headrace/service"
)

// A client that Node.js generates from the .proto files, without any code of ours.
func TestNode(t *testing.T) {
	modules := nodemodules.Install(t, "testdata/node")
	s := start(t, service.Config{Text: []byte(limits)})
	dir := t.TempDir()
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	script, err := os.ReadFile("testdata/node/check.mjs")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "check.mjs"), script, 0o600))
	protos, err := filepath.Abs("proto")
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), "node", "check.mjs", strings.TrimPrefix(s.url, "http://"), protos)
	node.Dir = dir
	var stderr strings.Builder
	node.Stderr = &stderr
	out, err := node.Output()
	require.NoError(t, err, stderr.String())

	type result struct {
		Allowed                         bool
		TokensRemaining, TokensCapacity int
		Permit                          string
		RetryAfter                      *struct{ Seconds int }
	}
	type failure struct{ Status, Details string }
	var got struct {
		First, Second, Third struct{ Result result }
		Settled, Invalid     failure
		Batch                struct {
			Outcomes []struct {
				Result *result
				Error  *struct{ Code, Message string }
			}
		}
		Health struct{ Status, Breaker string }
	}
	require.NoError(t, json.Unmarshal(out, &got), string(out))
	assert.True(t, got.First.Result.Allowed)
	assert.Equal(t, 4, got.First.Result.TokensRemaining)
	assert.NotEmpty(t, got.First.Result.Permit)
	assert.False(t, got.Second.Result.Allowed)
	require.NotNil(t, got.Second.Result.RetryAfter)
	assert.InDelta(t, 2000, got.Second.Result.RetryAfter.Seconds, 60, "2 tokens at 0.001 a second")
	assert.Empty(t, got.Settled.Status)
	assert.True(t, got.Third.Result.Allowed, "5 of 6 tokens were given back")
	assert.Equal(t, "INVALID_ARGUMENT", got.Invalid.Status)
	assert.Contains(t, got.Invalid.Details, "tokens")
	require.Len(t, got.Batch.Outcomes, 2)
	require.NotNil(t, got.Batch.Outcomes[0].Result)
	require.NotNil(t, got.Batch.Outcomes[1].Error)
	assert.Equal(t, "CODE_INVALID", got.Batch.Outcomes[1].Error.Code)
	assert.Equal(t, "STATUS_HEALTHY", got.Health.Status)
}
