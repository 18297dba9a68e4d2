package envoy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service/internal/envoy"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	// As Kubernetes mounts a ConfigMap: links to a folder with a name that begins with dots.
	write("config/..2026/b.yaml", "domain: b")
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "config", "..data")))
	require.NoError(t, os.Symlink("..data/b.yaml", filepath.Join(dir, "config", "b.yaml")))
	write("config/a.yml", "domain: a")
	write("config/.hidden.yaml", "x")
	write("config/notes.txt", "x")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "config", "folder.yaml"), 0o700))
	single := write("c.conf", "domain: c")

	files, err := envoy.Load(filepath.Join(dir, "config"), single)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Name)+": "+string(f.Data))
	}
	assert.Equal(t, []string{"a.yml: domain: a", "b.yaml: domain: b", "c.conf: domain: c"}, names)

	_, err = envoy.Load(filepath.Join(dir, "config", "c.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = envoy.Load(filepath.Join(dir, "config", "folder.yaml"))
	require.ErrorContains(t, err, "there is no file that ends in .yaml or .yml")
	_, err = envoy.Load(t.TempDir(), single)
	require.Error(t, err)

	large, err := envoy.Load(write("large.yaml", string(make([]byte, envoy.MaxFile+100))))
	require.NoError(t, err)
	assert.Len(t, large[0].Data, envoy.MaxFile+1)
	_, _, err = envoy.Parse(large)
	assert.ErrorContains(t, err, "at most 4194304 are read")
}
