package endpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
)

// text never shows v, which may be a secret.
func text(v any) (s, problem string) {
	switch s, ok := v.(string); {
	case !ok:
		return "", fmt.Sprintf("it is %s; want a text, in quotation marks", kind(v))
	case s == "":
		return "", "the text is empty; leave the key out"
	default:
		return s, ""
	}
}

// integer accepts what the decoders of JSON, YAML and TOML make of a whole number.
func integer(v any) (int64, bool) {
	if n, ok := v.(json.Number); ok {
		i, err := n.Int64()
		return i, err == nil
	}
	switch n := reflect.ValueOf(v); {
	case v == nil:
		return 0, false
	case n.CanInt():
		return n.Int(), reflect.TypeOf(v) != reflect.TypeFor[time.Duration]()
	case n.CanUint():
		return int64(n.Uint()), n.Uint() <= math.MaxInt64 //nolint:gosec // where it fits
	case n.CanFloat():
		f := n.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	default:
		return 0, false
	}
}

// kind returns the name of the type of v, in terms of the file it came from.
func kind(v any) string {
	if _, ok := v.(json.Number); ok {
		return "a number"
	}
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.Invalid:
		return "empty"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		if of.CanInt() || of.CanUint() || of.CanFloat() {
			return "a number"
		}
		return fmt.Sprintf("a %T", v)
	}
}

// longestTimeout bounds one without a unit: a longer one was meant in milliseconds.
const longestTimeout = 24 * time.Hour

// duration accepts a text with units, a time.Duration and a number of seconds.
func duration(v any) (d time.Duration, seconds, ok bool) {
	switch v := v.(type) {
	case time.Duration:
		return v, false, true
	case json.Number:
		f, err := v.Float64()
		return inSeconds(f), true, err == nil
	case string:
		d, err := time.ParseDuration(v)
		return d, false, err == nil
	}
	switch n := reflect.ValueOf(v); {
	case !n.IsValid():
		return 0, false, false
	case n.CanInt():
		return inSeconds(float64(n.Int())), true, true
	case n.CanUint():
		return inSeconds(float64(n.Uint())), true, true
	case n.CanFloat():
		return inSeconds(n.Float()), true, !math.IsNaN(n.Float())
	default:
		return 0, false, false
	}
}

// inSeconds is a number of seconds, or more than is allowed.
func inSeconds(f float64) time.Duration {
	return time.Duration(min(max(f, -1), 2*longestTimeout.Seconds()) * float64(time.Second))
}
