//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package download

import (
	"io/fs"
	"os"
)

const noFollow = 0

// lockFile locks nothing: see the package's comment.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's choice
}

// linksOf does not know.
func linksOf(fs.FileInfo) uint64 { return 1 }
