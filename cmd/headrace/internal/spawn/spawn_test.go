//go:build unix

package spawn

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func run(t *testing.T, name string, args ...string) (End, string, error) {
	t.Helper()
	var out bytes.Buffer
	c := Command{Name: name, Args: args, Env: []string{"A=1"}, Stdout: &out}
	if err := c.Find(); err != nil {
		return End{}, "", err
	}
	s := Catch()
	defer s.Release()
	end, err := c.Run(s)
	return end, out.String(), err
}

func TestRun(t *testing.T) {
	end, out, err := run(t, "sh", "-c", `echo "$A$B$0"; exit 5`, "x")
	require.NoError(t, err)
	assert.Equal(t, End{Status: 5}, end)
	assert.Equal(t, "1x\n", out)
	end, _, err = run(t, "sh", "-c", "kill -KILL $$")
	require.NoError(t, err)
	assert.Equal(t, 137, end.Status)
}

func TestRunErrors(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("not a program"), 0o700))
	for name, status := range map[string]int{"no-such-command": NotFound, "./no/such": NotFound, t.TempDir(): NotExecutable, broken: NotExecutable} {
		_, _, err := run(t, name)
		start := (*StartError)(nil)
		require.ErrorAs(t, err, &start)
		assert.Equal(t, status, start.Status, name)
		assert.Equal(t, name, start.Name)
		assert.False(t, errors.Is(err, fs.ErrInvalid))
	}
}
