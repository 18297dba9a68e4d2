package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/headrace/headrace/registry"
)

// Load reads a file with Parse. The problems bear its path. For a file that is
// not there the error says which ones are; it matches fs.ErrNotExist.
// Of the options it heeds registry.WithPresets.
func Load(path string, opts ...registry.Option) (registry.Config, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the caller names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return registry.Config{}, fmt.Errorf("config: %w: %s", err, instead(path))
	case err != nil:
		return registry.Config{}, fmt.Errorf("config: %w", err)
	}
	return parse(path, data, opts)
}

// Parse reads a configuration from YAML, of which JSON is a part. Keys that are
// unknown or come twice are refused. Anchors, aliases and merge keys (<<) work:
// they are how an entry takes over what another says.
//
// All problems are joined, each a *registry.ParseError with the line, the column
// and the way to the value. After 20 no more is told. Of the options it heeds
// registry.WithPresets.
func Parse(data []byte, opts ...registry.Option) (registry.Config, error) {
	return parse("", data, opts)
}

func parse(file string, data []byte, opts []registry.Option) (registry.Config, error) {
	doc, err := read(data)
	if err != nil {
		return registry.Config{}, locate(err, file, nil)
	}
	c, err := registry.ParseJSON(doc.json, opts...)
	if err != nil {
		return registry.Config{}, locate(err, file, doc.places)
	}
	return c, nil
}

// locate puts the place in the file into each *ParseError in err, whose line is
// an index into places; nil: it is in place.
func locate(err error, file string, places []place) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, locate(e, file, places))
		}
		return errors.Join(all...)
	}
	if at, ok := errors.AsType[*registry.ParseError](err); ok {
		at.File = file
		if i := at.Line - 1; i < len(places) {
			at.Line, at.Column = places[i].line, places[i].column
		}
	}
	return err
}
