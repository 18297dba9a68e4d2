package appendfile

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const errLockViolation = syscall.Errno(33)

// Lock keeps f from being locked again, here and in other processes, for as
// long as it is open; then it returns ErrBusy. It locks one byte far behind the end, so that the
// file can be read meanwhile.
func Lock(f *os.File) error {
	const atOnce, exclusive = 1, 2 // LOCKFILE_FAIL_IMMEDIATELY, LOCKFILE_EXCLUSIVE_LOCK
	behind := syscall.Overlapped{OffsetHigh: 1 << 30}
	done, _, err := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx").Call(f.Fd(), exclusive|atOnce, 0, 1, 0, uintptr(unsafe.Pointer(&behind))) //nolint:gosec // as the call wants it
	switch {
	case done != 0:
		return nil
	case errors.Is(err, errLockViolation):
		return ErrBusy
	}
	return err
}
