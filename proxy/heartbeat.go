package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// mostText bounds the memory for an answer that becomes one event of a stream, in bytes.
const mostText = 16 << 20

// mayStream reports whether a request may ask for server-sent events in its body.
func mayStream(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.Contains(r.Header.Get("Content-Type"), "json")
}

// streams reports whether a request asks for server-sent events.
func (x *exchange) streams() bool {
	if strings.HasSuffix(x.to.path, ":streamGenerateContent") { // of Gemini
		return strings.Contains(x.to.query, "alt=sse")
	}
	f := &streamFinder{}
	f.walker.Visitor, f.walker.Max = f, len("false")
	f.walker.Feed(x.body.kept)
	return f.found
}

// streamFinder looks for "stream": true in an object.
type streamFinder struct {
	walker jsonwalk.Walker
	found  bool
}

// Member implements jsonwalk.Visitor.
func (*streamFinder) Member(at *jsonwalk.Path, _ byte) jsonwalk.Choice {
	if at.Is("stream") {
		return jsonwalk.Keep
	}
	return jsonwalk.Skip
}

// Value implements jsonwalk.Visitor.
func (f *streamFinder) Value(_ *jsonwalk.Path, value []byte, _ bool) {
	f.found = string(value) == "true"
}

// beating is a ResponseWriter that sends comments until the answer begins.
type beating struct {
	http.ResponseWriter

	control  *http.ResponseController
	upstream *upstream
	every    time.Duration
	header   http.Header

	mu     sync.Mutex // guards all below, and the writer until the answer has begun
	timer  clockwork.Timer
	beaten bool         // the status 200 was sent
	status int          // of the answer; 0: it has not begun
	events bool         // the answer is passed on
	text   bytes.Buffer // of an answer that is not events, at most mostText
	long   bool         // the answer is longer
}

// beat begins to send comments to w. The caller ends it.
func (p *Proxy) beat(w *answer, u *upstream) *beating {
	b := &beating{
		ResponseWriter: w, control: http.NewResponseController(w), upstream: u, every: p.config.Heartbeat, header: http.Header{},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = p.clock.AfterFunc(b.every, b.tick)
	return b
}

// tick sends a comment.
func (b *beating) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != 0 {
		return
	}
	if !b.beaten {
		b.beaten = true
		h := b.ResponseWriter.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		b.ResponseWriter.WriteHeader(http.StatusOK)
	}
	if b.sendLocked(": headrace waiting\n\n") {
		b.timer.Reset(b.every)
	}
}

func (b *beating) sendLocked(text string) bool {
	_, err := b.ResponseWriter.Write([]byte(text))
	return err == nil && b.control.Flush() == nil
}

// Unwrap is for http.ResponseController.
func (b *beating) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Header implements http.ResponseWriter.
func (b *beating) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *beating) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != 0 || status < http.StatusOK {
		return
	}
	b.status = status
	b.timer.Stop()
	kind, _, _ := mime.ParseMediaType(b.header.Get("Content-Type"))
	b.events = !b.beaten || status == http.StatusOK && kind == "text/event-stream"
	if b.beaten {
		b.sendLocked(": headrace waited " + b.header.Get("X-Headrace-Waited") + " s, attempts " + b.header.Get("X-Headrace-Attempts") + "\n\n")
		return
	}
	maps.Copy(b.ResponseWriter.Header(), b.header)
	b.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (b *beating) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	if b.events {
		return b.ResponseWriter.Write(p)
	}
	fits := min(len(p), mostText-b.text.Len())
	b.text.Write(p[:fits])
	b.long = b.long || fits < len(p)
	return len(p), nil
}

// FlushError is called by http.ResponseController.
func (b *beating) FlushError() error {
	if b.events {
		return b.control.Flush()
	}
	return nil
}

// end ends the comments, and sends an answer that is not events as one.
func (b *beating) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Stop()
	if b.events || b.status == 0 {
		b.status = -1
		return
	}
	var text bytes.Buffer
	isError := b.status >= http.StatusBadRequest
	if b.long || json.Compact(&text, b.text.Bytes()) != nil || text.Len() == 0 {
		isError = true
		text.Reset()
		what := "and not with events"
		if b.long {
			what = fmt.Sprintf("and with more than %d MiB that are not events, which is the maximum after a heartbeat", mostText>>20)
		}
		text.Write(fail(CodeUnreachable, "%s answered with the status %d, %s", b.upstream.name, b.status, what).body(b.upstream.dialect))
	}
	event := ""
	if isError {
		event = "event: error\n"
	}
	b.sendLocked(event + "data: " + text.String() + "\n\n")
}
