package headrace

import (
	"net/http"
	"strings"
)

// uncoded lets net/http choose the content coding of the response: it asks for
// gzip and undoes it, and what a response says about its usage can be read. A
// coding that the caller has asked for would hide it.
func uncoded(out *http.Request) {
	if coding := first(out.Header, "Accept-Encoding"); coding == "" || strings.EqualFold(coding, "identity") {
		return
	}
	out.Header = out.Header.Clone() // the request is the caller's
	out.Header.Del("Accept-Encoding")
}
