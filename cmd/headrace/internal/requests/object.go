package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// object holds the members of a JSON object, in their order. Their names are compared exactly; encoding/json would accept Custom_ID
// as custom_id when it decodes into a struct.
type object []member

type member struct{ name, value []byte }

// members returns the members of text, which is valid JSON. There are none if text is not an object.
func members(text []byte) object {
	c := jsonwalk.At(text)
	if c.Peek() != '{' {
		return nil
	}
	o := make(object, 0, 8)
	for c.Open(); c.Next('}'); {
		name := unescaped(c.Key())
		o = append(o, member{name, c.Raw()})
	}
	return o
}

// memberOf returns the value of the last member of that name in an object, as object.value does, and keeps no others.
func memberOf(text []byte, name string) (value []byte) {
	c := jsonwalk.At(text)
	if c.Peek() != '{' {
		return nil
	}
	for c.Open(); c.Next('}'); {
		if string(unescaped(c.Key())) == name {
			value = c.Raw()
		} else {
			c.Skip()
		}
	}
	return value
}

// unescaped returns the text of a JSON string; raw is what stands between its quotes.
func unescaped(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text string
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text) // it is valid
	return []byte(text)
}

// value returns the value of the last member of that name, as encoding/json does, or nil if there is none.
func (o object) value(name string) []byte {
	for _, m := range slices.Backward(o) {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

// hasAny reports whether there is a member of one of these names.
func (o object) hasAny(names ...string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return slices.Contains(names, string(m.name)) })
}

// text returns the string under name. It is not found if it is missing or null. If the value is not a string, problem describes
// what has to be changed.
func (o object) text(name string) (value string, found bool, problem string) {
	return textOf(o.value(name), name)
}

func textOf(raw []byte, name string) (value string, found bool, problem string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, ""
	}
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true, ""
	}
	wrong := (*json.UnmarshalTypeError)(nil)
	if err := json.Unmarshal(raw, &value); errors.As(err, &wrong) {
		return "", true, fmt.Sprintf("%s is a JSON %s: it has to be a string", name, wrong.Value)
	}
	if strings.ContainsRune(value, utf8.RuneError) && unpaired(raw) {
		return "", true, name + " has half of a surrogate pair, which is not a character: replace it"
	}
	return value, true, ""
}

// fewNames is the maximum number of names that are compared pairwise, which is cheaper than a map for a few.
const fewNames = 16

// repeats reports whether a name occurs twice. Some readers use the last of such members, and others the first
// one.
func (o object) repeats() bool {
	if len(o) <= fewNames {
		for i := range o {
			for j := range i {
				if bytes.Equal(o[i].name, o[j].name) {
					return true
				}
			}
		}
		return false
	}
	names := make(map[string]struct{}, len(o))
	for i := range o {
		names[string(o[i].name)] = struct{}{}
	}
	return len(names) < len(o)
}

// misspelt returns a name that differs from name only in upper and lower case, or an empty text if there is none.
func (o object) misspelt(name string) string {
	var found []string
	for i := range o {
		if key := o[i].name; string(key) != name && bytes.EqualFold(key, []byte(name)) {
			found = append(found, string(key))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// misspeltOf returns the first of several names that is misspelt, and its misspelling.
func (o object) misspeltOf(names ...string) (key, name string) {
	for _, name := range names {
		if key := o.misspelt(name); key != "" {
			return key, name
		}
	}
	return "", ""
}

// unpaired reports whether raw, a valid JSON string, has half of a surrogate pair, such as \ud800. encoding/json
// replaces each by U+FFFD, so that different strings become the same one.
func unpaired(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] != 'u' {
			continue
		}
		first := escape(raw[i+1:])
		if i += 4; !utf16.IsSurrogate(first) {
			continue
		}
		if raw[i+1] != '\\' || raw[i+2] != 'u' || utf16.DecodeRune(first, escape(raw[i+3:])) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// escape returns the code of four hexadecimal digits.
func escape(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1 if all of text is.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for at := 0; ; {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
}
