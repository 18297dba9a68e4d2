package node

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// shape is what is known of a type's JSON before there is a value.
type shape struct {
	of     reflect.Type
	lost   string // the first field that its JSON leaves out or that has no JSON, or ""
	kept   bool   // something is in its JSON
	opaque bool   // code of the type decides, or what is in an interface
	any    bool   // there is an interface in it
}

// shapeOf returns the shape of T.
func shapeOf[T any]() *shape {
	s := &shape{of: reflect.TypeFor[T]()}
	s.inspect()
	return s
}

func (s *shape) inspect() {
	s.look(s.of, s.of.String(), true, map[reflect.Type]bool{})
	if s.lost == "" && !s.kept && s.of.Size() > 0 {
		s.lost = "everything in " + s.of.String()
	}
}

func (s *shape) lose(path string) {
	if s.lost == "" {
		s.lost = path
	}
}

// look adds what is known of t, which is at path. Methods of pointers count where it is addressable.
func (s *shape) look(t reflect.Type, path string, addressable bool, seen map[reflect.Type]bool) {
	if has[json.Unmarshaler](t, addressable) || has[encoding.TextUnmarshaler](t, addressable) {
		s.opaque = true
	}
	if t.Kind() != reflect.Interface && encodesItself(t, addressable) {
		s.opaque, s.kept = true, true
		return
	}
	if seen[t] {
		return
	}
	seen[t] = true
	defer delete(seen, t)
	switch t.Kind() {
	case reflect.Struct:
		s.lookInto(t, path, addressable, map[string]bool{}, seen)
	case reflect.Pointer:
		s.look(t.Elem(), path, true, seen)
	case reflect.Slice:
		s.look(t.Elem(), path+"[]", true, seen)
	case reflect.Array:
		s.look(t.Elem(), path+"[]", addressable, seen)
	case reflect.Map:
		k := t.Key()
		if !keyed(k) {
			s.lose(path + ", a map by " + k.String())
		}
		s.opaque = s.opaque || has[encoding.TextMarshaler](k, false) || has[encoding.TextUnmarshaler](k, true)
		s.look(t.Elem(), path+"[]", false, seen)
	case reflect.Interface:
		s.opaque, s.any, s.kept = true, true, true
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		s.lose(path + ", a " + t.String())
	default:
		s.kept = true
	}
}

// keyed reports whether JSON has maps by keys of type t.
func keyed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	default:
		return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
}

// lookInto looks at the fields of a struct. names are those of the JSON object so far.
func (s *shape) lookInto(t reflect.Type, path string, addressable bool, names map[string]bool, seen map[reflect.Type]bool) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at, inner := path+"."+f.Name, structOf(f.Type)
		promoted := f.Anonymous && name == "" && inner != nil && !encodesItself(f.Type, addressable)
		if name == "" {
			name = f.Name
		}
		switch {
		case leftOut(f): // on purpose
		case promoted && !f.IsExported() && f.Type.Kind() == reflect.Pointer: // encoded, and not decoded
			s.lose(at)
		case promoted && !seen[inner]:
			s.lookInto(inner, at, addressable || f.Type.Kind() == reflect.Pointer, names, seen)
		case !f.IsExported():
			s.lose(at)
		case names[name]: // of two fields of one name JSON leaves out one, or both
			s.lose(at)
		case zeroOmitted(f.Type, options):
			s.opaque = true
		default:
			names[name] = true
			s.look(f.Type, at, addressable, seen)
		}
	}
}

// leftOut reports whether leaving out a field loses nothing.
func leftOut(f reflect.StructField) bool {
	return f.Tag.Get("json") == "-" || f.Type.Size() == 0 || f.Name == "_"
}

// has reports whether t, or a pointer to it where it is addressable, is an M.
func has[M any](t reflect.Type, addressable bool) bool {
	m := reflect.TypeFor[M]()
	return t.Implements(m) || addressable && reflect.PointerTo(t).Implements(m)
}

func encodesItself(t reflect.Type, addressable bool) bool {
	return has[json.Marshaler](t, addressable) || has[encoding.TextMarshaler](t, addressable)
}

// structOf returns t, or what t points to, if that is a struct.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// zeroOmitted reports whether a field that has no JSON is left out as long as it is nil.
func zeroOmitted(t reflect.Type, options string) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return strings.Contains(","+options+",", ",omitzero,")
	default:
		return false
	}
}
