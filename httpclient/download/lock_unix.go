//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow keeps a link that somebody else left in a shared folder from being written through.
const noFollow = syscall.O_NOFOLLOW

// lockFile opens or makes name, locked until it is closed or the process ends. The one
// who had it before may have removed it meanwhile: then the lock is on nothing.
func lockFile(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollow, 0o600) //nolint:gosec // the caller's choice
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			_ = f.Close() // the lock is the error
			return nil, err
		}
		same, err := stillThere(f, name)
		if same {
			return f, nil
		}
		_ = f.Close() // nobody can see it any more
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
			return ErrBusy
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

func stillThere(f *os.File, name string) (bool, error) {
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

// linksOf counts the names of a file.
func linksOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert,nolintlint // it is shorter on other systems
	}
	return 1
}
