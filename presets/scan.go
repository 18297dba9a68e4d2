package presets

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The scanner returns parts of valid JSON by offset: problems need a position, and the table, which is parsed at start-up, must
// stay one text. encoding/json reports no positions and copies every key and value.

// object calls each for the members of the object at an offset, in order, with
// the value and its offset.
func (c *checker) object(at int, field string, each func(key, v string, at int)) {
	if c.text[at] != '{' {
		c.addAt(at, nil, field, "it is not an object in braces")
		return
	}
	seen := map[string]bool{}
	members(c.text, at, func(key string, from, to int) {
		if seen[key] {
			c.addAt(from, nil, key, twice)
			return
		}
		seen[key] = true
		each(key, c.text[from:to], from)
	})
}

const twice = "it is given twice: leave one out"

// array calls each with the offset of each element of the list at an offset.
func (c *checker) array(at int, field string, each func(at int)) {
	if c.text[at] != '[' {
		c.addAt(at, nil, field, "it is not a list in brackets")
		return
	}
	members(c.text, at, func(_ string, from, _ int) { each(from) })
}

// members calls each for every member of the object or list that begins at i, with its key, if it has one, and the start and
// end of its value. Other values have no members.
func members(text string, i int, each func(key string, from, to int)) {
	object := text[i] == '{'
	if !object && text[i] != '[' {
		return
	}
	for i = skipSpace(text, i+1); text[i] != '}' && text[i] != ']'; i = skipSpace(text, i) {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		key := ""
		if object {
			end := skipValue(text, i)
			key = unquote(text[i:end])
			i = skipSpace(text, skipSpace(text, end)+1) // the colon
		}
		end := skipValue(text, i)
		each(key, i, end)
		i = end
	}
}

func skipSpace(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(text string, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth > 0 {
				continue
			}
			for i < len(text) && strings.IndexByte(" \n\t\r,:]}", text[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			break
		}
	}
	return i
}

// unquote reads a JSON text.
func unquote(v string) string {
	if strings.IndexByte(v, '\\') < 0 && utf8.ValidString(v) {
		return v[1 : len(v)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(v), &s) // which is valid
	return s
}
