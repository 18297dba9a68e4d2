// Package yamldoc reads YAML as JSON that keeps the places. Aliases and merge keys are
// resolved, with a bound on what they add.
package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Place is where something stands in the YAML, from 1.
type Place struct{ Line, Column int }

// Error says what is wrong with a document.
type Error struct {
	Place

	Problem string
	Err     error // of the parser; may be nil
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Problem) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Document is a YAML document as JSON. Each key and each value has a line of its own, so
// that a reader of JSON that reports lines reports places of the YAML.
type Document struct {
	JSON   []byte
	places []Place
	texts  map[int]string // of scalars that JSON writes otherwise, by line
	taken  int            // mappings that were gone through for their keys, and keys that were merged
	plain  int            // lines that need no alias
}

// Place returns where a line of the JSON came from. Lines count from 1.
func (d *Document) Place(line int) (p Place, ok bool) {
	if line < 1 || line > len(d.places) {
		return Place{}, false
	}
	return d.places[line-1], true
}

// Text returns the number or other scalar on a line as the YAML has it, such as 1.10, if
// the JSON has it otherwise.
func (d *Document) Text(line int) (text string, ok bool) {
	text, ok = d.texts[line]
	return text, ok
}

const (
	deepest = 50      // levels: a configuration has five, and an alias may contain itself
	largest = 100_000 // lines of JSON, and merged keys, that aliases add: an alias of aliases of aliases can become endless

	tooLarge = "the aliases add more than %d values to the configuration"
)

// Read makes JSON of the one document in data. Its error is an *Error.
func Read(data []byte) (*Document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		return nil, problemAt(Place{1, 1}, "the file is empty: write {} for no settings")
	case err != nil:
		return nil, syntax(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, problemAt(placeOf(&more), "a second document begins: put all of the configuration into one")
	case !errors.Is(err, io.EOF):
		return nil, syntax(err)
	}
	d := Document{plain: linesOf(root.Content[0])}
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
	at, text := Place{1, 1}, err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		at, text = Place{max(1, e.Mark.Line), max(1, e.Mark.Column)}, e.Message
		if e.ContextMsg != "" {
			text = e.ContextMsg + ": " + text
		}
	}
	e := problemAt(at, "it is not YAML: %s", text)
	e.Err = err
	return e
}

func problemAt(at Place, format string, args ...any) *Error {
	return &Error{Place: at, Problem: fmt.Sprintf(format, args...)}
}

func placeOf(n *yaml.Node) Place { return Place{max(1, n.Line), max(1, n.Column)} }

// line adds one that came from n.
func (d *Document) line(n *yaml.Node, text string) {
	d.JSON = append(append(d.JSON, text...), '\n')
	d.places = append(d.places, placeOf(n))
}

func (d *Document) value(n *yaml.Node, depth int) error {
	switch {
	case depth > deepest:
		return problemAt(placeOf(n), "the entries are nested too deeply, or an alias contains itself")
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

func (d *Document) mapping(n *yaml.Node, depth int) error {
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
func (d *Document) scalar(n *yaml.Node) error {
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
		return problemAt(placeOf(n), "the tag %s means nothing here: remove it", tag)
	}
	text, err := json.Marshal(x)
	if err != nil {
		return problemAt(placeOf(n), "%s", err)
	}
	d.line(n, string(text))
	if _, written := x.(string); !written && n.Value != string(text) {
		if d.texts == nil {
			d.texts = map[int]string{}
		}
		d.texts[len(d.places)] = n.Value
	}
	return nil
}

func quote(s string) string {
	text, _ := json.Marshal(s) // a string always can be
	return strings.TrimSpace(string(text))
}
