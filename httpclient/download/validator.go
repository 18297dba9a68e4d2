package download

import (
	"net/http"
	"strings"
	"time"
)

// minAge is how much older than the response's Date a Last-Modified has to be: by then the file cannot have changed twice
// within that second. RFC 9110, section 8.8.2.2, asks for a second on the same clock, and for more if there may be two; RFC
// 7232 had a minute.
const minAge = time.Minute

// validator is what If-Range may carry: a strong entity tag in its quotes or a date; "" if there is none.
type validator string

func validatorOf(h http.Header) validator {
	if strings.EqualFold(h.Get("Accept-Ranges"), "none") {
		return ""
	}
	if tags := h["Etag"]; len(tags) > 0 { // then a date must not be used, however weak the tag is
		if len(tags) == 1 && isStrongTag(tags[0]) {
			return validator(tags[0])
		}
		return ""
	}
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return ""
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || date.Sub(modified) < minAge {
		return ""
	}
	return validator(h.Get("Last-Modified"))
}

// repeatedBy reports whether the header of a 206 names the same version. A tag must be present (RFC 9110, section 15.3.7); a
// date may be missing, but nothing else reveals a server that ignores If-Range.
func (v validator) repeatedBy(h http.Header) bool {
	name := "Last-Modified"
	if strings.HasPrefix(string(v), `"`) {
		name = "Etag"
	}
	values := h[name]
	return len(values) == 1 && values[0] == string(v)
}

// isStrongTag follows RFC 9110, section 8.8.3.
func isStrongTag(tag string) bool {
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return false
	}
	for _, c := range []byte(tag[1 : len(tag)-1]) {
		if c <= ' ' || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}
