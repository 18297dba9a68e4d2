package prose

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository, seen from this folder.
const root = "../.."

func TestPages(t *testing.T) {
	check(t, ".md", 0.3, 0, func(text []byte) string { return Page(string(text)) })
}

func TestComments(t *testing.T) {
	check(t, ".go", 0.1, 0, Comments)
}

// check fails if the files of an extension have more person words per 1,000
// words than rate, or more phrases than the bound. It lists the hits then.
func check(t *testing.T, ext string, rate float64, bound int, prose func([]byte) string) {
	t.Helper()
	words, persons, phrases := 0, []string(nil), []string(nil)
	for _, name := range files(t, root, ext) {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		c := Check(prose(text))
		words += c.Words
		for _, hit := range c.Persons {
			persons = append(persons, format(name, hit))
		}
		for _, hit := range c.Phrases {
			phrases = append(phrases, format(name, hit))
		}
	}
	require.Greater(t, words, 10_000, "the walk found too little")
	reached := 1000 * float64(len(persons)) / float64(words)
	t.Logf("*%s: %d words, %d person words (%.2f per 1,000, bound %.2f), %d phrases (bound %d)",
		ext, words, len(persons), reached, rate, len(phrases), bound)
	assert.LessOrEqual(t, reached, rate, "person words:\n%s", strings.Join(persons, "\n"))
	assert.LessOrEqual(t, len(phrases), bound, "phrases:\n%s", strings.Join(phrases, "\n"))
}

// files lists the files below a folder that have the extension, except this
// package, which names the words it looks for.
func files(t *testing.T, root, ext string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			skip := strings.HasPrefix(entry.Name(), ".") && name != "." || entry.Name() == "testdata" ||
				entry.Name() == "node_modules" || name == "internal/prose"
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) == ext {
			names = append(names, name)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}
