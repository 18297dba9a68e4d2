package presets

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What is here takes valid JSON apart by its offsets, which encoding/json tells
// only of a document's tokens, and at a price that a program would pay when it
// starts.

// object calls each for the members of the object at an offset, in order, with
// the value and its offset.
func (c *checker) object(at int, r *row, field string, each func(key string, v []byte, at int)) bool {
	if c.data[at] != '{' {
		c.addAt(at, r, field, "it is not an object in braces")
		return false
	}
	seen := map[string]bool{}
	members(c.data, at, func(key string, from, to int) {
		if seen[key] {
			c.addAt(from, r, key, "it is given twice: leave one out")
			return
		}
		seen[key] = true
		each(key, c.data[from:to], from)
	})
	return true
}

// array calls each with the offsets of what is in the list at an offset.
func (c *checker) array(at int, field string, each func(at int)) {
	if c.data[at] != '[' {
		c.addAt(at, nil, field, "it is not a list in brackets")
		return
	}
	members(c.data, at, func(_ string, from, _ int) { each(from) })
}

// members calls each for what is in the object or list that begins at i: its
// key, if it has one, and where the value begins and ends. Of anything else
// there are none.
func members(data []byte, i int, each func(key string, from, to int)) {
	object := data[i] == '{'
	if !object && data[i] != '[' {
		return
	}
	for i = skipSpace(data, i+1); data[i] != '}' && data[i] != ']'; i = skipSpace(data, i) {
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		key := ""
		if object {
			end := skipValue(data, i)
			key = unquote(data[i:end])
			i = skipSpace(data, skipSpace(data, end)+1) // the colon
		}
		end := skipValue(data, i)
		each(key, i, end)
		i = end
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
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
			for i < len(data) && strings.IndexByte(" \n\t\r,:]}", data[i]) < 0 {
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
func unquote(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 && utf8.Valid(v) {
		return string(v[1 : len(v)-1])
	}
	var s string
	_ = json.Unmarshal(v, &s) // which is valid
	return s
}
