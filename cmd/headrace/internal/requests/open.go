package requests

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Stdin is the path of standard input.
const Stdin = "-"

// FolderError is the error for a path that is a folder.
type FolderError string

// Error names the remedy.
func (e FolderError) Error() string {
	return string(e) + " is a folder: name a file, or - for standard input"
}

// Open opens a file of requests, or standard input for "-". A file with a name that ends in .gz
// is decompressed with gzip.
func Open(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == Stdin {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close()
		return nil, FolderError(path)
	}
	if !strings.HasSuffix(path, ".gz") {
		return file, nil
	}
	unpacked, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s ends in .gz but is not compressed with gzip: %w", path, err)
	}
	return &packed{unpacked, file}, nil
}

// Rereadable reports whether the file at path can be read twice, which a scan requires.
func Rereadable(path string) bool {
	if path == Stdin {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

type packed struct {
	*gzip.Reader

	file *os.File
}

// Read names the remedy for data that is not complete, as after an interrupted download.
func (p *packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err == nil || err == io.EOF { //nolint:errorlint // as io.Reader returns it
		return n, err
	}
	what := "damaged"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		what = "incomplete"
	}
	return n, fmt.Errorf("the compressed data is %s (%w): copy or compress the file again", what, err)
}

func (p *packed) Close() error { return errors.Join(p.Reader.Close(), p.file.Close()) }
