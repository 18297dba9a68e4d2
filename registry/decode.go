package registry

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/throttle"
)

// decode fills c from a document. What cannot be read goes into ps and stays zero.
func decode(root *node, c *Config, ps *problems) {
	d := decoder{ps}
	if root.kind == object {
		root = &node{kind: object, at: root.at, fields: slices.DeleteFunc(slices.Clone(root.fields), func(f field) bool {
			return f.key == "$schema"
		})}
	}
	d.value(root, nil, reflect.ValueOf(c).Elem())
}

type decoder struct{ ps *problems }

func (d decoder) value(n *node, keys []string, v reflect.Value) {
	if len(d.ps.list) >= mostProblems { // they come in the order of the text
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *throttle.Limits:
		if d.is(n, text, keys, `limits, such as "4/s, 8 concurrent"`) {
			d.ps.add(keys, x.UnmarshalText([]byte(n.text)))
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
				d.ps.addf(keys, "the text is empty: leave the key out")
			}
		}
	case reflect.Float64:
		if d.is(n, number, keys, "a number") {
			f, err := strconv.ParseFloat(n.text, 64)
			d.ps.add(keys, err)
			if v.SetFloat(f); f == 0 {
				d.ps.addf(keys, "0 would be the default: leave the key out, or write what is above 0 and at most 1")
			}
		}
	case reflect.Int:
		if d.is(n, number, keys, "a whole number") {
			switch i, err := strconv.Atoi(n.text); {
			case err != nil:
				d.ps.addf(keys, "%s is not a whole number: write one such as 3", clip(n.text))
			case i == 0:
				d.ps.addf(keys, "0 would be the default: leave the key out, or write at least 1")
			default:
				v.SetInt(int64(i))
			}
		}
	case reflect.Bool:
		if d.is(n, boolean, keys, "true or false") {
			v.SetBool(n.text == "true")
		}
	case reflect.Slice:
		if d.is(n, array, keys, "a list of names, such as [\"openai\"]") {
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
func (d decoder) is(n *node, want kind, keys []string, wanted string) bool {
	switch {
	case n.kind == want:
		return true
	case n.kind == null:
		d.ps.addf(keys, "there is no value: write %s, or leave the key out", wanted)
	case want == number && n.kind == text:
		d.ps.addf(keys, "%q is a text: write %s, without quotation marks", clip(n.text), wanted)
	case want == text && n.kind == number:
		d.ps.addf(keys, "%s is a number: write %s, in quotation marks", clip(n.text), wanted)
	default:
		d.ps.addf(keys, "it is %s: write %s", n.kind, wanted)
	}
	return false
}

func (d decoder) duration(n *node, keys []string, to *time.Duration) {
	x, err := time.ParseDuration(n.text)
	switch {
	case err != nil:
		d.ps.addf(keys, "%q is not a duration: write numbers with units of h, m, s or ms, such as 90s or 1h30m", clip(n.text))
	case x == 0:
		d.ps.addf(keys, "%q would be the default: leave the key out, or write a time such as 30s", clip(n.text))
	default:
		*to = x
	}
}

// list fills a slice.
func (d decoder) list(n *node, keys []string, v reflect.Value) {
	for _, f := range n.fields {
		x := reflect.New(v.Type().Elem()).Elem()
		d.value(f.value, keys, x)
		v.Set(reflect.Append(v, x))
	}
}

// entries fills a map.
func (d decoder) entries(n *node, keys []string, v reflect.Value) {
	m := reflect.MakeMap(v.Type())
	for _, f := range n.fields {
		at := below(keys, f.key)
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
func (d decoder) fields(n *node, keys []string, v reflect.Value) {
	known := map[string]reflect.Value{}
	fieldsOf(v, known)
	seen := map[string]bool{}
	for _, f := range n.fields {
		at := below(keys, f.key)
		x, ok := known[f.key]
		switch {
		case len(d.ps.list) >= mostProblems:
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
	d.ps.addAt(f.at, keys, "the key is unknown: %s",
		didYouMean(near.Names(f.key, names, mostNear), "the keys here are "+strings.Join(names, ", ")))
}

func (d decoder) twice(f field, keys []string) {
	d.ps.addAt(f.at, keys, "the key comes twice: leave one out")
}
