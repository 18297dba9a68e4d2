package httpclient

import (
	"net/http"

	"github.com/headrace/headrace/internal/header"
)

// bare returns what another origin may see of h.
func bare(h http.Header) http.Header {
	kept := make(http.Header, len(h))
	for name, values := range h {
		switch name {
		case "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Language", "Content-Type",
			"If-Range", "Range", "User-Agent", header.CorrelationID, header.RunID:
			kept[name] = values
		}
	}
	return kept
}

// withoutBody drops the header fields that describe a body.
func withoutBody(h http.Header) {
	for _, name := range []string{
		"Content-Digest", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Location",
		"Content-Md5", "Content-Range", "Content-Type", "Digest", "Expect", "Repr-Digest", "Trailer", "Transfer-Encoding",
	} {
		h.Del(name)
	}
}
