//go:build !windows

package download

import (
	"errors"
	"os"
)

// unlockFile removes first: after the unlock the file may belong to another process.
func unlockFile(f file, name string, remove bool) error {
	var err error
	if remove {
		err = os.Remove(name)
	}
	return errors.Join(err, f.Close())
}
