//go:build unix

package doctor

import (
	"os"
	"syscall"
)

// ownerOf returns the user that a file belongs to.
func ownerOf(info os.FileInfo) (user int, known bool) {
	if info == nil {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
