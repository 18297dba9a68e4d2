package headrace

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/jsonwalk"
	"github.com/headrace/headrace/internal/replay"
)

// hold reads body until the object that it begins with is there, but not longer
// than replay.MostReading. What begins with anything else is passed on at once: a list
// may be a stream of its elements, as Gemini's is.
func (t *transport) hold(body io.ReadCloser) *replay.Answer {
	var w jsonwalk.Walker
	return t.keeper.Keep(nil, body, -1, replay.MostReading, func(p []byte) bool {
		w.Feed(p)
		return w.First() != 0 && w.First() != '{' || w.Ended() > 0 || w.Broken()
	})
}

// mostRetained is how much of a request a response may keep alive: 16 KiB.
const mostRetained = 16 << 10

// unused returns the Answer of the first attempt, once: a later attempt may not touch what was
// kept of an earlier one. It returns nil if the request body is large, since a response whose
// body is part of x keeps all of x alive.
func (x *exchange) unused() *replay.Answer {
	body, kept := x.req.Body, x.payload.Kept()
	large := len(kept) > mostRetained || kept == nil && body != nil && body != http.NoBody
	if x.keeps || large {
		return nil
	}
	x.keeps = true
	return &x.kept
}

// release lets go of the connection of a response that is not wanted for now. It
// can still be returned later, as much of it as was kept.
func release(resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	if kept, ok := resp.Body.(*replay.Answer); ok {
		kept.Release()
	} else {
		_ = resp.Body.Close() // there is nothing in it
	}
}

// plain reports whether a body is not compressed.
func plain(h http.Header) bool {
	coding := first(h, "Content-Encoding")
	return coding == "" || strings.EqualFold(coding, "identity")
}

// text returns the readable part of the head of a body. A caller that requested gzip
// gets it unchanged; no other coding is decoded.
func text(h http.Header, head []byte) []byte {
	if plain(h) {
		return head
	}
	if coding := first(h, "Content-Encoding"); !strings.EqualFold(coding, "gzip") && !strings.EqualFold(coding, "x-gzip") {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(z, mostAnswer)) // as much as there is
	return said
}
