package presets

import (
	"slices"
	"strconv"
)

// row is one preset as it was written, and the profile that becomes of it.
type row struct {
	*Profile

	number int  // from 1
	at     int  // offset
	bad    bool // it has problems already
	places []place

	source, asOf, dated, window, reset string
	numbers                            [len(figures)]int64 // 0: not given
}

// place is where a value begins.
type place struct {
	key string
	at  int
}

// field is a key of a row that is not a number, and the *string or *bool that it sets.
type field struct {
	key string
	of  func(*row) any
}

//nolint:gochecknoglobals // a table
var fields = [...]field{
	{"id", func(r *row) any { return (*string)(&r.ID) }},
	{"provider", func(r *row) any { return &r.Provider }},
	{"tier", func(r *row) any { return &r.Tier }},
	{"model", func(r *row) any { return &r.Model }},
	{"main", func(r *row) any { return &r.Main }},
	{"hard", func(r *row) any { return &r.Hard }},
	{"kind", func(r *row) any { return (*string)(&r.Kind) }},
	{"dialect", func(r *row) any { return (*string)(&r.Dialect) }},
	{"scope", func(r *row) any { return &r.Scope }},
	{"pool", func(r *row) any { return &r.Pool }},
	{"algorithm", func(r *row) any { return &r.Algorithm }},
	{"window", func(r *row) any { return &r.window }},
	{"reset", func(r *row) any { return &r.reset }},
	{"counts", func(r *row) any { return &r.Counts }},
	{"status", func(r *row) any { return &r.Status }},
	{"notes", func(r *row) any { return &r.Notes }},
	{"source", func(r *row) any { return &r.source }},
	{"as_of", func(r *row) any { return &r.asOf }},
	{"dated", func(r *row) any { return &r.dated }},
	{"confidence", func(r *row) any { return (*string)(&r.Confidence) }},
}

func fieldNames() []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	for _, f := range figures {
		names = append(names, f.key)
	}
	return names
}

// set takes the value of a key over into r.
func (c *checker) set(r *row, key, v string, at int) {
	if slices.ContainsFunc(r.places, func(p place) bool { return p.key == key }) {
		c.addAt(at, r, key, twice)
		return
	}
	for i := range fields {
		if fields[i].key != key {
			continue
		}
		r.places = append(r.places, place{key, at})
		switch to := fields[i].of(r).(type) {
		case *string:
			*to = c.unquoted(v, at, r, key)
		case *bool:
			*to = v == "true"
			if !*to && v != "false" {
				c.addAt(at, r, key, "%s is neither true nor false", clip(v))
			}
		}
		return
	}
	for i := range figures {
		if f := &figures[i]; f.key == key {
			r.places = append(r.places, place{key, at})
			r.numbers[i] = c.whole(v, at, r, f)
			return
		}
	}
	c.unknown(at, r, key, fieldNames)
}

func (c *checker) unquoted(v string, at int, r *row, field string) (s string) {
	if v[0] != '"' {
		c.addAt(at, r, field, "%s is not a text in quotes", clip(v))
		return ""
	}
	if s = unquote(v); s == "" && r != nil {
		c.addAt(at, r, field, "it is empty: leave it out")
	}
	return s
}

func (c *checker) whole(v string, at int, r *row, f *figure) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case v[0] == '"':
		c.addAt(at, r, f.key, "%s is a text: write the number without quotes", clip(v))
	case err != nil:
		c.addAt(at, r, f.key, "%s is not a whole number in digits", clip(v))
	case n < 1 || n > f.most:
		c.addAt(at, r, f.key, "%d is not between 1 and %d", n, f.most)
	default:
		return n
	}
	return 0
}
