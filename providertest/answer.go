package providertest

import (
	"fmt"
	"net/http"
	"time"
)

// end notes how the call was answered, with how many tokens; see [Server.end].
func (c *call) end(status, output int, whole bool) advice {
	return c.server.end(c.seq, status, whole, c.speech.used(c.req, output))
}

// answer serves the nth admitted call.
func (c *call) answer(nth uint64) {
	s := c.server
	latency, bad := guard("Latency", func() time.Duration { return drawLatency(s.config.Latency, s.config.Seed, nth) })
	if bad == nil && !c.pause(latency) {
		return
	}
	var text string
	if bad == nil && c.req.Path != embeddingsRoute().path {
		text, bad = guard("Reply", func() string { return s.config.Reply(c.req) })
	}
	r := newReply(c.req, text, c.seq, time.Now())
	switch {
	case bad != nil:
		c.end(bad.status, 0, false)
		c.fail(bad)
	case c.r.Context().Err() != nil:
	case c.req.Stream:
		c.stream(c.route.events(r), r.output)
	default:
		status, whole := c.outcome(http.StatusOK)
		c.setHeaders(c.end(status, r.output, whole))
		c.send(http.StatusOK, jsonType, encode(c.route.answer(r)))
	}
}

// outcome is what the ledger says of an answer with a status: the fault may
// break it off.
func (c *call) outcome(status int) (_ int, whole bool) {
	switch c.fault.breaks() {
	case noBreak:
		return status, true
	case BreakHeader:
		return 0, false
	case BreakBody, BreakStall, BreakError:
	}
	return status, false
}

// refuse answers a request that a limit turned away.
func (c *call) refuse(refusal reason) {
	if !c.pause(c.server.config.RefusalLatency) {
		return
	}
	f := tooMany(refusal, c.req.Model)
	f.status = c.speech.status(f.cause)
	status, _ := c.outcome(f.status)
	advice := c.end(status, 0, false)
	c.setHeaders(advice)
	told, form := time.Duration(0), c.server.config.RetryAfter
	if form != noRetryAfter && refusal.knowsWait() {
		told = advice.wait
		if !c.speech.noWait {
			setRetryAfter(c.w.Header(), told, form)
		}
	}
	c.send(f.status, c.speech.errorType, encode(c.speech.failure(f, told)))
}

// pause waits for d, and for the delay of the fault. It returns false if the call is over: the client disconnected, or the
// server was closed and answered so.
func (c *call) pause(d time.Duration) bool {
	if c.fault != nil {
		d += max(0, c.fault.Delay)
	}
	if c.server.sleep(c.r, d) {
		return true
	}
	if c.r.Context().Err() == nil {
		c.end(http.StatusServiceUnavailable, 0, false)
		c.fail(errClosed())
	}
	return false
}

// sleep waits for d. It reports false when the client went away or the server
// was closed.
func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.closing:
		return false
	}
}

// setHeaders sets the headers that answers and refusals share.
func (c *call) setHeaders(a advice) {
	c.w.Header().Set(c.speech.requestID, fmt.Sprintf("req_%012d", c.seq))
	if c.server.config.Headers {
		c.speech.limits(c.w.Header(), a)
	}
}
