package telemetry

import (
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

const (
	portHTTP  = 80
	portHTTPS = 443
)

// origin is the receiver of a request, in one spelling.
type origin struct {
	host string // in lower case, without port and brackets
	port int
}

// server is the same as attributes.
type server struct{ attrs []attribute.KeyValue }

// cut takes a URL apart. It allocates nothing, and takes what is no URL for a path.
func cut(url string) (secure bool, host, path string) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return false, "", url
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest, path = rest[:i], rest[i:]
	}
	return scheme == "https", rest, path
}

// originOf takes a host as it was written, which names its port only if it is not the one of the scheme, or names it all the same.
func originOf(host string, secure bool) origin {
	u := url.URL{Host: host}
	o := origin{hostname(host), portHTTP}
	if secure {
		o.port = portHTTPS
	}
	if text := u.Port(); text != "" {
		if port, err := strconv.Atoi(text); err == nil {
			o.port = port
		}
	}
	return o
}

func newServer(o origin) *server {
	return &server{attrs: []attribute.KeyValue{attribute.String("server.address", o.host), attribute.Int("server.port", o.port)}}
}

// servers knows the first origins. The rest are one for each scheme.
type servers struct {
	known         *memory[origin, *server]
	plain, secure *server
}

func newServers(most int) *servers {
	return &servers{newMemory(most, newServer), newServer(origin{other, portHTTP}), newServer(origin{other, portHTTPS})}
}

func (s *servers) of(url string) *server {
	secure, host, _ := cut(url)
	to, kept := s.known.kept(originOf(host, secure))
	switch {
	case kept:
		return to
	case secure:
		return s.secure
	default:
		return s.plain
	}
}
