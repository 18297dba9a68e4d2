package appendfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/appendfile"
)

func open(t *testing.T, path string) *appendfile.File {
	t.Helper()
	f, err := appendfile.Open(path)
	require.NoError(t, err)
	return f
}

func TestALaterProcessContinues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	f := open(t, path)
	require.NoError(t, f.Write([]byte("one\n")))
	at, err := f.Sync()
	require.NoError(t, err)
	require.NoError(t, f.Write([]byte("two, not synced\n")))
	require.NoError(t, f.Close())

	f = open(t, path)
	again, ok := appendfile.Parse(at.String())
	require.True(t, ok)
	has, err := f.Has(again)
	require.NoError(t, err)
	assert.True(t, has)
	require.NoError(t, f.Continue(again))
	require.NoError(t, f.Write([]byte("three\n")))
	after, err := f.Sync()
	require.NoError(t, err)
	has, err = f.Has(after)
	require.NoError(t, err)
	assert.True(t, has, "the checksum goes on too")
	require.NoError(t, f.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "one\nthree\n", string(text))
}

func TestAChangedByteIsNoticedWhereverItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	f := open(t, path)
	for range 100 {
		require.NoError(t, f.Write([]byte(strings.Repeat("x", 99)+"\n")))
	}
	at, err := f.Sync()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, i := range []int{0, 5000, len(text) - 1} {
		changed := append([]byte(nil), text...)
		changed[i] ^= 1
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		f := open(t, path)
		has, err := f.Has(at)
		require.NoError(t, err)
		assert.False(t, has, "byte %d", i)
		require.NoError(t, f.Close())
	}
}

func TestAFileHasOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	f := open(t, path)
	_, err := appendfile.Open(path)
	require.ErrorIs(t, err, appendfile.ErrBusy)
	require.NoError(t, f.Close())
	require.NoError(t, open(t, path).Close())
}

func TestAFileThatIsReplacedWhileItIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	f := open(t, path)
	defer func() { _ = f.Close() }()
	require.NoError(t, os.Rename(path, path+".old"))
	require.NoError(t, f.Write([]byte("one\n")))
	_, err := f.Sync()
	require.ErrorContains(t, err, "was deleted, moved or replaced")
}

// A write after that would leave a gap of zeros, or overwrite what another program has written.
func TestAFileThatIsTruncatedOrExtendedWhileItIsWritten(t *testing.T) {
	for name, size := range map[string]int64{"emptied": 0, "cut": 2, "extended": 10} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lines")
			f := open(t, path)
			require.NoError(t, f.Continue(appendfile.Position{}))
			require.NoError(t, f.Write([]byte("one\n")))
			_, err := f.Sync()
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, size))
			require.NoError(t, f.Write([]byte("two\n")), "it is buffered")
			_, err = f.Sync()
			require.ErrorContains(t, err, path+" was truncated or extended by another program while it was being written: running again writes all of it")
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, size, info.Size(), "nothing is written behind a gap, or over other lines")
			require.NoError(t, f.Close(), "it is reported once")

			f = open(t, path)
			require.NoError(t, f.Continue(appendfile.Position{}))
			require.NoError(t, f.Write([]byte("one\n")))
			_, err = f.Sync()
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, size))
			require.ErrorContains(t, f.Close(), "was truncated or extended", "after the last write, too")
		})
	}
}

// A file may also be truncated between the check and the write.
func TestAGapIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(path, []byte("zero\nmore"), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for _, lines := range []int{0, 1, 2} {
		e := appendfile.EndOf(f)
		require.NoError(t, e.Begin(int64(len("zero\n"))))
		for range lines {
			_, err = e.Write([]byte("one\n"))
			require.NoError(t, err)
		}
		require.NoError(t, os.Truncate(path, int64(len("zero"))))
		_, err = e.Put([]byte("two\n"))
		require.ErrorContains(t, err, "was truncated or extended by another program")
		_, err = e.Write([]byte("three\n"))
		require.ErrorContains(t, err, "was truncated or extended by another program")
		require.NoError(t, e.Check(), "it is reported once")
		require.NoError(t, os.WriteFile(path, []byte("zero\n"), 0o600))
	}
}

