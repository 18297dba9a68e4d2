package rules

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Read returns the bytes of a configuration file.
func Read(path string) ([]byte, error) { return readBounded(path, largestFile) }

var errTooLong = errors.New("the file is too long")

// readBounded reads a file that has at most so many bytes. It does not wait for a pipe.
func readBounded(path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: %w: at most %d bytes are read", path, errTooLong, most)
	}
	return data, err
}

func inDir(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}
