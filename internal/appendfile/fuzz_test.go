package appendfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/appendfile"
)

// A mark is read only as it is written.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := appendfile.Parse(text)
		if ok {
			require.GreaterOrEqual(t, p.End, int64(0))
			require.Equal(t, text, p.String())
		}
	})
}

// A file that was changed, cut or replaced before a mark is not continued there.
func FuzzHas(f *testing.F) {
	f.Fuzz(func(t *testing.T, before, after []byte, at uint16, flip uint8, cut uint16) {
		path := filepath.Join(t.TempDir(), "lines")
		file, err := appendfile.Open(path)
		require.NoError(t, err)
		require.NoError(t, file.Continue(appendfile.Position{}))
		require.NoError(t, file.Write(before))
		mark, err := file.Sync()
		require.NoError(t, err)
		require.Equal(t, int64(len(before)), mark.End)
		require.NoError(t, file.Write(after))
		_, err = file.Sync()
		require.NoError(t, err)

		found, err := file.Has(mark)
		require.NoError(t, err)
		require.True(t, found)
		require.NoError(t, file.Close())

		changed := append(append([]byte(nil), before...), after...)
		if len(before) > 0 {
			changed[int(at)%len(before)] ^= flip
		}
		changed = changed[:len(changed)-int(cut)%(len(changed)+1)]
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		file, err = appendfile.Open(path)
		require.NoError(t, err)
		found, err = file.Has(mark)
		require.NoError(t, err)
		require.Equal(t, len(changed) >= len(before) && string(changed[:len(before)]) == string(before), found)
		require.NoError(t, file.Close())
	})
}