// After a loss of power the name of a new file is there as well as its content.
func TestSyncKeepsTheNameOfTheFile(t *testing.T) {
	folder, links := realPath(t, t.TempDir()), realPath(t, t.TempDir())
	path, link := filepath.Join(folder, "lines"), filepath.Join(links, "link")
	require.NoError(t, os.Symlink(path, link))
	for _, at := range []string{path, path, link} { // an earlier process may have created it, and not synced the folder
		f := open(t, at)
		require.NoError(t, f.Continue(appendfile.Position{}))
		var synced []string
		f.SyncDirWith(func(folder string) error {
			size, err := f.Size()
			require.NoError(t, err)
			assert.EqualValues(t, len("one\n"), size, "the content comes first")
			synced = append(synced, folder)
			return nil
		})
		for range 3 {
			require.NoError(t, f.Write([]byte("one\n")))
			_, err := f.Sync()
			require.NoError(t, err)
		}
		assert.Equal(t, []string{folder}, synced, "once, at %s", at)
		require.NoError(t, f.Close())
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

// A folder that cannot be synced fails the Sync, and the next one tries again.
func TestAFolderThatCannotBeSynced(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "lines"))
	failed := error(syscall.EIO)
	f.SyncDirWith(func(string) error { return failed })
	for range 2 {
		require.NoError(t, f.Write([]byte("one\n")))
		_, err := f.Sync()
		require.ErrorIs(t, err, syscall.EIO)
	}
	failed = &fs.PathError{Op: "open", Path: "a folder without permission to read it", Err: fs.ErrPermission}
	at, err := f.Sync()
	require.NoError(t, err)
	assert.EqualValues(t, 2*len("one\n"), at.End)
	require.NoError(t, f.Close())
}

func TestBegins(t *testing.T) {
	for content, want := range map[string]bool{"": true, "{": true, `{"index":7}`: true, "x": false, `{"indes":`: false} {
		path := filepath.Join(t.TempDir(), "lines")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		f := open(t, path)
		got, err := f.Begins(`{"index":`)
		require.NoError(t, err)
		assert.Equal(t, want, got, content)
		require.NoError(t, f.Close())
	}
}

func TestAFileThatIsNotUsedIsRemoved(t *testing.T) {
	dir := t.TempDir()
	empty, used, link := filepath.Join(dir, "empty"), filepath.Join(dir, "used"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("target", link))
	for _, path := range []string{empty, link} {
		require.NoError(t, open(t, path).CloseUsed())
	}
	assert.NoFileExists(t, empty)
	assert.FileExists(t, link)
	f := open(t, used)
	require.NoError(t, f.Write([]byte("one\n")))
	require.NoError(t, f.CloseUsed())
	assert.FileExists(t, used)
}

func TestBeyondIsWhatEndsALineBehindAPosition(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for content, want := range map[string]bool{"": false, "one\n": false, "one\ntw": false, "one\ntwo\n": true, "one\n" + long: false, "one\n" + long + "\n": true} {
		path := filepath.Join(t.TempDir(), "lines")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		f := open(t, path)
		got, err := f.Beyond(appendfile.Position{End: int64(len("one\n"))})
		require.NoError(t, err)
		assert.Equal(t, want, got, "%.10q", content)
		require.NoError(t, f.Close())
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "!", "+", "1-2", "-1-00000000", "1-00000000 ", "1-2-00000000"} {
		_, ok := appendfile.Parse(text)
		assert.False(t, ok, text)
	}
}

// On some network and user-space file systems a file is never the one at its path.
func TestOpenGivesUp(t *testing.T) {
	path, opened := filepath.Join(t.TempDir(), "lines"), 0
	_, err := appendfile.OpenWith(path, func(*os.File) error { opened++; return os.ErrNotExist })
	require.ErrorContains(t, err, path)
	assert.ErrorContains(t, err, "inode number")
	assert.Equal(t, 100, opened)
	f, err := appendfile.OpenWith(path, func(f *os.File) error {
		if opened++; opened < 105 {
			return os.ErrNotExist
		}
		return appendfile.Present(f)
	})
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
