package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const noFollow = 0

const errSharingViolation = syscall.Errno(32)

// lockFile opens or creates name, exclusively until it is closed or the process ends.
func lockFile(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharingViolation) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// unlockFile closes first: an open file cannot be removed. If another process has opened it since, it stays.
func unlockFile(f file, name string, remove bool) error {
	err := f.Close()
	if !remove {
		return err
	}
	if gone := os.Remove(name); gone != nil && !errors.Is(gone, errSharingViolation) {
		err = errors.Join(err, gone)
	}
	return err
}

// linksOf does not count: a user that can make links in the folder can replace the file as well.
func linksOf(fs.FileInfo) uint64 { return 1 }
