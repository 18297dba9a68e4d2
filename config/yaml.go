package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/headrace/headrace/registry"
)

// place is where something stands in the YAML, from 1.
type place struct{ line, column int }

// document is a YAML document as JSON with each key and each value on a line of
// its own, of which places tells where it came from. So registry.ParseJSON is
// the only reader of the configuration.
type document struct {
	json   []byte
	places []place
	taken  int // mappings that were gone through for their keys, and keys that were merged
	plain  int // lines that need no alias
}

const (
	deepest = 50      // levels: a configuration has five, and an alias may contain itself
	largest = 100_000 // lines of JSON, and merged keys, that aliases add: an alias of aliases of aliases can become endless

	tooLarge = "the aliases add more than %d values to the configuration"
)

// read makes JSON of the one document in data.
func read(data []byte) (*document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		return nil, problemAt(place{1, 1}, "the file is empty: write guards with their limits, or {} for none")
	case err != nil:
		return nil, syntax(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, problemAt(placeOf(&more), "a second document begins: put all of the configuration into one")
	case !errors.Is(err, io.EOF):
		return nil, syntax(err)
	}
	d := document{plain: linesOf(root.Content[0])}
	if err := d.value(root.Content[0], 0); err != nil {
		return nil, err
	}
	return &d, nil
}

// linesOf is how many lines n needs at most, without what its aliases add.
func linesOf(n *yaml.Node) int {
	lines := 2
	for _, x := range n.Content {
		lines += linesOf(x)
	}
	return lines
}

// syntax gives what the parser says its place.
func syntax(err error) error {
	at, text := place{1, 1}, err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		at, text = place{max(1, e.Mark.Line), max(1, e.Mark.Column)}, e.Message
		if e.ContextMsg != "" {
			text = e.ContextMsg + ": " + text
		}
	}
	e := problemAt(at, "it is not YAML: %s", text)
	e.Err = err
	return e
}

func problemAt(at place, format string, args ...any) *registry.ParseError {
	return &registry.ParseError{Line: at.line, Column: at.column, Problem: fmt.Sprintf(format, args...)}
}

func placeOf(n *yaml.Node) place { return place{max(1, n.Line), max(1, n.Column)} }

// line adds one that came from n.
func (d *document) line(n *yaml.Node, text string) {
	d.json = append(append(d.json, text...), '\n')
	d.places = append(d.places, placeOf(n))
}

func (d *document) value(n *yaml.Node, depth int) error {
	switch {
	case depth > deepest:
		return problemAt(placeOf(n), "the entries lie too deep in each other, or an alias contains itself")
	case len(d.places) > d.plain+largest:
		return problemAt(placeOf(n), tooLarge, largest)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return d.mapping(n, depth)
	case yaml.SequenceNode:
		d.line(n, "[")
		for i, x := range n.Content {
			if i > 0 {
				d.line(x, ",")
			}
			if err := d.value(x, depth+1); err != nil {
				return err
			}
		}
		d.line(n, "]")
		return nil
	default:
		return d.scalar(n)
	}
}

func (d *document) mapping(n *yaml.Node, depth int) error {
	pairs, err := d.merged(n, depth)
	if err != nil {
		return err
	}
	d.line(n, "{")
	for i, p := range pairs {
		comma := ""
		if i > 0 {
			comma = ","
		}
		d.line(p.key, comma+quote(p.key.Value)+":")
		if err := d.value(p.value, depth+1); err != nil {
			return err
		}
	}
	d.line(n, "}")
	return nil
}

// scalar writes what the schema of YAML 1.2 takes n for; JSON has no others.
func (d *document) scalar(n *yaml.Node) error {
	var x any
	switch tag := n.ShortTag(); tag {
	case "!!null":
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&x); err != nil {
			return syntax(err)
		}
		if f, ok := x.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			x = n.Value
		}
	case "!!str", "!!timestamp":
		x = n.Value
	default:
		return problemAt(placeOf(n), "the tag %s means nothing here: take it away", tag)
	}
	text, err := json.Marshal(x)
	if err != nil {
		return problemAt(placeOf(n), "%s", err)
	}
	d.line(n, string(text))
	return nil
}

func quote(s string) string {
	text, _ := json.Marshal(s) // a string always can be
	return strings.TrimSpace(string(text))
}
