package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBothLimitsBind(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	text := out.String()
	t.Log("\n" + text)
	assert.Regexp(t, `^500 of 500 calls completed in \d+\.\d s; the provider refused \d+\n`, text)
	assert.Regexp(t, `\n[1-9]\d* calls waited for 100/s\n`, text)
	assert.Regexp(t, `\n[1-9]\d* calls waited for 4000 tokens/s\n`, text)
	assert.Contains(t, text, "the life of chat-500: POST completed\n")
	for _, line := range []string{"submitted", "queued, after", "acquired slot, after", "called", "completed after"} {
		assert.Regexp(t, `\d\.\d\d\d s  `+line, text)
	}
	assert.Contains(t, text, "authorization: REDACTED, status: 200, cost: 100 tokens\n")
	assert.NotContains(t, text, "sk-not")
}
