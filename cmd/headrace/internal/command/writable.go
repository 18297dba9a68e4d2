package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

// writable checks before the run that a file written at its end can be written. It leaves no file behind.
func writable(path, what string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil // opening a pipe would block until there is a reader
	}
	if err == nil && info.IsDir() {
		return &run.UsageError{Err: fmt.Errorf("--%s: %s is a folder: name a file", what, path)}
	}
	isNew := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the user names the file; readable by every user that can read the folder
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("the %s cannot be written: %w", what, err)}
	}
	err = f.Close()
	if !isNew {
		return err
	}
	made, linkErr := filepath.EvalSymlinks(path) // the target of a link is removed, and the link stays
	if err := errors.Join(err, linkErr); err != nil {
		return err
	}
	return os.Remove(made)
}
