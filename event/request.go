package event

import (
	"log/slog"
	"time"
)

// HTTP clients. Source is the service.
const (
	// NetRequest: a request ended: its response was read or closed, or it failed with Err; a
	// status is not an error. Attempt counts all attempts, also those without a connection
	// and those of net/http. Wait is the time from the call to the end of the body.
	NetRequest Kind = "net.request"
)

// Request is the detail of a [NetRequest]. It is immutable, and has no secrets: no
// header and no value of a query.
type Request struct {
	// ID identifies the request in other events and in the server's logs.
	ID string
	// Run is the run of the program that it belongs to, or empty.
	Run string
	// Method is the HTTP method.
	Method string
	// URL has no user, fragment or values of the query.
	URL string
	// Status is the HTTP status; 0 without a response.
	Status int
	// Proto is the version of HTTP, such as "HTTP/2.0".
	Proto string
	// FirstByte is the time from the call to the header of the last response, or 0.
	FirstByte time.Duration
	// Waited is the time from the call to the first attempt, for limiters and caches.
	Waited time.Duration
	// Sent is the length of the request's body in bytes, as declared or read;
	// Received the bytes read of the decompressed response.
	Sent, Received int64
	// Cached says that the response needed no attempt.
	Cached bool
	// Reused says that the last connection was not new.
	Reused bool
	// Connect is the time from the beginning of the last attempt until it had a new
	// connection: the wait for a free one if the client bounds their number, name
	// lookup, dial and TLS. 0 if the connection was reused.
	Connect time.Duration
}

// attrs leaves out what the request does not have.
func (r *Request) attrs(as []slog.Attr) []slog.Attr {
	for _, text := range [...]struct{ key, value string }{
		{"id", r.ID},
		{"run", r.Run},
		{"method", r.Method},
		{"url", r.URL},
		{"proto", r.Proto},
	} {
		if text.value != "" {
			as = append(as, slog.String(text.key, text.value))
		}
	}
	if r.Status != 0 {
		as = append(as, slog.Int("status", r.Status))
	}
	if r.FirstByte != 0 {
		as = append(as, milliseconds("first_byte", r.FirstByte))
	}
	if r.Waited != 0 {
		as = append(as, milliseconds("waited", r.Waited))
	}
	if r.Connect != 0 {
		as = append(as, milliseconds("connect", r.Connect))
	}
	return append(as, slog.Int64("sent", r.Sent), slog.Int64("received", r.Received),
		slog.Bool("cached", r.Cached), slog.Bool("reused", r.Reused))
}
