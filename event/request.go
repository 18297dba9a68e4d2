package event

import (
	"log/slog"
	"time"
)

// What clients of HTTP tell. Source is the service.
const (
	// NetRequest: a request ended: its body was read to the end or closed, or it
	// failed. Attempt is how many attempts were begun, those that found no
	// connection and those that net/http made by itself included. Wait is how long
	// it took from the call to the end of the body, limiters included; Request.Waited is
	// the time in those. Err is why it failed, and Event.Request the rest. A status is no
	// error. There is one for each request that a client was asked for.
	NetRequest Kind = "net.request"
)

// Request is what a [NetRequest] tells besides. Nobody changes it after it was
// sent. It holds no secrets: no header, and no value of a query.
type Request struct {
	// ID names the request for other events and for the other side's logs.
	ID string
	// Run names the run of the program that the request is part of, or is empty.
	Run string
	// Method is the one of HTTP.
	Method string
	// URL is without user, fragment and the values of the query.
	URL string
	// Status is the one of HTTP, or 0 if there was no answer.
	Status int
	// Proto is the version of the answer, such as "HTTP/2.0".
	Proto string
	// FirstByte is the time from the call until the header of the last answer was
	// there, waits included, or 0 if there was none.
	FirstByte time.Duration
	// Waited is the time from the call until the request was let go to the wire for
	// the first time: what limiters and caches took.
	Waited time.Duration
	// Sent is the length of the request's body in bytes as far as it was declared
	// or read; Received is how many bytes of the answer's body, decompressed, were read.
	Sent, Received int64
	// Cached: there was an answer and nothing went to the wire for it.
	Cached bool
	// Reused: the last connection had carried a request before.
	Reused bool
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
		as = append(as, slog.Duration("first_byte", r.FirstByte))
	}
	if r.Waited != 0 {
		as = append(as, slog.Duration("waited", r.Waited))
	}
	return append(as, slog.Int64("sent", r.Sent), slog.Int64("received", r.Received),
		slog.Bool("cached", r.Cached), slog.Bool("reused", r.Reused))
}
