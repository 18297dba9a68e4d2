package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/throttle"
)

// Parse reads limits by name in the form of throttle.ParseKeyedLimits:
//
//	default: 1/s; ols: 4/s; crawl: 20/s; crawl/*: bucket 2/s burst 5; users/*: 5/s
//
// The name default is Config.Default. An entry such as "store: sqlite:limits.db" is
// Config.Store; the address ends at a semicolon. Problems are joined, each a *ParseError.
func Parse(text string) (Config, error) {
	var ps problems
	entries := entriesIn(text)
	stores, rest := cutStores(text, entries)
	keyed, err := throttle.ParseKeyedLimits(rest)
	if strings.TrimSpace(rest) == "" && len(stores) > 0 {
		err = nil
	}
	if err != nil {
		ps.addText(text, entries, err)
		return Config{}, ps.told(text)
	}
	c, templates := Config{Guards: map[string]Spec{}}, 0
	for i, address := range stores {
		if c.Store = address; i > 0 {
			ps.Addf([]string{storeName}, "the store is given twice: leave one out")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keyed)) {
		spec := Spec{Limits: keyed[name]}
		if keyOf(name) != defaultName {
			c.Guards[name] = spec
			continue
		}
		c.Default = spec
		if templates++; templates == 2 {
			ps.Addf([]string{defaultName}, "the name %q occurs twice (case and surrounding space do not matter): leave one out", defaultName)
		}
	}
	c.entries(&ps)
	if len(ps.List) > 0 {
		for i, p := range ps.List {
			for _, x := range entries {
				if len(x.keys) <= len(p.Keys) && slices.Equal(x.keys, p.Keys[:len(x.keys)]) {
					ps.List[i].At = x.at // of several the last
				}
			}
		}
		return Config{}, ps.told(text)
	}
	return c, nil
}

// storeName is the key of Config.Store.
const storeName = "store"

// cutStores returns the addresses of the entries that name the store, and the text with
// blanks in their place. A guard of that name has limits, which are no address.
func cutStores(text string, entries []entryText) (addresses []string, rest string) {
	rest = text
	for i := range entries {
		x := &entries[i]
		end := len(text)
		if n := strings.IndexByte(text[x.at:], ';'); n >= 0 {
			end = x.at + n + 1
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(text[x.at:end], ";"), ":")
		if value = strings.TrimSpace(value); keyOf(key) != storeName || !isAddress(value) {
			continue
		}
		addresses = append(addresses, value)
		rest = rest[:x.at] + strings.Repeat(" ", end-x.at) + rest[end:]
		x.keys = []string{storeName}
	}
	return addresses, rest
}

// entryText is where the entry of a key begins in a text.
type entryText struct {
	keys []string // the way to it in a Config
	at   int
}

// entriesIn finds the entries of a text, also where it cannot be read.
func entriesIn(text string) (found []entryText) {
	for at := 0; at < len(text); at++ {
		rest := strings.TrimLeft(text[at:], " \t\r\n")
		at = len(text) - len(rest)
		end := strings.IndexAny(rest, ",;:\"")
		if end < 0 {
			end = len(rest)
		}
		key := strings.TrimSpace(rest[:end])
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] == '"' {
			end = len(quoted)
			key, _ = strconv.Unquote(quoted)
		}
		keys := []string{"guards", key}
		if keyOf(key) == defaultName {
			keys = []string{defaultName}
		}
		found = append(found, entryText{keys, at})
		next := strings.IndexByte(rest[end:], ';')
		if next < 0 {
			return found
		}
		at += end + next
	}
	return found
}

// addText records what throttle says about a text, each problem under its key.
func (ps *problems) addText(text string, entries []entryText, err error) {
	joined, _ := err.(interface{ Unwrap() []error }) // as ParseKeyedLimits says
	for _, err := range joined.Unwrap() {
		p := document.Problem{Text: err.Error(), Err: err}
		if e, ok := errors.AsType[*throttle.ParseError](err); ok {
			p.At = e.Offset
			if p.Text = e.Problem; e.Text != "" {
				p.Text = fmt.Sprintf("%q: %s", document.Clip(e.Text), e.Problem)
			}
			if after := strings.TrimPrefix(text[e.Offset:], e.Text); e.Text != "" && strings.HasPrefix(strings.TrimLeft(after, " \t"), ":") {
				p.Text = fmt.Sprintf("%q: another key begins here: write a semicolon before it", document.Clip(e.Text))
			}
			for _, x := range entries {
				if x.at == e.Offset {
					p.Keys = nil // it is the key that cannot be read
				} else if x.at < e.Offset {
					p.Keys = document.Below(x.keys, "limits")
				}
			}
		} else if field, ok := errors.AsType[*fault.FieldError](err); ok {
			for _, x := range entries {
				if strings.HasPrefix(field.Field, "["+strconv.Quote(x.keys[len(x.keys)-1])+"].") {
					p.Keys, p.At, p.Text = document.Below(x.keys, "limits"), x.at, field.Problem
				}
			}
		}
		ps.List = append(ps.List, p)
	}
}
