//go:build unix

package results

import (
	"os"
	"syscall"
)

// lock keeps other processes of this program from f, for as long as it is open.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
