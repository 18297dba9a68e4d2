package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

// writable looks whether what is written in the end can be, before hours of work. It leaves no file behind.
func writable(path, what string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil // opening it would wait for its reader
	}
	isNew := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the user names it, for whoever may read the folder
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("the %s cannot be written: %w", what, err)}
	}
	err = f.Close()
	if !isNew {
		return err
	}
	made, linkErr := filepath.EvalSymlinks(path) // the link stays
	if err := errors.Join(err, linkErr); err != nil {
		return err
	}
	return os.Remove(made)
}
