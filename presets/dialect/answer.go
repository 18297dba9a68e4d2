package dialect

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// answer is one answer in the course of being read.
type answer struct {
	now     time.Time
	status  int // of HTTP; of the error in the body, where HTTP says 200
	header  http.Header
	doc     document
	reading reading
}

// read reads the body, which Auto needs to recognise the provider.
func (a *answer) read(body []byte) {
	a.doc.read(body, a.status >= http.StatusBadRequest)
	if a.status < http.StatusBadRequest {
		a.doc.pardon()
	}
	if name, _, _ := strings.Cut(first(a.header, "X-Amzn-Errortype"), ":"); name != "" {
		a.doc.code([]byte(name))
	}
	if a.doc.header != nil {
		maps.Copy(a.doc.header, a.header)
		a.header = a.doc.header
	}
	if a.doc.failed && a.status < http.StatusBadRequest {
		a.status = a.statusWithin()
	}
}

// statusWithin is the status that the error in an answer with 200 names, or that
// its code would have come with had the answer not begun.
func (a *answer) statusWithin() int {
	if a.doc.status != 0 {
		return a.doc.status
	}
	for _, c := range a.doc.codes {
		if n, err := strconv.Atoi(c); err == nil && n >= http.StatusBadRequest && n <= 599 {
			return n
		}
		switch c {
		case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests":
			return http.StatusTooManyRequests
		case "server_is_overloaded", "slow_down":
			return http.StatusServiceUnavailable
		}
	}
	return a.status
}

// refused reports whether the answer is an error.
func (a *answer) refused() bool { return a.status >= http.StatusBadRequest || a.doc.failed }

// judge fills in f in the words of s.
func (a *answer) judge(s *speaker, f *adaptive.Feedback) {
	a.measure(s)
	f.Meters = a.reading.meters
	switch {
	case a.status < http.StatusOK && !a.doc.failed || a.status > 599:
		return // not an answer of HTTP, or not the last one
	case !a.refused():
		f.Verdict = adaptive.OK
		f.Used = clampCost(s.used(a))
		return
	}
	r := s.rule(a)
	f.Verdict, f.Source = r.verdict, a.source()
	if again, told := a.shouldRetry(); told {
		f.Verdict, f.Final = obey(again, f.Verdict)
	}
	if f.Verdict == adaptive.OK {
		if a.status < http.StatusBadRequest { // a failure after processing, reported with status 200
			f.Used = clampCost(s.used(a))
		}
		return
	}
	f.Final = f.Final || a.doc.partly
	f.RetryAfter = a.wait(s, r)
	if f.Verdict == adaptive.Hit || f.Verdict == adaptive.Overloaded {
		f.SlowDown = r.slow || a.tooSteep()
	}
	switch {
	case f.Verdict == adaptive.Hit:
		f.Kind = a.kind(r)
	case f.Verdict == adaptive.Transient && a.status == unavailable:
		f.Kind = adaptive.KindOverload
	}
}

// obey adjusts a verdict if the answer states explicitly whether to retry. It does not change verdicts about money.
func obey(again bool, v adaptive.Verdict) (_ adaptive.Verdict, final bool) {
	switch {
	case again && v == adaptive.OK:
		return adaptive.Transient, false
	case !again && v == adaptive.Transient:
		return adaptive.OK, false
	}
	return v, !again && (v == adaptive.Hit || v == adaptive.Overloaded)
}

// measure reads the gauges of s. Where they say nothing it reads the plain
// ones: a gateway may have put its own into the answer.
func (a *answer) measure(s *speaker) {
	if tables.levels.any(a.header) && !a.readGauges(s.gauges) {
		a.reading.readRateLimit(a.header)
		a.readGauges(tables.gauges)
	}
	if m := a.doc.cost.meter(); m.Known {
		a.reading.meters[throttle.Points] = m
	}
}

func (a *answer) readGauges(gauges []gauge) (told bool) {
	for i := range gauges {
		if l, ok := gauges[i].read(a.header, a.now); ok {
			a.reading.note(l)
			told = true
		}
	}
	return told
}

// wait is how long the provider wants us to wait: by the header that is for
// that, by the body, by the reset of what is used up, in words, at last by rule.
func (a *answer) wait(s *speaker, r *rule) time.Duration {
	if d, ok := retry.RetryAfter(a.header, a.now); ok {
		return clamp(d)
	}
	if d, ok := wait(first(a.header, "Retry-After"), a.now); ok {
		return d
	}
	if a.doc.retryKnown {
		return a.doc.retry
	}
	if d := a.doc.cost.wait(); d > 0 {
		return d
	}
	for _, name := range s.waits {
		if d, ok := wait(first(a.header, name), a.now); ok {
			return d
		}
	}
	if a.reading.wait > 0 {
		return a.reading.wait
	}
	if d, ok := waitIn(a.doc.message); ok {
		return d
	}
	return r.wait
}

// kind is which limit refused: by rule, by what the body says, at last by what is used up.
func (a *answer) kind(r *rule) adaptive.Kind {
	if r.kind != adaptive.UnknownKind {
		return r.kind
	}
	if k := a.kindSaid(); k != adaptive.UnknownKind {
		return k
	}
	return a.reading.kind
}

// source returns the status with the first code that adds something. Anything but a plain word is left out, because sources end
// up in logs.
func (a *answer) source() string {
	text := "status " + strconv.Itoa(a.status)
	for _, c := range a.doc.codes {
		if _, err := strconv.Atoi(c); err != nil && c != "error" && word(c) {
			return text + " " + c
		}
	}
	return text
}

func word(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return len(s) <= 64
}

// clampCost bounds each amount of c, and the sum of input and output, which a window of tokens counts.
func clampCost(c throttle.Cost) throttle.Cost {
	in := bounded(c.Input)
	return throttle.Cost{
		Requests: bounded(c.Requests), Tokens: bounded(c.Tokens), Input: in,
		Output: min(bounded(c.Output), throttle.MaxAmount-in), Points: bounded(c.Points),
	}
}
