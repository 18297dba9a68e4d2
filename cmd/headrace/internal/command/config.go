package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
)

// file is what a configuration file says, by the names of flags.
type file struct {
	values map[string]any
	getenv func(string) string
}

// loadYAML reads a file of --config.
func (p *Program) loadYAML(r io.Reader) (kong.Resolver, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f := &file{values: map[string]any{}, getenv: p.Getenv}
	if err := yaml.Unmarshal(text, &f.values); err != nil {
		return nil, fmt.Errorf("the file of --config cannot be read: %w", err)
	}
	return f, nil
}

// Validate implements kong.Resolver: every name has to be one of a flag.
func (f *file) Validate(app *kong.Application) error {
	known := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			known[flag.Name] = true
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(app.Node)
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		if !known[name] {
			return fmt.Errorf("the file of --config has %q, which is no flag", name)
		}
	}
	return nil
}

// Resolve implements kong.Resolver. The environment goes before the file.
func (f *file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if f.getenv(name) != "" {
			return nil, nil
		}
	}
	v, ok := f.values[flag.Name]
	if !ok {
		return nil, nil
	}
	switch v := v.(type) {
	case string, bool, nil:
		return v, nil
	case []any:
		return v, nil
	case map[string]any:
		return nil, fmt.Errorf("the file of --config has a mapping for %q: a value is wanted", flag.Name)
	default:
		return strings.TrimSpace(fmt.Sprint(v)), nil
	}
}
