package presets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkParse(b *testing.B) {
	data := []byte(facts)
	b.ReportAllocs()
	for b.Loop() {
		_, err := Parse(data)
		require.NoError(b, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := Lookup("openai/tier1")
		require.NoError(b, err)
	}
}

// What a program pays for its first Lookup.
func BenchmarkFirstLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := checker{text: facts}
		t, err := c.table()
		require.NoError(b, err)
		_, err = t.Lookup("openai/tier1")
		require.NoError(b, err)
	}
}
