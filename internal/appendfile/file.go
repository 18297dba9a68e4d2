// Package appendfile writes a file of lines that a later process continues: it
// finds the place where an earlier one was known to be, and cuts off what follows.
package appendfile

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"github.com/headrace/headrace/internal/syncdir"
)

// ErrBusy is returned for a file that is open elsewhere, in this process or another one.
var ErrBusy = errors.New("another run is writing it, or a run in this process has not closed it")

// Position is a place in a file, with the checksum of everything before it.
type Position struct {
	End int64  // in bytes
	Sum uint32 // CRC-32C
}

const positionFormat = "%d-%08x"

// String returns the position as text, for Parse.
func (p Position) String() string { return fmt.Sprintf(positionFormat, p.End, p.Sum) }

// Parse returns the position that String made text of. It is not ok if text is anything else.
func Parse(text string) (p Position, ok bool) {
	_, err := fmt.Sscanf(text, positionFormat, &p.End, &p.Sum)
	return p, err == nil && p.End >= 0 && p.String() == text
}

// File is a file that is locked for as long as it is open. It is not safe for concurrent use.
type File struct {
	f       *os.File
	end     *End
	out     *bufio.Writer // to end
	at      Position
	dirty   bool // there is something that is not on disk
	told    bool // a write has failed, and its caller knows of it
	named   bool // its name is on disk
	syncDir func(folder string) error
}

// mostOpens bounds how often Open tries again because the file that it has locked is
// no longer at its path: another process has removed it in between.
const mostOpens = 100

// Open opens the file at path for reading and writing, or creates it with the
// permissions 0o644, and changes nothing in it. It fails with ErrBusy if it is open already,
// and after 100 tries if another file is at path each time.
func Open(path string) (*File, error) { return open(path, Present) }

func open(path string, present func(*os.File) error) (*File, error) {
	for range mostOpens {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // results are for every reader of the folder
		if err != nil {
			return nil, err
		}
		if err := Lock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		if present(f) == nil {
			end := EndOf(f)
			return &File{f: f, end: end, out: bufio.NewWriterSize(end, 1<<16), syncDir: syncdir.Sync}, nil
		}
		if err := f.Close(); err != nil { // it was removed before the lock
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: opened %d times, and each time another file was at that path: "+
		"either it is being replaced, or its file system gives a file a new inode number each time; use another folder", path, mostOpens)
}

// Detach returns the file itself, locked, for a caller that writes and closes it.
func (f *File) Detach() *os.File { return f.f }

// Size returns the number of bytes that are in the file.
func (f *File) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Begins reports whether the file begins with prefix, or, since a kill may have
// cut it, prefix with the file.
func (f *File) Begins(prefix string) (bool, error) {
	got := make([]byte, len(prefix))
	n, err := f.f.ReadAt(got, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(got[:n]) == prefix[:n], err
}

// Beyond reports whether a line ends behind at. A kill may leave less than a line there.
func (f *File) Beyond(at Position) (bool, error) {
	rest := bufio.NewReaderSize(io.NewSectionReader(f.f, at.End, math.MaxInt64-at.End), 1<<16)
	for {
		_, err := rest.ReadSlice('\n')
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		}
	}
}

// Has reports whether the file has what it had at that position. It reads all of that.
func (f *File) Has(at Position) (bool, error) {
	size, err := f.Size()
	if err != nil || size < at.End {
		return false, err
	}
	sum := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(f.f, 0, at.End), make([]byte, 1<<18)); err != nil {
		return false, err
	}
	return sum.Sum32() == at.Sum, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant but for its type

// Continue cuts the file behind at, where the next line goes.
func (f *File) Continue(at Position) error {
	if err := f.end.Begin(at.End); err != nil {
		return err
	}
	f.out.Reset(f.end)
	f.at, f.dirty, f.told = at, true, false
	return nil
}

// Write adds a line, which ends with a newline.
func (f *File) Write(line []byte) error {
	if _, err := f.out.Write(line); err != nil {
		f.told = true
		return err
	}
	f.at = Position{End: f.at.End + int64(len(line)), Sum: crc32.Update(f.at.Sum, castagnoli, line)}
	f.dirty = true
	return nil
}

// Sync makes what was written durable, and the name of the file with it, and returns where the file ends. It fails
// if the file is not at its path any more, because what is written there is lost, and if another program has truncated or
// extended it.
func (f *File) Sync() (Position, error) {
	if !f.dirty {
		return f.at, nil
	}
	err := f.out.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	if err == nil {
		err = f.syncName()
	}
	if err == nil {
		err = Present(f.f)
	}
	f.told, f.dirty = err != nil, err != nil
	return f.at, err
}

// syncName makes the name of the file durable, once. A process that was killed may have created the file, so it does not
// matter which one has.
func (f *File) syncName() error {
	if f.named {
		return nil
	}
	path, err := filepath.EvalSymlinks(f.f.Name())
	if err != nil {
		return nil //nolint:nilerr // it was moved or deleted, which Present reports
	}
	err = f.syncDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrPermission) { // files may be created in a folder that must not be read
		err = nil
	}
	f.named = err == nil
	return err
}

// Close writes what is left and closes the file. It fails if another program has truncated or extended the file.
func (f *File) Close() error { return errors.Join(f.flush(), f.f.Close()) }

// CloseUsed is Close. An empty file is removed.
func (f *File) CloseUsed() error { return errors.Join(f.flush(), CloseUsed(f.f)) }

func (f *File) flush() error {
	if f.told {
		return nil
	}
	err := f.out.Flush()
	if err == nil {
		err = f.end.Check()
	}
	return err
}

// CloseUsed closes f. An empty file is removed while it is locked, as another process may open it after that. A link
// to it stays.
func CloseUsed(f *os.File) error {
	own, err := f.Stat()
	empty := err == nil && own.Mode().IsRegular() && own.Size() == 0
	remove := func() {
		if now, err := os.Lstat(f.Name()); err == nil && os.SameFile(own, now) {
			_ = os.Remove(f.Name())
		}
	}
	if empty {
		remove()
	}
	err = f.Close()
	if empty && runtime.GOOS == "windows" { // which removes no file that is open
		remove()
	}
	return err
}

// Present returns an error if f was deleted, moved or replaced since it was opened.
func Present(f *os.File) error {
	own, err := f.Stat()
	if err != nil || !own.Mode().IsRegular() {
		return err
	}
	if now, err := os.Stat(f.Name()); err != nil || !os.SameFile(own, now) {
		return fmt.Errorf("%s was deleted, moved or replaced while it was being written: running again writes all of it", f.Name())
	}
	return nil
}
