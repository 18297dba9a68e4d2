//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package appendfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock keeps f from being locked again, here and in other processes, for as
// long as it is open; then it returns ErrBusy. On a file system without locks it has no effect.
func Lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrBusy
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}
