package results

import (
	"os"
	"syscall"
	"unsafe"
)

// lock keeps other processes of this program from f, for as long as it is open. It is a byte far behind the end
// that is locked: who reads the file is not in the way.
func lock(f *os.File) error {
	const atOnce, exclusive = 1, 2 // LOCKFILE_FAIL_IMMEDIATELY, LOCKFILE_EXCLUSIVE_LOCK
	behind := syscall.Overlapped{OffsetHigh: 1 << 30}
	done, _, err := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx").Call(f.Fd(), exclusive|atOnce, 0, 1, 0, uintptr(unsafe.Pointer(&behind))) //nolint:gosec // as the call wants it
	if done == 0 {
		return err
	}
	return nil
}
