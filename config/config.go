package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/headrace/headrace/internal/yamldoc"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

// Load reads a file like Parse. Errors name the file; a missing file matches
// fs.ErrNotExist.
func Load(path string, own ...*presets.Table) (registry.Config, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the caller names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return registry.Config{}, fmt.Errorf("config: %w: %s", err, yamldoc.Instead(path))
	case err != nil:
		return registry.Config{}, fmt.Errorf("config: %w", err)
	}
	return parse(path, data, own)
}

// Parse reads a configuration from YAML or JSON. Unknown and repeated keys are errors.
// Anchors, aliases and merge keys (<<) are supported.
//
// Up to 20 problems are joined, each a *registry.ParseError with line, column and path.
// Tables of your own presets are used as by registry.ParseJSON.
func Parse(data []byte, own ...*presets.Table) (registry.Config, error) {
	return parse("", data, own)
}

func parse(file string, data []byte, own []*presets.Table) (registry.Config, error) {
	doc, err := yamldoc.Read(data)
	if e, ok := errors.AsType[*yamldoc.Error](err); ok {
		err = &registry.ParseError{File: file, Line: e.Line, Column: e.Column, Problem: e.Problem, Err: e.Err}
	}
	if err != nil {
		return registry.Config{}, err
	}
	c, err := registry.ParseJSON(doc.JSON, own...)
	if err != nil {
		return registry.Config{}, locate(err, file, doc)
	}
	return c, nil
}

// locate sets the position in the file in each *ParseError in err, which has the line
// of the JSON.
func locate(err error, file string, doc *yamldoc.Document) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, locate(e, file, doc))
		}
		return errors.Join(all...)
	}
	if at, ok := errors.AsType[*registry.ParseError](err); ok {
		at.File = file
		if p, ok := doc.Place(at.Line); ok {
			at.Line, at.Column = p.Line, p.Column
		}
	}
	return err
}
