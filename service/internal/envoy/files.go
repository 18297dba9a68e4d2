package envoy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/yamldoc"
)

const mostFiles = 1000

// Load reads files for Parse. Its error is a *fault.FieldError or one of the file. A folder stands for the files in it that end in .yaml or
// .yml, as in the configuration folder of envoyproxy/ratelimit; those that begin with a
// dot are left out.
func Load(paths ...string) ([]File, error) {
	var all []File
	for _, path := range paths {
		names, err := namesOf(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if len(all) == mostFiles {
				return nil, &fault.FieldError{Owner: "envoy", Field: path, Problem: fmt.Sprintf("there are more than %d files", mostFiles)}
			}
			data, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("envoy: %w", err)
			}
			all = append(all, File{Name: name, Data: data})
		}
	}
	return all, nil
}

func namesOf(path string) ([]string, error) {
	info, err := os.Stat(path) // of what a symbolic link leads to, such as in a volume of Kubernetes
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("envoy: %w: %s", err, yamldoc.Instead(path))
	case err != nil:
		return nil, fmt.Errorf("envoy: %w", err)
	case !info.IsDir():
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("envoy: %w", err)
	}
	var names []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, &fault.FieldError{Owner: "envoy", Field: path, Problem: "there is no file that ends in .yaml or .yml"}
	}
	return names, nil
}

// read reads as much of a file as Parse accepts, and a byte more.
func read(name string) (data []byte, err error) {
	f, err := os.Open(name) //nolint:gosec // the configuration names it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}
