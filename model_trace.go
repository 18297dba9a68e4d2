package headrace

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/jsonwalk"
	"github.com/headrace/headrace/presets/dialect"
)

// mostBegun is how much of the beginning of a stream is kept to find the model
// in it: 4 KiB, where providers name it in the first event.
const mostBegun = 4 << 10

// modelCall is a request that names a model, for tracers of such requests.
type modelCall struct {
	tracers *emit.Tracers
	host    string
	began   time.Time
	end     func(event.Event)

	mu       sync.Mutex // guards everything below: a body may end on any goroutine
	about    event.Model
	attempts int
	begun    []byte // of the answer
}

// traceModel begins to trace the request if there is a tracer and the request names a model.
func (x *exchange) traceModel(body []byte) {
	if x.req.Method != http.MethodPost {
		return
	}
	theirs := event.From(x.req.Context())
	if emit.TracersOf(theirs, event.ModelStarted) == nil && emit.TracersOf(x.t.observer, event.ModelStarted) == nil {
		return // as almost always: a Tee allocates
	}
	name := modelOf(x.req.URL.Path, body)
	if len(name) == 0 {
		return
	}
	provider := x.t.routes.profile.Provider
	if d, ok := x.dialect.(dialect.Name); provider == "" && ok && d != dialect.Auto {
		provider = string(d)
	}
	to := emit.TracersOf(event.Tee(theirs, x.t.observer), event.ModelStarted)
	x.model = &modelCall{tracers: to, host: x.req.URL.Host, about: event.Model{
		Provider: provider, URL: bare(x.req.URL), Asked: string(name),
	}}
}

// bare is u without what may be secret.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// traced runs the exchange with what follows it.
func (x *exchange) traced() (resp *http.Response, err error) {
	m := x.model
	m.began = time.Now()
	e := event.New(m.began, event.ModelStarted, m.host)
	asked := m.about
	e.Model = &asked
	ctx, end := m.tracers.Begin(x.observed(), e)
	m.end = end
	returned := false
	defer func() {
		switch {
		case !returned:
			m.finish(0, errPanic)
		case !x.open:
			m.finish(statusOf(resp), err)
		}
	}()
	resp, err = x.run(ctx)
	returned = true
	return resp, err
}

func statusOf(resp *http.Response) int {
	if resp == nil {
		return 0
	}
	return resp.StatusCode
}

// errPanic is of a base or a dialect that has panicked, or called runtime.Goexit.
var errPanic = errors.New("headrace: the base or the dialect did not return")

// attempt notes that the request goes to the wire.
func (m *modelCall) attempt() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts++
	m.begun = nil
	m.about.Answered, m.about.Input, m.about.Output = "", 0, 0
}

// saw looks at what passes by of an answer, for the name of the model.
func (m *modelCall) saw(p []byte) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if room := mostBegun - len(m.begun); room > 0 {
		m.begun = append(m.begun, p[:min(room, len(p))]...)
	}
}

// told takes in what an answer, or what was found in it, tells of its usage.
func (m *modelCall) told(text []byte) {
	if m == nil {
		return
	}
	in, out := dialect.Usage(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.about.Input, m.about.Output = in, out
}

// finish tells of the end, which comes once.
func (m *modelCall) finish(status int, err error) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.about.Status, m.about.Answered = status, string(answeredBy(m.begun))
	about, attempts := m.about, m.attempts
	m.mu.Unlock()
	e := event.New(time.Now(), event.ModelFinished, m.host)
	e.Attempt, e.Wait, e.Err, e.Model = attempts, e.Time.Sub(m.began), err, &about
	m.end(e)
}

// answeredBy is the model that the beginning of an answer names, as JSON or in events of it.
func answeredBy(begun []byte) []byte {
	var n nameScan
	n.walker.Visitor, n.walker.Max = &n, longestModel+len(`""`)
	if start := bytes.TrimLeft(begun, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		n.walker.Feed(start)
	} else {
		new(lines).write(begun, &n)
	}
	return n.name
}

// nameScan finds the first model that an answer names where providers do so.
type nameScan struct {
	walker jsonwalk.Walker
	name   []byte
}

func (n *nameScan) passes([]byte) bool { return n.name != nil }

func (n *nameScan) data(p []byte) { n.walker.Feed(p) }

func (n *nameScan) endEvent() { n.walker.Reset() }

// Member implements jsonwalk.Visitor.
func (n *nameScan) Member(at *jsonwalk.Path, first byte) jsonwalk.Choice {
	switch {
	case n.name != nil:
	case first == '{' && (at.Is("response") || at.Is("message")):
		return jsonwalk.Enter
	case first == '"' && (string(at.Last()) == "model" || at.Is("modelVersion") || at.Is("response", "modelVersion")):
		return jsonwalk.Keep
	}
	return jsonwalk.Skip
}

// Value implements jsonwalk.Visitor.
func (n *nameScan) Value(_ *jsonwalk.Path, value []byte, whole bool) {
	if whole {
		n.name = bytes.Clone(value[1 : len(value)-1])
	}
}
