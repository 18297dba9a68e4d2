//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package download

import (
	"errors"
	"os"
)

const noFollow = 0

// lockFile locks nothing: see the package's comment.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's choice
}

func unlockFile(f file, name string, remove bool) error {
	var err error
	if remove {
		err = os.Remove(name)
	}
	return errors.Join(err, f.Close())
}
