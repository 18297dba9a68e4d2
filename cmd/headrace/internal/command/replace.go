package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace writes text to the file at path. If that fails, a file that is already there keeps its content.
func replace(path string, text []byte) error {
	err := beside(path, text)
	if errors.Is(err, errInPlace) {
		err = os.WriteFile(path, text, 0o644) //nolint:gosec // readable by every user that can read the folder
	}
	if where := (*fs.PathError)(nil); errors.As(err, &where) {
		return fmt.Errorf("%s: %w", path, where.Err) // the name of a temporary file helps no one
	}
	return err
}

// errInPlace is the error for a file that can only be overwritten.
var errInPlace = errors.New("it has to be written in place")

// beside writes a new file and renames it to path, or to the target of a link at path.
func beside(path string, text []byte) error {
	mode := os.FileMode(0o644)
	target, err := filepath.EvalSymlinks(path)
	switch _, linkErr := os.Lstat(path); {
	case errors.Is(linkErr, fs.ErrNotExist):
		target = path
	case err != nil, linkErr != nil: // such as a link to a file that does not exist yet
		return errInPlace
	default:
		info, err := os.Stat(target)
		if err != nil || !info.Mode().IsRegular() {
			return errInPlace
		}
		mode = info.Mode().Perm()
		old, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil { // the user has made it read-only, perhaps
			return errInPlace
		}
		_ = old.Close()
	}
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.tmp", target, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil { // the folder may be read-only, or the name too long
		return errInPlace
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
