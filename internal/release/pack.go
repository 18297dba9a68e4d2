package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"time"
)

// file is a file of an archive.
type file struct {
	name string
	data []byte
	exec bool
}

func (f *file) mode() os.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// tarball writes files as .tar.gz. Equal files give equal bytes.
func tarball(name string, at time.Time, files []file) error {
	return create(name, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		for i := range files {
			f := &files[i]
			h := tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
			if err := t.WriteHeader(&h); err != nil {
				return err
			}
			if _, err := t.Write(f.data); err != nil {
				return err
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
		return z.Close()
	})
}

// zipped writes files as .zip. Equal files give equal bytes.
func zipped(name string, at time.Time, files []file) error {
	return create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for i := range files {
			f := &files[i]
			h := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
			h.SetMode(f.mode())
			to, err := z.CreateHeader(&h)
			if err != nil {
				return err
			}
			if _, err := to.Write(f.data); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// packed compresses data as gzip does.
func packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

func create(name string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { //nolint:gosec // readable by all users
		return err
	}
	f, err := os.Create(name) //nolint:gosec // below the folder of the release
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	return write(f)
}
