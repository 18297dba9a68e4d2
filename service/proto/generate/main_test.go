package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheGeneratedCodeIsThatOfTheProtoFiles(t *testing.T) {
	code, err := generate(t.Context())
	require.NoError(t, err)
	require.Len(t, code, 4)
	for name, text := range code {
		have, err := os.ReadFile("../../ratelimitpb/" + name)
		require.NoError(t, err)
		assert.Equal(t, text, string(have), "%s: run make generate", name)
	}
}
