//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopened reports whether f may have been closed when the program started: the Go runtime then opens the null device for
// reading and writing in its place. A shell opens it for writing only.
func reopened(f *os.File) bool {
	null, nullErr := os.Stat(os.DevNull)
	own, ownErr := f.Stat()
	if nullErr != nil || ownErr != nil || !os.SameFile(null, own) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
