package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"a run: 1 of 2"}, fold("a run: 1 of 2", 14))
	assert.Equal(t, []string{"a run: 1 of", "  2"}, fold("a run: 1 of 2", 13))
	assert.Equal(t, []string{"naïve:", "  漢字", "  漢字"}, fold("naïve: 漢字 漢字", 8))
	assert.Equal(t, []string{"a", "  word-that-is-longer", "  b"}, fold("a word-that-is-longer b", 5))
}

// No word is lost, and no line is too long but one of a single word.
func TestFoldKeepsWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[a-z漢]{1,12}"), 1, 20).Draw(t, "words")
		width := rapid.IntRange(1, 60).Draw(t, "width")
		lines := fold(strings.Join(words, " "), width)
		var all []string
		for i, line := range lines {
			if i > 0 {
				assert.True(t, strings.HasPrefix(line, hanging))
			}
			own := strings.Fields(line)
			all = append(all, own...)
			assert.True(t, widthOf(line) < width || len(own) == 1, line)
		}
		assert.Equal(t, words, all)
	})
}
