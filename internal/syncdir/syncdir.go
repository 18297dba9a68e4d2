// Package syncdir makes the names of the files in a folder durable: syncing a file keeps its content, but not that
// it is there.
package syncdir

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Sync makes the names in a folder durable. It does nothing where that is not possible: on Windows and on some file systems.
func Sync(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(folder) //nolint:gosec // the caller's choice
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
