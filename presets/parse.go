package presets

import (
	"encoding/json"
	"errors"
	"time"
)

// Parse reads a table from JSON in the form of facts.json, such as
//
//	{"sources": {"console": {"title": "The limits page of our account"}},
//	 "presets": [{"id": "openai/ours/gpt-5", "rpm": 900, "tpm": 450000,
//	   "source": "console", "as_of": "2026-11-20", "confidence": "high"}]}
//
// A row needs an id, one of the file's sources, as_of and confidence, and a
// number, unless its kind is info or unavailable. docs/presets.md lists the fields.
// A row that is to count for its tier, as in Default().With(t), has "main": true.
// All problems are joined, each a *RowError with its line.
func Parse(data []byte) (*Table, error) {
	c := checker{text: string(data), latest: latest(time.Now())}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(0, int(syntax.Offset)-1)
		}
		c.addAt(at, nil, "", "it is not JSON: %s", err)
		return nil, c.err()
	}
	return c.table()
}

// table makes one of the text, which is valid JSON.
func (c *checker) table() (*Table, error) {
	f := c.read()
	var rows []*Profile
	if f.presets > 0 {
		c.array(f.presets, "presets", func(at int) { rows = append(rows, c.row(len(rows)+1, at, &f)) })
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return build(rows), nil
}

// file is what there is to know before a row is read.
type file struct {
	compiled time.Time // zero: it does not say
	sources  map[string]Source
	presets  int // where they begin; 0: absent
}

// read takes the text apart.
func (c *checker) read() file {
	f := file{sources: map[string]Source{}}
	c.object(skipSpace(c.text, 0), "", func(key, v string, at int) {
		switch key {
		case "schema":
			if v != "1" {
				c.addAt(at, nil, key, "%s is not a version that is understood: write 1", clip(v))
			}
		case "compiled":
			var ok bool
			text := c.unquoted(v, at, nil, key)
			if f.compiled, _, ok = parseDate(text); !ok {
				c.addAt(at, nil, key, "%q is not a date such as 2026-11-20", clip(text))
			} else if c.isAhead(f.compiled) {
				c.addAt(at, nil, key, "%s has not come yet", text)
			}
		case "constants": // for internal/presetgen
			c.array(at, key, func(int) {})
		case "sources":
			c.object(at, key, func(name, _ string, at int) { f.sources[name] = c.source(name, at) })
		case "presets":
			f.presets = at
		default:
			c.unknown(at, nil, key, func() []string { return []string{"schema", "compiled", "constants", "sources", "presets"} })
		}
	})
	return f
}

func (c *checker) source(name string, at int) (s Source) {
	field := "sources." + name
	c.object(at, field, func(key, v string, at int) {
		switch key {
		case "title":
			s.Title = c.unquoted(v, at, nil, field+".title")
		case "url":
			s.URL = c.unquoted(v, at, nil, field+".url")
		default:
			c.unknown(at, nil, key, func() []string { return []string{"title", "url"} })
		}
	})
	c.sourceIsSane(s, at, field)
	return s
}

// row reads and completes one.
func (c *checker) row(number, at int, f *file) *Profile {
	r := &row{Profile: &Profile{}, number: number, at: at, places: c.places[:0]}
	if c.text[at] != '{' {
		c.addAt(at, r, "", "it is not an object in braces")
	}
	before := len(c.errs)
	members(c.text, at, func(key string, from, to int) { c.set(r, key, c.text[from:to], from) })
	for _, e := range c.errs[before:] {
		e.ID = r.ID // also in problems of keys before the ID
	}
	c.places = r.places // for the next one
	r.Algorithm = joined(r.Algorithm, r.window)
	c.limits(r)
	c.identity(r)
	c.provenance(r, f)
	return r.Profile
}
