package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
)

// Reasons of a [FileError], for errors.Is. The text of each has the remedy.
var (
	// ErrFull is for a full disk, or a file that may not grow. The file can be used again once there is
	// space.
	ErrFull = errors.New("the disk is full: free some space, and run again")
	// ErrReadOnly is for a file, folder or file system that is not writable.
	ErrReadOnly = errors.New("it cannot be written: the file, its folder (for the files -wal and -shm next to it) and its file system have to be writable for this user")
	// ErrLocked is for a file that another process locked for longer than WithBusyTimeout.
	ErrLocked = errors.New("another process keeps it locked: look which one has it open, such as a shell or a backup within a transaction")
	// ErrGone is for a file that was deleted or replaced while it was open, also if only its -wal or -shm file was.
	ErrGone = errors.New("the file was deleted, moved or replaced while it was in use: open it again, or restart the program")
	// ErrForeign is for a file that is not a database, or that of another application.
	ErrForeign = errors.New("the file does not belong to headrace: use another path")
	// ErrDamaged is for a database that SQLite cannot read, or a row with a wrong checksum.
	ErrDamaged = errors.New("the file is damaged: save what sqlite3's .recover finds, and start with a new file")
	// ErrUnusable is for everything else.
	ErrUnusable = errors.New("it cannot be used: it has to be a file in a folder that exists, on a local disk, not on a network share")
)

// FileError is an error of the file.
type FileError struct {
	Path   string
	Reason error // one of those above
	Err    error // what SQLite or the operating system said; may be nil
}

// Error names the file and the remedy.
func (e *FileError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("sqlitestore: %s: %v", e.Path, e.Reason)
	}
	return fmt.Sprintf("sqlitestore: %s: %v (%v)", e.Path, e.Reason, e.Err)
}

// Unwrap returns Reason and Err.
func (e *FileError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// NewerError is the error for a file of a later release. The file is left unchanged.
type NewerError struct {
	Path         string
	Found, Known int // versions of the schema
}

// Error names the file, the versions and the remedy.
func (e *NewerError) Error() string {
	return fmt.Sprintf("sqlitestore: %s: its schema has version %d, and this release knows up to %d: use a later release, or another file",
		e.Path, e.Found, e.Known)
}

// SQLite's result codes, https://www.sqlite.org/rescode.html.
const (
	codeError    = 1
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26

	codeReadOnlyMoved = 8 | 4<<8   // SQLITE_READONLY_DBMOVED
	codeWrite         = 10 | 3<<8  // SQLITE_IOERR_WRITE: only ENOSPC is codeFull
	codeShmSize       = 10 | 19<<8 // SQLITE_IOERR_SHMSIZE: the -shm file could not grow
)

// codeOf returns the extended code of an error of SQLite, or 0.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

func busy(err error) bool {
	code := codeOf(err) & 0xff
	return code == codeBusy || code == codeLocked
}

// explain finds the reason for an error of SQLite or of the operating system.
// Other errors say what is wrong, and remain as they are.
func (f *file) explain(err error) error {
	damaged := errors.As(err, new(*sumError))
	if err == nil || errors.As(err, new(*FileError)) || errors.As(err, new(*NewerError)) ||
		errors.As(err, new(*fault.FieldError)) && !damaged || errors.Is(err, quota.ErrLeaseLost) {
		return err
	}
	reason := ErrUnusable
	switch code := codeOf(err); {
	case f.gone() != nil || code == codeReadOnlyMoved:
		reason = ErrGone
	case busy(err):
		reason = ErrLocked
	case code&0xff == codeFull, code == codeWrite, code == codeShmSize:
		reason = ErrFull
	case code&0xff == codeCantOpen && exhausted(&err):
	case code&0xff == codeReadOnly, code&0xff == codeCantOpen, errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		reason = ErrReadOnly
	case code&0xff == codeCorrupt, damaged:
		reason = ErrDamaged
	case code&0xff == codeNotADB, code == codeError && strings.Contains(err.Error(), "no such "): // column or table
		reason = ErrForeign
	}
	return &FileError{Path: f.path, Reason: reason, Err: err}
}

// gone returns the error for a path that leads to another file than the one that was opened, or nil. SQLite would continue
// to write to a file that can no longer be opened, or beside other processes.
func (f *file) gone() error {
	if f.info == nil {
		return nil
	}
	if !leadsTo(f.path, f.info) {
		return &FileError{Path: f.path, Reason: ErrGone}
	}
	for _, b := range f.beside {
		if !leadsTo(b.path, b.info) {
			return &FileError{Path: f.path, Reason: ErrGone, Err: fmt.Errorf("%s is missing or was replaced", filepath.Base(b.path))}
		}
	}
	return nil
}

// exhausted reports whether this process cannot open any file, and adds the reason to err, which SQLite does not report.
// It must not open the database for that: see touch.
func exhausted(err *error) bool {
	null, why := os.Open(os.DevNull)
	if why == nil {
		_ = null.Close()
		return false
	}
	*err = fmt.Errorf("%w: %w", *err, why)
	return true
}

func leadsTo(path string, file os.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, file) || err != nil && !errors.Is(err, fs.ErrNotExist)
}
