//go:build unix

package group

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A leader knows whether there was one before it, however that has ended.
func TestALeaderKnowsThatItSucceeds(t *testing.T) {
	for name, c := range map[string]struct {
		left     []string
		succeeds bool
	}{
		"the first":                     {nil, false},
		"after one that was closed":     {[]string{".lock"}, true},
		"in the place of one that hung": {[]string{""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			for _, file := range c.left {
				if file != "" {
					require.NoError(t, os.WriteFile(path+file, nil, 0o600))
					continue
				}
				r, err := begin(path)
				require.NoError(t, err)
				t.Cleanup(r.close)
				require.NoError(t, os.Remove(path+".lock"))
			}
			r, err := begin(path)
			require.NoError(t, err)
			defer r.close()
			assert.Equal(t, c.succeeds, !r.leader.open.IsZero())
		})
	}
}
