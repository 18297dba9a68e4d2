package presets

import "strconv"

type fieldKind uint8

const (
	noField fieldKind = iota
	textField
	flagField
	numberField
)

//nolint:gochecknoglobals // tables
var (
	texts = [...]string{
		"id", "provider", "tier", "model", "kind", "dialect", "source", "as_of", "dated", "confidence",
		"scope", "pool", "algorithm", "window", "reset", "counts", "status", "notes",
	}
	flags = [...]string{"main", "common", "hard"}
)

func kindOfField(key string) fieldKind {
	for _, k := range texts {
		if k == key {
			return textField
		}
	}
	for _, k := range flags {
		if k == key {
			return flagField
		}
	}
	if _, ok := findFigure(key); ok {
		return numberField
	}
	return noField
}

func fieldNames() []string {
	names := append(texts[:len(texts):len(texts)], flags[:]...)
	for _, f := range figures {
		names = append(names, f.key)
	}
	return names
}

func (c *checker) text(v []byte, at int, r *row, field string) (s string, ok bool) {
	if v[0] != '"' {
		c.addAt(at, r, field, "%s is not a text in quotes", clip(string(v)))
		return "", false
	}
	s = unquote(v)
	if s == "" && field != "url" && r != nil {
		c.addAt(at, r, field, "it is empty: leave it out")
		return "", false
	}
	return s, true
}

func (c *checker) whole(v []byte, at int, r *row, field string) (n int64, ok bool) {
	f, _ := findFigure(field)
	n, err := strconv.ParseInt(string(v), 10, 64)
	switch {
	case v[0] == '"':
		c.addAt(at, r, field, "%s is a text: write the number without quotes", clip(string(v)))
	case err != nil:
		c.addAt(at, r, field, "%s is not a whole number in digits", clip(string(v)))
	case n < 1 || n > f.most:
		c.addAt(at, r, field, "%d is not between 1 and %d", n, f.most)
	default:
		return n, true
	}
	return 0, false
}
