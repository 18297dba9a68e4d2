package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver: SQLite in Go, without cgo

	"github.com/headrace/headrace/internal/invalid"
)

const (
	// readers is how many connections read at a time. A read takes microseconds.
	readers = 4
	// walLimit is to what the file -wal is cut back after a burst, in bytes.
	walLimit = 16 << 20
	// headerSize is how many bytes a database has at least, https://www.sqlite.org/fileformat2.html.
	headerSize = 100
)

// besides are what the names of the files of the write-ahead log end in. They stay while a connection is open.
var besides = []string{"-wal", "-shm"} //nolint:gochecknoglobals // a constant but for its type

// besideFile is one of the files of besides.
type besideFile struct {
	path string
	info os.FileInfo
}

// file is a database of headrace: one connection that writes, and some that read.
type file struct {
	ctx      context.Context //nolint:containedctx // one that never ends: each access is short
	path     string          // absolute: it holds when the process changes its folder
	info     os.FileInfo
	beside   []besideFile
	patience time.Duration

	writing *sql.DB
	conn    *sql.Conn // the only one of writing
	reading *sql.DB
}

// openFile opens the database at path, makes it if there is none, and brings its schema up to date.
func openFile(path string, opts []Option) (_ *file, err error) {
	var set settings
	p := invalid.Problems{Owner: "sqlitestore"}
	invalid.Options(&p, opts, &set)
	check(path, &set, &p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	f := &file{ctx: context.Background(), path: path, patience: set.busyTimeout}
	if f.info, err = touch(path); err != nil {
		return nil, f.explain(err)
	}
	if err := f.connect(); err != nil {
		err = f.explain(err) // while the path still leads there
		_ = f.close()
		return nil, err
	}
	return f, nil
}

// check records what is wrong with the arguments, and sets the default.
func check(path string, set *settings, p *invalid.Problems) {
	switch {
	case path == "":
		p.Addf("path", "it is empty; give the path of a file")
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		p.Addf("path", "%q is no path of a file; in memory there are journal.NewMemory and quota.NewMemoryStore", path)
	case strings.ContainsRune(path, 0):
		p.Addf("path", "it holds a NUL")
	}
	switch {
	case set.busyTimeout < 0:
		p.Addf("WithBusyTimeout", "%v is negative; want how long to wait for others, or 0 for %v", set.busyTimeout, defaultBusyTimeout)
	case set.busyTimeout == 0:
		set.busyTimeout = defaultBusyTimeout
	}
}

// creating is held while a file is created: see touch.
var creating sync.Mutex //nolint:gochecknoglobals // locks are those of the process

// touch creates the file unless it is there. Results may be confidential, so it
// is readable by this user alone; SQLite gives the files next to it the same mode.
//
// An existing file is not opened, because POSIX releases all locks of a process on a file as soon as the process closes
// any descriptor of it. Other processes would then not see the connections that are already open.
func touch(path string) (os.FileInfo, error) {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = create(path)
	}
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("it is a folder")
	case info.Size() > 0 && info.Size() < headerSize: // SQLite would take it for an empty one
		err = &FileError{Path: path, Reason: ErrForeign, Err: fmt.Errorf("it has %d bytes, and the header of a database has %d", info.Size(), headerSize)}
	}
	return info, err
}

func create(path string) (os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

func (f *file) connect() (err error) {
	// The writer has no busy_timeout of its own: see patiently. It does not evaluate CHECK (state IN (1, 2, 3)), for which
	// SQLite would make a table for each row: this package writes no other state, and the sum of a row covers it.
	if f.writing, err = f.pool(1, "busy_timeout(0)", "foreign_keys(1)", "ignore_check_constraints(1)", fmt.Sprintf("journal_size_limit(%d)", walLimit)); err != nil {
		return err
	}
	if err := f.patiently(func() (err error) {
		f.conn, err = f.writing.Conn(f.ctx)
		return err
	}); err != nil {
		return err
	}
	if err := f.migrate(migrations); err != nil {
		return err
	}
	if err := f.patiently(f.checkParts); err != nil {
		return err
	}
	if err := f.findBeside(); err != nil {
		return err
	}
	f.reading, err = f.pool(readers, fmt.Sprintf("busy_timeout(%d)", f.patience.Milliseconds()), "query_only(1)")
	return err
}

// findBeside sets beside. If the path is a symbolic link, SQLite has the files next to its target, so it is asked for the name.
func (f *file) findBeside() error {
	var name string
	if err := f.conn.QueryRowContext(f.ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&name); err != nil {
		return err
	}
	for _, suffix := range besides {
		path := name + suffix
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f.beside = append(f.beside, besideFile{path, info})
	}
	return nil
}

// pool has connections with these pragmas. It never makes a file: one that is gone stays gone.
func (f *file) pool(most int, pragmas ...string) (*sql.DB, error) {
	path := filepath.ToSlash(f.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of Windows: /C:/folder/file
	}
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": pragmas}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// patiently tries again while another process has locked the file. SQLite's own
// busy handler backs off, so that the last to come wins; here all processes
// ask equally often.
func (f *file) patiently(try func() error) error {
	for deadline := time.Now().Add(f.patience); ; pause(time.Millisecond) {
		if err := try(); !busy(err) || !time.Now().Before(deadline) {
			return err
		}
	}
}

// pause waits for about d, never in step with other processes.
func pause(d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // no secret
	<-timer.C
}

// close closes what is open. The last one of all processes to do so folds -wal into the file.
func (f *file) close() error {
	var errs []error
	if f.reading != nil {
		errs = append(errs, f.reading.Close())
	}
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	if f.writing != nil {
		errs = append(errs, f.writing.Close())
	}
	return f.explain(errors.Join(errs...))
}
