package occurrence_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/occurrence"
)

func TestMarksWithWhatIsLacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) occurrence.Record {
			return occurrence.Record{Content: occurrence.Of(rapid.String().Draw(t, "content")), Occurrence: rapid.Int64Range(0, 9).Draw(t, "occurrence")}
		}), 0, 5).Draw(t, "records")
		mark := rapid.SampledFrom([]string{"", "+", "12-00000000", "a\n-b", "a\n-"}).Draw(t, "mark")
		text := occurrence.WithLacking(mark, records)
		slices.Reverse(records)
		require.Equal(t, text, occurrence.WithLacking(mark, records), "the order does not matter")
		of, got := occurrence.CutLacking(text)
		require.Equal(t, mark, of)
		require.ElementsMatch(t, records, got)
	})
}

func TestWhatAScopeHasMet(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	p := open(ctx, t, "a")
	defer p.Close(nil)
	p.Next("x")
	assert.True(t, p.Met(occurrence.Record{Content: occurrence.Of("x")}))
	assert.False(t, p.Met(occurrence.Record{Content: occurrence.Of("x"), Occurrence: 1}))
	assert.False(t, p.Met(occurrence.Record{Content: occurrence.Of("y")}))
}
