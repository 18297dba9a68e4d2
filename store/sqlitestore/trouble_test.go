package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// wantReason asserts the reason, and that the text names the file and the remedy.
func wantReason(t *testing.T, err, reason error, path string) {
	t.Helper()
	var of *sqlitestore.FileError
	require.ErrorAs(t, err, &of)
	require.ErrorIs(t, err, reason)
	assert.Equal(t, path, of.Path)
	assert.ErrorContains(t, err, path+": "+reason.Error())
	assert.NotContains(t, of.Unwrap(), nil, "package errors forbids it")
}

func begin(t *testing.T, j *sqlitestore.Journal, content string) journal.Record {
	t.Helper()
	was, err := j.Begin(t.Context(), key(content), time.Now(), false)
	require.NoError(t, err)
	return was
}

func TestAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	begin(t, j, "kept")
	_, err := j.Finish(t.Context(), part, owner, "1", done("kept", "value"))
	require.NoError(t, err)
	require.NoError(t, j.ExecInWriter(t.Context(), "PRAGMA max_page_count = 1")) // it becomes the size of the file

	big := strings.Repeat("x", 1<<16)
	begin(t, j, "big")
	_, err = j.Finish(t.Context(), part, owner, "2", done("big", big))
	wantReason(t, err, sqlitestore.ErrFull, path)
	for i := 0; err != nil && i < 5000; i++ { // one that cannot be written is reported at the end
		if _, err = j.Begin(t.Context(), key(strconv.Itoa(i)), time.Now(), false); err != nil {
			wantReason(t, err, sqlitestore.ErrFull, path)
			break
		}
		err = assert.AnError
	}
	assert.ErrorIs(t, err, sqlitestore.ErrFull)
	_, err = j.Open(t.Context(), part, owner, "v1", time.Now())
	wantReason(t, err, sqlitestore.ErrFull, path)

	require.NoError(t, makeRoom(t, j))
	refused, err := j.Finish(t.Context(), part, owner, "2", done("big", big))
	require.NoError(t, err)
	assert.Empty(t, refused)
	at, err := j.Open(t.Context(), part, owner, "v1", time.Now())
	require.NoError(t, err)
	assert.Equal(t, int64(2), at.Done)
	assert.Greater(t, at.Pending, int64(100))
	assert.Equal(t, "2", at.Mark)
	verify(t, path, []string{})
}

func makeRoom(t *testing.T, j *sqlitestore.Journal) error {
	t.Helper()
	return j.ExecInWriter(t.Context(), "PRAGMA max_page_count = 1000000")
}

// A call that fails does not drag those down that are committed with it.
func TestABigNeighbourOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	for i := range 20 {
		begin(t, j, strconv.Itoa(i))
	}
	_, err := j.Open(t.Context(), part, owner, "v1", time.Now())
	require.NoError(t, err)
	require.NoError(t, j.ExecInWriter(t.Context(), "PRAGMA max_page_count = 40"))
	release := lock(t, path)
	errs := make([]chan error, 20)
	for i := range errs {
		errs[i] = make(chan error, 1)
		value := "small"
		if i%5 == 4 {
			value = strings.Repeat("x", 1<<20)
		}
		go func() {
			_, err := j.Finish(t.Context(), part, owner, "", done(strconv.Itoa(i), value))
			errs[i] <- err
		}()
	}
	release()
	for i := range errs {
		if err := <-errs[i]; i%5 == 4 {
			assert.ErrorIs(t, err, sqlitestore.ErrFull, i)
		} else {
			assert.NoError(t, err, i)
		}
	}
	verify(t, path, nil)
}

// lock keeps the file locked, as another process would.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	return func() {
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.Close())
	}
}

func TestAFileThatSomebodyKeepsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path, sqlitestore.WithBusyTimeout(20*time.Millisecond))
	begin(t, j, "a")
	begin(t, j, "b")
	release := lock(t, path)
	assert.Equal(t, journal.Pending, begin(t, j, "a").State, "reading goes on")
	assert.Equal(t, journal.Unknown, begin(t, j, "c").State, "and so does beginning")
	_, err := j.Finish(t.Context(), part, owner, "", done("a", "a"))
	wantReason(t, err, sqlitestore.ErrLocked, path)
	_, err = sqlitestore.OpenJournal(path, sqlitestore.WithBusyTimeout(time.Millisecond))
	wantReason(t, err, sqlitestore.ErrLocked, path)
	release()
	for _, content := range []string{"a", "b", "c"} {
		refused, err := j.Finish(t.Context(), part, owner, "", done(content, content))
		require.NoError(t, err)
		assert.Empty(t, refused)
	}
	verify(t, path, []string{"a", "b", "c"})
}

// A call returns at once when its context ends while the file is locked, and nothing happens later.
func TestGivingUpWhileTheFileIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	begin(t, j, "a")
	release := lock(t, path)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	ended := make(chan error)
	go func() {
		_, err := j.Finish(ctx, part, owner, "mark", done("a", "a"))
		ended <- err
	}()
	cancel(why)
	require.ErrorIs(t, <-ended, why)
	release()
	at, err := j.Open(t.Context(), part, owner, "v1", time.Now())
	require.NoError(t, err)
	assert.Equal(t, journal.Progress{Pending: 1, RenewWithin: 30 * time.Second}, at)
}

