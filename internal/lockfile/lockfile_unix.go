//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrHeld is the error for a file that another holder has locked.
var ErrHeld = errors.New("lockfile: another process has locked the file")

// Open opens or makes the file at name, locked until it is closed or the process
// ends. It does not wait, and does not follow a symbolic link.
func Open(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // the caller's choice
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			_ = f.Close() // the error is that of the lock
			return nil, err
		}
		same, err := IsAt(f, name) // the last holder may have removed it meanwhile
		if same {
			return f, nil
		}
		_ = f.Close() // no other process can see it
		if err != nil {
			return nil, err
		}
	}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// IsAt reports whether f is the file at name.
func IsAt(f *os.File, name string) (bool, error) {
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(there, mine), err
}
