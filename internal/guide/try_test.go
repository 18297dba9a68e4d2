//go:build unix

package guide

import (
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	tryFlag  = flag.String("try", "", "run the commands of the pages: clone, in a fresh clone of what is committed; tree, in one with what is not committed yet")
	tryPages = flag.String("pages", "", "only those whose names contain this")
	tryFor   = flag.Duration("try-for", 5*time.Minute, "how long a block of commands may take")
)

// What the pages say to type is typed, by make try.
func TestCommandsRunAsPrinted(t *testing.T) {
	if *tryFlag == "" {
		t.Skip("it takes minutes: make try")
	}
	dir := filepath.Join(t.TempDir(), "headrace") // the same for all pages: what go build keeps depends on it
	clone(t, dir, *tryFlag == "tree")
	all := pagesOf(t, dir)
	var notRun []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		steps, err := Steps(all[page])
		require.NoError(t, err, page)
		if len(steps) == 0 || !strings.Contains(page, *tryPages) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			edit, err := FreePorts(t.Context(), all[page], false)
			require.NoError(t, err)
			clone(t, dir, *tryFlag == "tree")
			shell := Shell{Dir: dir, Env: reader(t), Scratch: t.TempDir(), Edit: edit, Timeout: *tryFor}
			err = shell.Run(t.Context(), steps, func(s Step, r Result) {
				switch {
				case s.NotRun != "":
					t.Logf("%s:%d: not run: %s", page, s.Line, s.NotRun)
					notRun = append(notRun, page+": "+s.NotRun)
				case r.Err != nil:
					t.Errorf("%s:%d: %v after %s\n%s\nprinted:\n%s", page, s.Line, r.Err, r.Took.Round(time.Millisecond), strings.Join(s.Lines, "\n"), tail(r.Output))
				default:
					t.Logf("%s:%d: %s in %s", page, s.Line, s.Lines[0], r.Took.Round(time.Millisecond))
				}
			})
			require.Equal(t, t.Failed(), err != nil, "%v", err)
		})
	}
	t.Logf("%d blocks were not run\n%s", len(notRun), strings.Join(notRun, "\n"))
}

// tail is the end of what was printed.
func tail(output string) string {
	all := lines(output)
	return strings.Join(all[max(0, len(all)-20):], "\n")
}

// reader is the environment of a new user with Go installed: no key, no
// settings, and an empty home. The caches of Go are kept to save time.
func reader(t *testing.T) (env []string) {
	t.Helper()
	for _, set := range os.Environ() {
		name, _, _ := strings.Cut(set, "=")
		if name != "HOME" && name != "GOPATH" && name != "GOBIN" && name != "OLDPWD" && !strings.HasPrefix(name, "XDG_") &&
			!strings.HasPrefix(name, "HEADRACE_") && !strings.HasSuffix(name, "_API_KEY") {
			env = append(env, set)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOENV"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return append(env, "HOME="+t.TempDir())
}

// clone makes dir a fresh clone of the repository.
func clone(t *testing.T, dir string, uncommitted bool) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	from, err := filepath.Abs(root)
	require.NoError(t, err)
	said, err := exec.CommandContext(t.Context(), "git", "clone", "-q", from, dir).CombinedOutput()
	require.NoError(t, err, "%s", said)
	if !uncommitted {
		return
	}
	list, err := exec.CommandContext(t.Context(), "git", "-C", from, "ls-files", "-z", "--modified", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if name != "" {
			replace(t, filepath.Join(dir, name), filepath.Join(from, name))
		}
	}
}

// replace puts a copy of a file in another's place, or removes that one if there is none.
func replace(t *testing.T, dst, src string) {
	t.Helper()
	in, err := os.Open(src)
	if os.IsNotExist(err) {
		require.NoError(t, os.RemoveAll(dst))
		return
	}
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(dst), 0o755))
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	assert.NoError(t, out.Close())
}
