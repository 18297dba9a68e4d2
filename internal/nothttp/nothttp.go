// Package nothttp recognises errors of net/http about a response that is not valid
// HTTP.
package nothttp

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"net/textproto"
	"slices"
	"strings"
)

// Is reports whether err is that what a server sent is not valid HTTP, or not
// compressed as its header says. A stream that the server resets is not such an
// error.
func Is(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	if _, ok := errors.AsType[flate.CorruptInputError](err); ok || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return true
	}
	text := err.Error() // net/http has no types for these
	return slices.ContainsFunc([]string{
		"malformed", "chunk length", "Content-Length", "transfer encoding", "server response headers exceeded",
		"response header list", "too many 1xx", "connection error: ", "http2: frame too large",
	}, func(words string) bool { return strings.Contains(text, words) })
}
