package download

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/headrace/headrace/internal/syncdir"
)

// disk is what is asked of the operating system. Tests let each call fail.
type disk interface {
	lstat(name string) (fs.FileInfo, error)
	lock(name string) (file, error) // opens or makes it; ErrBusy
	unlock(f file, name string, remove bool) error
	open(name string, perm fs.FileMode) (file, error) // or makes it
	unseal(name string) error                         // lets the owner read and write it
	rename(from, to string) error
	remove(name string) error
	syncDir(name string) error
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Chmod(mode fs.FileMode) error
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

type realDisk struct{}

func (realDisk) lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (realDisk) rename(from, to string) error           { return os.Rename(from, to) }
func (realDisk) remove(name string) error               { return os.Remove(name) }

func (realDisk) open(name string, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollow, perm) //nolint:gosec // the caller's choice
	if err != nil {
		return nil, err // and not a file that is a nil pointer
	}
	return alone(f)
}

func (realDisk) unseal(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|noFollow, 0) //nolint:gosec // the caller's choice
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// alone rejects a file that has another name too. In a shared folder another user could have linked it, and writing it would
// overwrite the linked file.
func alone(f *os.File) (file, error) {
	info, err := f.Stat()
	if err == nil && linksOf(info) > 1 {
		err = fmt.Errorf("%s is a hard link to another file; remove it", f.Name())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (realDisk) lock(name string) (file, error) {
	f, err := lockFile(name)
	if err != nil {
		return nil, err
	}
	return alone(f)
}

func (realDisk) unlock(f file, name string, remove bool) error { return unlockFile(f, name, remove) }

// syncDir makes a rename last.
func (realDisk) syncDir(name string) error { return syncdir.Sync(name) }
