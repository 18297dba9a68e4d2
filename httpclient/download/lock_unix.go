//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/headrace/headrace/internal/lockfile"
)

// noFollow prevents writing through a link that another user placed in a shared folder.
const noFollow = syscall.O_NOFOLLOW

// lockFile opens or makes name, locked until it is closed or the process ends.
func lockFile(name string) (*os.File, error) {
	f, err := lockfile.Open(name)
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, ErrBusy
	}
	return f, err
}

// linksOf counts the names of a file.
func linksOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert,nolintlint // it is shorter on other systems
	}
	return 1
}
