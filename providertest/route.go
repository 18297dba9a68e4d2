package providertest

import (
	"strings"
	"time"
)

// route is one path of the provider: how its requests are read, and what their
// answers look like.
type route struct {
	path   string
	parse  func(body []byte, req *Request) *failure
	answer func(reply) any
	events func(reply) []event // nil where nothing is streamed
}

// routeOf returns the route of a path.
func routeOf(path string) (route, bool) {
	for _, r := range [...]route{chatRoute(), messagesRoute(), embeddingsRoute()} {
		if r.path == path {
			return r, true
		}
	}
	return route{}, false
}

// reply is what an admitted request is answered with, whatever the route.
type reply struct {
	req    Request
	text   string
	cut    bool // at the request's MaxTokens
	output int  // tokens of text
	seq    int64
	now    time.Time
}

func newReply(req Request, text string, seq int64, now time.Time) reply {
	text, cut := cutTokens(text, req.MaxTokens)
	return reply{req: req, text: text, cut: cut, output: textTokens(text), seq: seq, now: now}
}

// finish is why the text ended.
func (r reply) finish(whole, cut string) string {
	if r.cut {
		return cut
	}
	return whole
}

// event is one server-sent event of a stream.
type event struct {
	name   string // left out when empty
	data   any    // JSON, but a rawEvent is sent as it is
	output int    // tokens of the text up to and with this event
}

type rawEvent string

// pieces yields the text word by word, and the tokens up to each word's end.
func (r reply) pieces(yield func(piece string, output int) bool) {
	sent := 0
	for piece := range strings.SplitAfterSeq(r.text, " ") {
		sent += len(piece)
		if piece != "" && !yield(piece, textTokens(r.text[:sent])) {
			return
		}
	}
}
