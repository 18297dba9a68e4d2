// Package document reads a configuration from JSON into a struct with fields that have a
// tag `config:"key"`, and reports every problem with its place in the text. Package
// registry and the service read theirs by it.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

var kindNames = [...]string{"null", "a yes or no", "a number", "a text", "a list", "an object"}

func (k kind) String() string { return kindNames[k] }

// Node is a value of a JSON document with its place.
type Node struct {
	kind   kind
	at     int    // where it begins
	text   string // of a text, number or boolean
	fields []field
}

// field is a key of an object with its value.
type field struct {
	key   string
	at    int
	value *Node
}

// find returns the place of the value that keys lead to, or of the last one on
// the way that is there.
func (n *Node) find(keys []string) (at int) {
	at = n.at
	for _, key := range keys {
		i := slices.IndexFunc(n.fields, func(f field) bool { return f.key == key })
		if at, ok := index(key); ok && n.kind == array {
			i = at
		}
		if i < 0 || i >= len(n.fields) {
			return at
		}
		n = n.fields[i].value
		at = n.at
	}
	return at
}

// deepest is how many objects may lie in each other: more than any
// configuration needs, and few enough for the stack.
const deepest = 64

var (
	errTooDeep = errors.New("the objects are nested too deeply")
	errEmpty   = errors.New("the text is empty: write guards with their limits, or {} for none")
)

// treeReader makes a tree of a JSON document. encoding/json does not report
// where its values are.
type treeReader struct {
	data []byte
	*json.Decoder
}

// Read returns the tree, or an error with its offset.
func Read(data []byte) (root *Node, at int, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, 0, errEmpty
	}
	err = json.Unmarshal(data, new(json.RawMessage)) // it tells better than the decoder what is no JSON
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(s.Offset) - 1
		if at+1 == len(data) && strings.HasPrefix(s.Error(), "unexpected end") {
			at++
			err = fmt.Errorf("%w: a closing bracket or quotation mark is missing", err)
		}
		return nil, max(0, at), err
	}
	r := treeReader{data, json.NewDecoder(bytes.NewReader(data))}
	r.UseNumber()
	root, err = r.value(0)
	return root, int(r.InputOffset()), err
}

// begin is where the next token begins.
func (r *treeReader) begin() int {
	at := int(r.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *treeReader) value(depth int) (*Node, error) {
	n := &Node{at: r.begin()}
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch x := token.(type) {
	case json.Delim:
		n.kind = array
		if x == '{' {
			n.kind = object
		}
		if depth == deepest {
			return nil, errTooDeep
		}
		return n, r.inside(n, depth)
	case string:
		n.kind, n.text = text, x
	case json.Number:
		n.kind, n.text = number, x.String()
	case bool:
		n.kind, n.text = boolean, strconv.FormatBool(x)
	}
	return n, nil
}

// inside reads what lies in n, and the bracket that closes it.
func (r *treeReader) inside(n *Node, depth int) error {
	for r.More() {
		f := field{at: r.begin()}
		if n.kind == object {
			token, err := r.Token()
			if err != nil {
				return err
			}
			f.key, _ = token.(string) // the decoder takes nothing else here
		}
		var err error
		if f.value, err = r.value(depth + 1); err != nil {
			return err
		}
		n.fields = append(n.fields, f)
	}
	_, err := r.Token()
	return err
}
