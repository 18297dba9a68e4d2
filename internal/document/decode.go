package document

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/throttle"
)

// Decode fills the struct that c points to. What cannot be read goes into ps and stays zero. A number that is 0 is a
// problem, as leaving it out means the default, unless its field is a pointer.
func Decode(root *Node, c any, ps *Problems) {
	d := decoder{ps: ps}
	if root.kind == object {
		root = &Node{kind: object, at: root.at, fields: slices.DeleteFunc(slices.Clone(root.fields), func(f field) bool {
			return f.key == "$schema"
		})}
	}
	d.value(root, nil, reflect.ValueOf(c).Elem())
}

type decoder struct {
	ps   *Problems
	zero bool // 0 is a value, and not the default
}

func (d decoder) value(n *Node, keys []string, v reflect.Value) {
	if len(d.ps.List) >= mostProblems { // they come in the order of the text
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *throttle.Limits:
		if d.is(n, text, keys, `limits, such as "4/s, 8 concurrent"`) {
			d.ps.addLimits(keys, n.text, x.UnmarshalText([]byte(n.text)))
		}
		return
	case *time.Duration:
		if d.is(n, text, keys, `a duration, such as "90s" or "15m"`) {
			d.duration(n, keys, x)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		if d.is(n, text, keys, "a text") {
			v.SetString(n.text)
			if n.text == "" {
				d.ps.Addf(keys, "the text is empty: leave the key out")
			}
		}
	case reflect.Float64:
		if d.is(n, number, keys, "a number") {
			f, err := strconv.ParseFloat(n.text, 64)
			d.ps.Add(keys, err)
			if v.SetFloat(f); f == 0 && !d.zero {
				d.ps.Addf(keys, "0 would be the default: leave the key out, or write a number above 0 and at most 1")
			}
		}
	case reflect.Int, reflect.Int64:
		if d.is(n, number, keys, "a whole number") {
			switch i, err := strconv.ParseInt(n.text, 10, v.Type().Bits()); {
			case err != nil:
				d.ps.Addf(keys, "%s is not a whole number: write one such as 3", Clip(n.text))
			case i == 0 && !d.zero:
				d.ps.Addf(keys, "0 would be the default: leave the key out, or write at least 1")
			default:
				v.SetInt(i)
			}
		}
	case reflect.Bool:
		if d.is(n, boolean, keys, "true or false") {
			v.SetBool(n.text == "true")
		}
	case reflect.Pointer: // nil is the default
		x := reflect.New(v.Type().Elem())
		decoder{d.ps, true}.value(n, keys, x.Elem())
		v.Set(x)
	case reflect.Slice:
		wanted := "a list of names, such as [\"openai\"]"
		if v.Type().Elem().Kind() == reflect.Struct {
			wanted = "a list of objects"
		}
		if d.is(n, array, keys, wanted) {
			d.list(n, keys, v)
		}
	case reflect.Map:
		if d.is(n, object, keys, "an object with a key for each") {
			d.entries(n, keys, v)
		}
	default:
		if d.is(n, object, keys, "an object such as {\"limits\": \"4/s\"}") {
			d.fields(n, keys, v)
		}
	}
}

// is reports whether n is of the kind that is wanted.
func (d decoder) is(n *Node, want kind, keys []string, wanted string) bool {
	switch {
	case n.kind == want:
		return true
	case n.kind == null:
		d.ps.Addf(keys, "there is no value: write %s, or leave the key out", wanted)
	case want == number && n.kind == text:
		d.ps.Addf(keys, "%q is a string: write %s, without quotation marks", Clip(n.text), wanted)
	case want == text && n.kind == number:
		d.ps.Addf(keys, "%s is a number: write %s, in quotation marks", Clip(n.text), wanted)
	default:
		d.ps.Addf(keys, "it is %s: write %s", n.kind, wanted)
	}
	return false
}

func (d decoder) duration(n *Node, keys []string, to *time.Duration) {
	x, err := time.ParseDuration(n.text)
	switch {
	case err != nil:
		d.ps.Addf(keys, "%q is not a duration: write numbers with units of h, m, s or ms, such as 90s or 1h30m", Clip(n.text))
	case x == 0:
		d.ps.Addf(keys, "%q would be the default: leave the key out, or write a time such as 30s", Clip(n.text))
	default:
		*to = x
	}
}

// list fills a slice.
func (d decoder) list(n *Node, keys []string, v reflect.Value) {
	for i, f := range n.fields {
		x, at := reflect.New(v.Type().Elem()).Elem(), keys
		if x.Kind() == reflect.Struct {
			at = Below(keys, Element(i))
		}
		d.value(f.value, at, x)
		v.Set(reflect.Append(v, x))
	}
}

// entries fills a map.
func (d decoder) entries(n *Node, keys []string, v reflect.Value) {
	m := reflect.MakeMap(v.Type())
	for _, f := range n.fields {
		at := Below(keys, f.key)
		key := reflect.ValueOf(f.key)
		if m.MapIndex(key).IsValid() {
			d.twice(f, at)
			continue
		}
		x := reflect.New(v.Type().Elem()).Elem()
		d.value(f.value, at, x)
		m.SetMapIndex(key, x)
	}
	v.Set(m)
}

// fields fills a struct.
func (d decoder) fields(n *Node, keys []string, v reflect.Value) {
	known := map[string]reflect.Value{}
	fieldsOf(v, known)
	seen := map[string]bool{}
	for _, f := range n.fields {
		at := Below(keys, f.key)
		x, ok := known[f.key]
		switch {
		case len(d.ps.List) >= mostProblems:
			return
		case !ok:
			d.unknown(f, at, known)
		case seen[f.key]:
			d.twice(f, at)
		default:
			d.value(f.value, at, x)
		}
		seen[f.key] = true
	}
}

// fieldsOf lists the fields of a struct by their keys.
func fieldsOf(v reflect.Value, known map[string]reflect.Value) {
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("config"); key != "" {
			known[key] = v.Field(i)
		}
	}
}

func (d decoder) unknown(f field, keys []string, known map[string]reflect.Value) {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	d.ps.AddAt(f.at, keys, "the key is unknown: %s",
		DidYouMean(near.Names(f.key, names, MostNear), "the keys here are "+strings.Join(names, ", ")))
}

func (d decoder) twice(f field, keys []string) {
	d.ps.AddAt(f.at, keys, "the key is given twice: leave one out")
}