func TestAFileThatIsGone(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"without log": func(path string) error { return errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")) },
		"another log": func(path string) error {
			return errors.Join(os.Remove(path+"-wal"), os.WriteFile(path+"-wal", nil, 0o600))
		},
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			j, err := sqlitestore.OpenJournal(path)
			require.NoError(t, err)
			defer func() { _ = j.Close() }()
			_, err = j.Open(t.Context(), part, owner, "v1", time.Now())
			require.NoError(t, err)
			begin(t, j, "a")
			require.NoError(t, remove(path))
			_, err = j.Finish(t.Context(), part, owner, "", done("a", "a"))
			wantReason(t, err, sqlitestore.ErrGone, path)
		})
	}
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("as root everything can be written: only the pragma is tried")
	} else {
		dir := t.TempDir()
		path := filepath.Join(dir, "journal.db")
		require.NoError(t, opened(t, path).Close())
		require.NoError(t, os.Chmod(path, 0o400))
		_, err := sqlitestore.OpenJournal(path)
		wantReason(t, err, sqlitestore.ErrReadOnly, path)
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.Chmod(dir, 0o500))
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		_, err = sqlitestore.OpenJournal(path)
		wantReason(t, err, sqlitestore.ErrReadOnly, path)
		_, err = sqlitestore.OpenJournal(filepath.Join(dir, "new.db"))
		wantReason(t, err, sqlitestore.ErrReadOnly, filepath.Join(dir, "new.db"))
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	begin(t, j, "a")
	_, err := j.Open(t.Context(), part, owner, "v1", time.Now()) // writes what was begun
	require.NoError(t, err)
	require.NoError(t, j.ExecInWriter(t.Context(), "PRAGMA query_only = 1"))
	_, err = j.Finish(t.Context(), part, owner, "", done("a", "a"))
	wantReason(t, err, sqlitestore.ErrReadOnly, path)
}

func TestAFileSystemThatIsReadOnly(t *testing.T) {
	err := sqlitestore.Explain("j.db", &fs.PathError{Op: "open", Path: "j.db", Err: syscall.EROFS})
	wantReason(t, err, sqlitestore.ErrReadOnly, "j.db")
	assert.ErrorContains(t, err, "its file system have to be writable")
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	database := func(name, statements string) string {
		path := filepath.Join(dir, name)
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(statements)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		return path
	}
	for path, reason := range map[string]error{
		write("text", strings.Repeat("no database ", 1000)):                    sqlitestore.ErrForeign,
		database("foreign", "CREATE TABLE t (a)"):                              sqlitestore.ErrForeign,
		database("marked", "PRAGMA application_id = 7; PRAGMA user_version=1"): sqlitestore.ErrForeign,
		database("alike", `PRAGMA application_id = 0x68726163; PRAGMA user_version = 1; CREATE TABLE parts (id, run);
			CREATE TABLE records (part)`): sqlitestore.ErrForeign,
		dir:                              sqlitestore.ErrUnusable,
		filepath.Join(dir, "none", "db"): sqlitestore.ErrUnusable,
	} {
		before, _ := os.ReadFile(path)
		_, err := sqlitestore.OpenJournal(path)
		wantReason(t, err, reason, path)
		after, _ := os.ReadFile(path)
		assert.Equal(t, before, after, "%s was changed", path)
	}
	for _, path := range []string{"", ":memory:", "file:x", "a\x00"} {
		_, err := sqlitestore.OpenJournal(path)
		assert.ErrorAs(t, err, new(*fault.FieldError), path)
	}
	_, err := sqlitestore.OpenJournal(filepath.Join(dir, "x"), sqlitestore.WithBusyTimeout(-1))
	assert.ErrorContains(t, err, "WithBusyTimeout")
	_, journalErr := sqlitestore.OpenJournal("", sqlitestore.WithBusyTimeout(-1), nil)
	_, quotaErr := sqlitestore.OpenQuota("", sqlitestore.WithBusyTimeout(-1), nil)
	for _, err := range []error{journalErr, quotaErr} {
		for _, problem := range []string{"sqlitestore: opts[1]: nil: leave it out", "path: it is empty", "WithBusyTimeout"} {
			assert.ErrorContains(t, err, problem, "all problems are joined")
		}
	}
	assert.NoFileExists(t, filepath.Join(dir, "x"))
}

func TestPathsWithStrangeNames(t *testing.T) {
	for _, name := range []string{"a?mode=memory", "b%20c#d", "é ü", "'quoted'"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, opened(t, path).Close())
		assert.FileExists(t, path)
	}
}

func TestVersionsOfTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	begin(t, j, "a")
	require.NoError(t, j.Close())

	later := slices.Concat(sqlitestore.Migrations, []string{"CREATE TABLE more (a) STRICT"})
	require.Error(t, sqlitestore.Migrate(path, later), "a STRICT table needs types")
	require.NoError(t, opened(t, path).Close(), "a migration that fails changes nothing")

	later[len(later)-1] = "CREATE TABLE more (a TEXT) STRICT"
	require.NoError(t, sqlitestore.Migrate(path, later))
	require.NoError(t, sqlitestore.Migrate(path, later))
	_, err := sqlitestore.OpenJournal(path)
	var newer *sqlitestore.NewerError
	require.ErrorAs(t, err, &newer)
	assert.Equal(t, sqlitestore.NewerError{Path: path, Found: len(later), Known: len(later) - 1}, *newer)
	assert.ErrorContains(t, err, fmt.Sprintf("%s: its schema has version %d, and this release knows up to %d: use a later release, or another file", path, len(later), len(later)-1))
	verify(t, path, nil)
}
