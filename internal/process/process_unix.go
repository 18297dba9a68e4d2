//go:build unix

package process

import (
	"errors"
	"syscall"
)

// exists reports whether there may be a process of that number.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
