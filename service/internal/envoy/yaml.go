package envoy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/internal/yamldoc"
)

// node is a value of a YAML file.
type node struct {
	at    yamldoc.Place
	kind  kind
	text  string // of a scalar, as it was written
	value string // of a number
	items []entry
}

// entry is an item of a list, or a setting of a mapping.
type entry struct {
	key   string
	at    yamldoc.Place // of the key
	value *node
}

type kind uint8

const (
	null kind = iota
	text
	number
	list
	mapping
)

// document returns what is in a file.
func document(data []byte) (*node, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it has %d bytes: at most %d are read", len(data), MaxFile)
	}
	doc, err := yamldoc.Read(data)
	if err != nil {
		return nil, err
	}
	r := reader{doc: doc, line: 1, Decoder: json.NewDecoder(bytes.NewReader(doc.JSON))}
	r.UseNumber()
	return r.value()
}

// reader reads the JSON of a document, in which each line is a place of the YAML.
type reader struct {
	*json.Decoder

	doc  *yamldoc.Document
	read int64 // bytes of which the lines were counted
	line int
}

// token returns the next token and where it is in the YAML.
func (r *reader) token() (json.Token, yamldoc.Place, error) {
	t, err := r.Token()
	end := r.InputOffset()
	r.line += bytes.Count(r.doc.JSON[r.read:end], []byte("\n")) // a token has none
	r.read = end
	at, _ := r.doc.Place(r.line)
	return t, at, err
}

func (r *reader) value() (*node, error) {
	t, at, err := r.token()
	if err != nil {
		return nil, fmt.Errorf("it is not what YAML has: %w", err)
	}
	n := &node{at: at}
	switch x := t.(type) {
	case json.Delim:
		n.kind = list
		if x == '{' {
			n.kind = mapping
		}
		return n, r.inside(n)
	case string:
		n.kind, n.text = text, x
	case json.Number:
		n.kind, n.text, n.value = number, x.String(), x.String()
	case bool:
		n.kind, n.text = text, strconv.FormatBool(x)
	}
	if written, ok := r.doc.Text(r.line); ok {
		n.text = written
	}
	return n, nil
}

// inside reads what lies in n, and the bracket that closes it.
func (r *reader) inside(n *node) error {
	for r.More() {
		e := entry{}
		if n.kind == mapping {
			t, at, err := r.token()
			if err != nil {
				return err
			}
			e.key, _ = t.(string)
			e.at = at
		}
		var err error
		if e.value, err = r.value(); err != nil {
			return err
		}
		n.items = append(n.items, e)
	}
	_, _, err := r.token()
	return err
}

// elsewhere says where a setting has an effect that envoyproxy/ratelimit accepts in
// every mapping.
func elsewhere(key string) string {
	switch key {
	case "domain":
		return "the file"
	case "descriptors":
		return "a descriptor and the file"
	case "key", "value", "rate_limit", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "metadata":
		return "a descriptor"
	case "unit", "requests_per_unit", "unlimited", "replaces", "unit_multiplier":
		return "rate_limit"
	case "name":
		return "rate_limit and replaces"
	}
	return ""
}

// mapping reads the settings of n, and reports whether it is a mapping.
func (p *parser) mapping(n *node, path string, settings map[string]setting) bool {
	if n.kind != mapping {
		p.problem(n.at, cmp.Or(path, "(file)"), "it is not a mapping of settings to values")
		return false
	}
	seen := map[string]bool{}
	for _, e := range n.items {
		below := field(path, e.key)
		if seen[e.key] {
			p.problem(e.at, below, "it is given twice: leave one of them out")
			continue
		}
		seen[e.key] = true
		if read := settings[e.key]; read != nil {
			read(e.value, below)
		} else {
			p.unknown(&e, below, settings)
		}
	}
	return true
}

func (p *parser) unknown(e *entry, path string, settings map[string]setting) {
	if where := elsewhere(e.key); where != "" {
		p.differs(Ignored, e.at, path, "it has an effect in %s only, as in envoyproxy/ratelimit", where)
		return
	}
	known := slices.Sorted(maps.Keys(settings))
	if meant := near.Names(e.key, known, 1); len(meant) > 0 {
		p.problem(e.at, path, "it is not a setting: did you mean %s?", meant[0])
		return
	}
	p.problem(e.at, path, "it is not a setting: there are %q", known)
}

// field is the path of a setting.
func field(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// place is where an error of a document is, and what it says.
func place(err error) (yamldoc.Place, string) {
	if e, ok := errors.AsType[*yamldoc.Error](err); ok {
		return e.Place, e.Problem
	}
	return yamldoc.Place{Line: 1, Column: 1}, err.Error()
}
