package presets_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets"
)

func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile("facts.json")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := presets.Parse(data)
		require.NoError(b, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := presets.Lookup("openai/tier1")
		require.NoError(b, err)
	}
}
