package telemetry

import (
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

const (
	portHTTP  = 80
	portHTTPS = 443
)

// origin is whom a request is for, in one spelling.
type origin struct {
	host string // in lower case, without port and brackets
	port int
}

// server is the same as attributes.
type server struct{ attrs []attribute.KeyValue }

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

func (s *servers) of(host string, secure bool) *server {
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
