package presets

import (
	"encoding/json"
	"errors"
)

// Parse reads a table from JSON, in the form of facts.json:
//
//	{
//	  "sources": {
//	    "console": {"title": "The limits page of our account", "url": "https://platform.openai.com/settings/organization/limits"}
//	  },
//	  "presets": [
//	    {"id": "openai/ours/gpt-5", "rpm": 900, "tpm": 450000, "source": "console", "as_of": "2026-11-20", "confidence": "high"}
//	  ]
//	}
//
// A row needs an id, one of the file's sources, as_of and confidence, and a
// number, unless its kind is info or unavailable. provider, tier and model
// default to the parts of the id. docs/presets.md lists the fields. A row that is
// to become part of a tier of the table that comes along, as in
// Default().With(t), says "main": true.
//
// Everything is checked, and all problems are joined, each a *RowError with its
// line: syntax, fields that are unknown, repeated or of a wrong type, numbers out
// of bounds, dates, sources, time zones, ids that are repeated or do not name
// the row.
func Parse(data []byte) (*Table, error) {
	c := checker{data: data}
	if f, ok := c.read(); ok {
		rows := c.rows(f)
		if err := c.err(); err == nil {
			return build(rows), nil
		}
	}
	return nil, c.err()
}

// file is what was read, before anything is looked up.
type file struct {
	compiled string
	sources  map[string]Source
	rows     []*row
}

// row is one preset as it was written.
type row struct {
	number  int // from 1
	at      int // offset
	id      ID
	bad     bool // it has problems already
	texts   map[string]string
	flags   map[string]bool
	numbers map[string]int64
	places  map[string]int // offsets of the values
}

// read takes the JSON apart. ok is false if that cannot be done.
func (c *checker) read() (f file, ok bool) {
	if err := json.Unmarshal(c.data, new(json.RawMessage)); err != nil {
		at := len(c.data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(0, int(syntax.Offset)-1)
		}
		c.addAt(at, nil, "", "it is not JSON: %s", err)
		return f, false
	}
	f.sources = map[string]Source{}
	ok = c.object(skipSpace(c.data, 0), nil, "", func(key string, v []byte, at int) {
		switch key {
		case "schema":
			if string(v) != "1" {
				c.addAt(at, nil, key, "%s is not a version that is understood: write 1", clip(string(v)))
			}
		case "compiled":
			f.compiled, _ = c.text(v, at, nil, key)
			if _, _, ok := parseDate(f.compiled); !ok {
				c.addAt(at, nil, key, "%q is not a date such as 2026-11-20", clip(f.compiled))
			}
		case "sources":
			c.object(at, nil, key, func(name string, _ []byte, at int) { f.sources[name] = c.source(name, at) })
		case "presets":
			c.array(at, key, func(at int) { f.rows = append(f.rows, c.row(len(f.rows)+1, at)) })
		default:
			c.unknown(at, nil, key, []string{"schema", "compiled", "sources", "presets"})
		}
	})
	return f, ok
}

func (c *checker) source(name string, at int) (s Source) {
	field := "sources." + name
	c.object(at, nil, field, func(key string, v []byte, at int) {
		switch key {
		case "title":
			s.Title, _ = c.text(v, at, nil, field+".title")
		case "url":
			s.URL, _ = c.text(v, at, nil, field+".url")
		default:
			c.unknown(at, nil, key, []string{"title", "url"})
		}
	})
	c.sourceIsSane(s, at, field)
	return s
}

// row reads one; every key is a text, a flag or a figure.
func (c *checker) row(number, at int) *row {
	r := &row{
		number: number, at: at, texts: map[string]string{}, flags: map[string]bool{},
		numbers: map[string]int64{}, places: map[string]int{},
	}
	members(c.data, at, func(key string, from, to int) { // for the messages about what stands before it
		if v := c.data[from:to]; key == "id" && v[0] == '"' {
			r.id = ID(unquote(v))
		}
	})
	c.object(at, r, "", func(key string, v []byte, at int) {
		r.places[key] = at
		switch kindOfField(key) {
		case textField:
			if s, ok := c.text(v, at, r, key); ok {
				r.texts[key] = s
			}
		case flagField:
			if string(v) != "true" && string(v) != "false" {
				c.addAt(at, r, key, "%s is neither true nor false", clip(string(v)))
			}
			r.flags[key] = string(v) == "true"
		case numberField:
			if n, ok := c.whole(v, at, r, key); ok {
				r.numbers[key] = n
			}
		case noField:
			c.unknown(at, r, key, fieldNames())
		}
	})
	r.id = ID(r.texts["id"])
	return r
}
