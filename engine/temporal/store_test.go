package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A value is durable when Put returns: also the names of the file, and of the directories that were made for it.
func TestDirSyncsNames(t *testing.T) {
	root := t.TempDir()
	d := Dir(filepath.Join(root, "runs"))
	at := filepath.Join(root, "runs", "run", "out")
	var synced []string
	sync := syncDir
	defer func() { syncDir = sync }()
	syncDir = func(name string) error {
		if name == at {
			_, err := os.Stat(filepath.Join(at, "0.json"))
			require.NoError(t, err, "it is synced before the file has its name")
		}
		synced = append(synced, name)
		return sync(name)
	}
	require.NoError(t, d.Put(t.Context(), "run/out/0", []byte("{}")))
	assert.ElementsMatch(t, []string{root, filepath.Join(root, "runs"), filepath.Join(root, "runs", "run"), at}, synced)
	synced = nil
	require.NoError(t, d.Put(t.Context(), "run/out/1", []byte("{}")))
	assert.Equal(t, []string{at}, synced)

	broken := errors.New("input/output error")
	syncDir = func(string) error { return broken }
	assert.ErrorIs(t, d.Put(t.Context(), "run/out/2", []byte("{}")), broken)
}
