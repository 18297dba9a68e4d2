package headrace

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/throttle"
)

// mostAnswer is how much of a response is held back to be judged: what is
// longer is passed on while it is read. 64 KiB.
const mostAnswer = replay.MaxAnswer

// answered judges a response as far as it is known without holding it back:
// errors and short JSON by their body, others by their header until the body ends.
func (x *exchange) answered(r *reply, a inflight.Attempt) {
	resp, f := r.resp, &r.feedback
	now, body := time.Now(), resp.Body
	var said []byte
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols: // the body is a connection, which may live for ever
		f.Verdict = adaptive.OK
		return
	case body == nil || body == http.NoBody || x.method() == http.MethodHead ||
		resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified:
		*f = x.dialect.Read(now, resp.StatusCode, resp.Header, nil)
	case resp.StatusCode >= http.StatusBadRequest:
		k, _ := inflight.Keep(&x.t.keeper, a, resp, x.dialect.Read(now, resp.StatusCode, resp.Header, nil).Verdict)
		resp.Body = k
		said = x.judge(r, k, now)
	default:
		if k := x.glance(resp); k != nil {
			resp.Body = k
			x.judge(r, k, now)
			if k.Whole() || f.Verdict != adaptive.OK {
				break
			}
		}
		x.follow(r, a, now)
		return
	}
	if resp.StatusCode >= http.StatusBadRequest {
		x.detect(r, a, said)
	}
	x.complete(f, resp.StatusCode)
}

// glance reads a response below 400 if its body may still be an error, which only short
// JSON can be, for at most replay.MostReading. It returns nil for all others.
func (x *exchange) glance(resp *http.Response) *replay.Answer {
	switch {
	case resp.ContentLength == 0 || short(resp): // HTTP/2 has an empty body of its own
		return x.t.keeper.Keep(x.unused(), resp.Body, resp.ContentLength, replay.MostReading, nil)
	case resp.ContentLength < 0 && plain(resp.Header) && kindOf(resp.Header) == document:
		return x.t.hold(resp.Body)
	}
	return nil
}

// judge reads the kept part of a response with the dialect, and returns its text.
func (x *exchange) judge(r *reply, k *replay.Answer, now time.Time) (said []byte) {
	resp, f := r.resp, &r.feedback
	said = text(resp.Header, k.Head())
	*f = x.dialect.Read(now, resp.StatusCode, resp.Header, said)
	if replay.Stored(x.req.Method, said) {
		stored(f)
	}
	x.model.told(said)
	x.model.saw(said)
	if k.Err() != nil && f.Verdict == adaptive.OK {
		f.Verdict, f.Err = x.broke(), k.Err()
	}
	return said
}

// answerError is an error response as detectors see it, by adaptive.AnswerIn.
type answerError struct {
	StatusCode int
	Header     http.Header
	Body       []byte // as much as was kept
}

func (e *answerError) Error() string { return "status " + strconv.Itoa(e.StatusCode) }

// detect judges an error response by what was reported inside the attempt and by
// the detectors of the policies. Fields that they do not set keep the values that
// the dialect has read.
func (x *exchange) detect(r *reply, a inflight.Attempt, said []byte) {
	answer := &answerError{r.resp.StatusCode, r.resp.Header, said}
	f, read := a.Detect(answer), &r.feedback
	if f.Verdict == adaptive.Unclassified {
		read.Final = read.Final || f.Final
		read.RetryAfter = cmp.Or(max(f.RetryAfter, 0), read.RetryAfter)
		return
	}
	f.Used, f.Meters = cmp.Or(f.Used, read.Used), cmp.Or(f.Meters, read.Meters)
	f.Source = cmp.Or(f.Source, answer.Error())
	if f.Err == error(answer) { //nolint:errorlint // it is not wrapped
		f.Err = nil
	} else if f.Err != nil {
		f.Err = x.fail(f.Err)
	}
	*read = f
}

// stored leaves out the tokens in what was read, which the call has used that made
// it.
func stored(f *adaptive.Feedback) { f.Used = throttle.Cost{Points: f.Used.Points} }

// broke is the verdict on a body that has failed. A cancelled call
// is no evidence about the provider.
func (x *exchange) broke() adaptive.Verdict {
	if x.req.Context().Err() != nil {
		return adaptive.Unclassified
	}
	return adaptive.Transient
}

// complete adds what the dialect does not know.
func (x *exchange) complete(f *adaptive.Feedback, status int) {
	switch {
	case f.Err != nil:
	case f.Source != "":
		f.Err = x.fail(refused(f.Source, status, f.Verdict))
	case f.Verdict == adaptive.Transient:
		f.Err = x.fail(refused("status "+strconv.Itoa(status), status, f.Verdict))
	}
}

// kind is what a body is.
type kind uint8

const (
	unread   kind = iota // nothing that a dialect knows
	document             // JSON that is one value
	values               // JSON that may be several
	stream               // server-sent events
)

func kindOf(h http.Header) kind {
	name := first(h, "Content-Type")
	if name == "application/json" { // as almost always
		return document
	}
	name, _, _ = strings.Cut(name, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "text/event-stream":
		return stream
	case name == "application/json", name == "text/json", strings.HasSuffix(name, "+json") && !strings.HasSuffix(name, "stream+json"):
		return document
	case strings.Contains(name, "json"):
		return values
	}
	return unread
}

// first returns the first value of a field. The name must be in canonical form.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// short reports whether the response is JSON that is about to be there.
func short(resp *http.Response) bool {
	return resp.ContentLength > 0 && resp.ContentLength <= mostAnswer && kindOf(resp.Header) == document
}
