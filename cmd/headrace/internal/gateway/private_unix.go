//go:build unix

package gateway

import (
	"fmt"
	"os"
	"syscall"
)

// private returns an error unless only this user has access to dir.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(of.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a directory that only this user can access: remove it, or set its mode to 0700", dir)
	}
	return nil
}
