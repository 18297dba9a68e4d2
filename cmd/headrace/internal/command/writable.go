package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

// writable looks whether what is written in the end can be, before hours of work. It leaves no file behind.
func writable(path, what string) error {
	if path == "" {
		return nil
	}
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the user names it, for whoever may read the folder
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("the %s cannot be written: %w", what, err)}
	}
	err = f.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
