package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// simulator is the file that the page fetches. It is compressed, because not
// every static host compresses WebAssembly; the page decompresses it.
const simulator = "simulator.wasm.gz"

// largest is what the bytes of the whole page stay below.
const largest = 3_000_000

// build writes the page to the folder out, or to the one in the repository, and
// returns that folder.
func build(ctx context.Context, root, out string, stdout io.Writer) (dir string, err error) {
	from := filepath.Join(root, page)
	if dir = out; dir == "" {
		dir = from
	} else if err := copied(dir, from); err != nil {
		return "", err
	}
	wasm, err := compiled(ctx, root)
	if err != nil {
		return "", err
	}
	small, err := compressed(wasm)
	if err != nil {
		return "", err
	}
	if err := write(dir, simulator, small); err != nil {
		return "", err
	}
	goroot, err := output(ctx, root, nil, "env", "GOROOT")
	if err != nil {
		return "", err
	}
	tree := strings.TrimSpace(string(goroot))
	uplot := filepath.Join(root, "dashboard", "page")
	for name, source := range map[string]string{
		"wasm_exec.js":      filepath.Join(tree, "lib", "wasm", "wasm_exec.js"), // it belongs to the compiler
		"go.LICENSE.txt":    filepath.Join(tree, "LICENSE"),
		"uplot.js":          filepath.Join(uplot, "uplot.js"),
		"uplot.css":         filepath.Join(uplot, "uplot.css"),
		"uplot.LICENSE.txt": filepath.Join(uplot, "uplot.LICENSE.txt"),
	} {
		data, err := os.ReadFile(source) //nolint:gosec // a file of the repository or of Go
		if err != nil {
			return "", err
		}
		if err := write(dir, name, data); err != nil {
			return "", err
		}
	}
	size, err := sizeOf(dir)
	if err != nil {
		return "", err
	}
	if err := bounded(dir, size); err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d bytes, of which %s has %d (%d decompressed)\n", dir, size, simulator, len(small), len(wasm))
	return dir, err
}

// compiled is the simulator as WebAssembly. Equal sources, and an equal Go, give equal bytes.
func compiled(ctx context.Context, root string) ([]byte, error) {
	scratch, err := os.MkdirTemp("", "playground-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	path := filepath.Join(scratch, "simulator.wasm")
	if _, err := output(ctx, root, []string{"GOOS=js", "GOARCH=wasm"},
		"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./internal/simulate/playground/wasm"); err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // it was just made
}

func compressed(data []byte) ([]byte, error) {
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return small.Bytes(), nil
}

// output is what a go command prints.
func output(ctx context.Context, root string, env []string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // arguments from above
	command.Dir, command.Env = root, append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return out, nil
}

// copied copies what git has of the page to dir.
func copied(dir, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name())) //nolint:gosec // a file of the page
		if err != nil {
			return err
		}
		if err := write(dir, e.Name(), data); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a page for everyone
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), data, 0o644) //nolint:gosec // a page for everyone
}

func bounded(dir string, size int64) error {
	if size < largest {
		return nil
	}
	return fmt.Errorf("%s has %d bytes, and the bound is below %d", dir, size, largest)
}

// sizeOf is how many bytes the files of dir have.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		return nil
	})
	return sum, err
}
