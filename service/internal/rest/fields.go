package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/service/internal/decide"
)

// fields are header fields, the values of which share one string and one slice.
type fields struct {
	text  []byte
	names []string
	ends  []int // of their values in text
}

// end ends the value that was appended to text. The name is in its canonical form.
func (f *fields) end(name string) {
	f.names, f.ends = append(f.names, name), append(f.ends, len(f.text))
}

func (f *fields) add(name, value string) {
	f.text = append(f.text, value...)
	f.end(name)
}

func (f *fields) addInt(name string, n int64) {
	f.text = strconv.AppendInt(f.text, n, 10)
	f.end(name)
}

// drop takes back what was appended to text since the last end.
func (f *fields) drop() {
	begin := 0
	if n := len(f.ends); n > 0 {
		begin = f.ends[n-1]
	}
	f.text = f.text[:begin]
}

// set sets the fields of h, and empties f.
func (f *fields) set(h http.Header) {
	text, values, begin := string(f.text), make([]string, len(f.names)), 0
	for i, name := range f.names {
		values[i] = text[begin:f.ends[i]]
		begin = f.ends[i]
		h[name] = values[i : i+1 : i+1]
	}
	f.reset()
}

func (f *fields) reset() { f.text, f.names, f.ends = f.text[:0], f.names[:0], f.ends[:0] }

// result adds the fields of a result: the usual ones, and those of
// draft-ietf-httpapi-ratelimit-headers-11.
func (f *fields) result(r *decide.Result, wait time.Duration, allowed bool) {
	f.addInt("X-Ratelimit-Limit", r.Capacity)
	f.addInt("X-Ratelimit-Remaining", r.Remaining)
	if !r.ResetAt.IsZero() {
		f.addInt("X-Ratelimit-Reset", whole(time.Duration(r.ResetAt.UnixNano())))
	}
	if !allowed && wait != decide.Never {
		f.addInt("Retry-After", max(1, whole(wait)))
	}
	f.degraded(r.Degraded)
	f.list("Ratelimit-Policy", r.Windows, func(b []byte, x *decide.Window) []byte {
		b = appendParam(b, 'q', x.Quota)
		if x.Per > 0 {
			b = appendParam(b, 'w', max(1, whole(x.Per)))
		}
		return b
	})
	f.list("Ratelimit", r.Windows, func(b []byte, x *decide.Window) []byte {
		b = appendParam(b, 'r', x.Left)
		if x.Per > 0 {
			b = appendParam(b, 't', whole(x.ResetsIn))
		}
		return b
	})
}

func (f *fields) degraded(why decide.Reason) {
	if why != "" {
		f.add("X-Ratelimit-Degraded", "true")
		f.add("X-Ratelimit-Degraded-Reason", string(why))
	}
}

// list adds a structured field (RFC 9651) that is a list with an item for each window: its name, and what params
// appends. A structured field has no names outside of ASCII: if there is one, the field is left out.
func (f *fields) list(name string, windows []decide.Window, params func([]byte, *decide.Window) []byte) {
	if len(windows) == 0 {
		return
	}
	for i := range windows {
		if i > 0 {
			f.text = append(f.text, ", "...)
		}
		var ok bool
		if f.text, ok = appendItem(f.text, windows[i].Name); !ok {
			f.drop()
			return
		}
		f.text = params(f.text, &windows[i])
	}
	f.end(name)
}

// appendItem appends a string of a structured field; false if it cannot be one.
func appendItem(b []byte, s string) ([]byte, bool) {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			return b, false
		case c == '"', c == '\\':
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"'), true
}

func appendParam(b []byte, name byte, n int64) []byte {
	return strconv.AppendInt(append(b, ';', name, '='), n, 10)
}
