package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/headrace/headrace/internal/panics"
)

// encode returns the JSON of an item or a result for the journal, provided that it holds the whole value. v is a pointer to the
// value. inside checks the types of values in interfaces.
func (s *shape) encode(v any, inside func(reflect.Type) error) (text []byte, err error) {
	defer panics.Catch(&err)
	if text, err = json.Marshal(v); err != nil {
		return nil, err
	}
	if replaced(text) {
		return nil, errText
	}
	if s.any {
		err = interfaces(reflect.ValueOf(v).Elem(), inside)
	}
	return text, err
}

// encodeKey returns the JSON of an item by which it is known.
func (s *shape) encodeKey(v any) ([]byte, error) {
	return s.encode(v, func(t reflect.Type) error {
		inside := &shape{of: t}
		inside.inspect()
		if inside.lost == "" {
			return nil
		}
		return fmt.Errorf("it leaves out %s", inside.lost)
	})
}

// encodeResult returns the JSON of a result, provided that it decodes to the same result: types with their own code are decoded
// and encoded again, all others are decided by type.
func (s *shape) encodeResult(v any) (text []byte, err error) {
	defer panics.Catch(&err)
	if text, err = s.encode(v, decoded); err != nil || !s.opaque {
		return text, err
	}
	back := reflect.New(s.of).Interface()
	if err := json.Unmarshal(text, back); err != nil {
		return nil, fmt.Errorf("it cannot be decoded again: %w", err)
	}
	again, err := json.Marshal(back)
	if err == nil && !bytes.Equal(again, text) {
		err = fmt.Errorf("it changes in a round trip through JSON: %s, then %s", excerpt(text, again), excerpt(again, text))
	}
	return text, err
}

// excerpt is what text has where it differs from other.
func excerpt(text, other []byte) string {
	const before, most = 20, 60
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	from := max(0, at-before)
	return fmt.Sprintf("%q", text[from:min(len(text), from+most)])
}

var errText = errors.New("it holds text that is not UTF-8, of which JSON replaces bytes: use strings.ToValidUTF8, or a []byte")

// replaced reports whether the encoder has put U+FFFD in the place of bytes that
// are not UTF-8: it escapes that one so, and nothing else.
func replaced(text []byte) bool {
	escape := []byte(`\ufffd`)
	for {
		at := bytes.Index(text, escape)
		if at < 0 {
			return false
		}
		backslashes := 0
		for backslashes < at && text[at-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 { // else these are letters of the text itself
			return true
		}
		text = text[at+len(escape):]
	}
}

// interfaces has f look at the type of each value in an interface that is encoded.
func interfaces(v reflect.Value, f func(reflect.Type) error) error {
	if v.Kind() != reflect.Interface && encodesItself(v.Type(), v.CanAddr()) {
		return nil
	}
	each := func(n int, at func(int) reflect.Value) (err error) {
		for i := 0; i < n && err == nil; i++ {
			err = interfaces(at(i), f)
		}
		return err
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if err := f(v.Elem().Type()); err != nil {
			return err
		}
		return interfaces(v.Elem(), f)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return interfaces(v.Elem(), f)
	case reflect.Struct:
		return each(v.NumField(), func(i int) reflect.Value {
			if field := v.Type().Field(i); leftOut(field) || !field.IsExported() && !field.Anonymous {
				return reflect.ValueOf(0)
			}
			return v.Field(i)
		})
	case reflect.Slice, reflect.Array:
		return each(v.Len(), v.Index)
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if err := interfaces(entries.Value(), f); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

// decoded returns an error for a type that a value in an interface is not decoded to.
func decoded(t reflect.Type) error {
	switch t {
	case reflect.TypeFor[bool](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[[]any](), reflect.TypeFor[map[string]any]():
		return nil
	default:
		return fmt.Errorf("it holds a value of type %s in an interface, which would come back as another type: give the field that type", t)
	}
}
