package run

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/openfiles"
	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/throttle"
)

// caller makes the call of one request. The batch is responsible for limits, waits and
// retries; the HTTP client does none of this.
type caller struct {
	*settings.Run

	client  *httpclient.Client
	hard    []throttle.Window // what no call may exceed: with --law fixed or aimd, or a store, the limits of a preset too
	secrets scrubber          // secrets that no output may repeat
	keeper  replay.Keeper
	room    *room
	routes  routes
	reach   reach
	alike   alike
	once    func(*requests.Request) string // the Idempotency-Key
	stop    context.CancelCauseFunc        // of the run
	say     func(text string)              // prints a line
	why     atomic.Pointer[StopError]      // the reason why the run was stopped
}

// cost estimates what the provider will charge for q.
func (c *caller) cost(q requests.Request) throttle.Cost {
	if q.Bad != "" {
		return throttle.Cost{}
	}
	cost := c.Dialect.Estimate(nil, []byte(q.Body))
	if tooLarge(c.hard, cost) != "" {
		return throttle.Cost{} // it is not sent
	}
	return cost
}

// unsendable returns tooLarge for the estimated cost of q.
func (c *caller) unsendable(q *requests.Request) string {
	if len(c.hard) == 0 {
		return ""
	}
	text := tooLarge(c.hard, c.Dialect.Estimate(nil, []byte(q.Body)))
	if text != "" {
		text += ": raise the limit and use --retry-failed"
	}
	return text
}

// call sends q. A failure is a *results.RecordedError, which holds what another process needs to report it.
func (c *caller) call(ctx context.Context, q requests.Request) (results.Answer, error) {
	if q.Bad != "" {
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		if c.Strict {
			return c.end(badLine(q.Line, q.Bad))
		}
		return fail(&results.RequestError{Code: results.BadLine, Message: q.Bad, Line: q.Line})
	}
	if text := c.unsendable(&q); text != "" {
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		return fail(&results.RequestError{Code: results.TooLarge, Message: text, Line: q.Line, Of: q.Hash()})
	}
	number := c.alike.sent()
	defer c.alike.ended(number)
	for {
		a, err := c.send(ctx, &q, number)
		if !errors.Is(err, errAgain) {
			return a, err
		}
	}
}

// errAgain causes a retry of a request that did not reach a server.
var errAgain = errors.New("again")

func (c *caller) send(ctx context.Context, q *requests.Request, number int64) (a results.Answer, err error) {
	req, err := c.request(ctx, q)
	if err != nil {
		return fail(&results.RequestError{Code: results.BadLine, Message: "url is not valid: use a path, such as /v1/chat/completions", Line: q.Line, Of: q.Hash()})
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return c.broken(ctx, q, number, err)
	}
	var held int64
	if resp.StatusCode < http.StatusBadRequest { // a rejection must not wait
		held, err = c.room.enter(ctx, resp.ContentLength)
		defer func() { c.room.leave(q.Key(), held, a.Body) }()
	}
	var body []byte
	if err == nil {
		body, err = c.read(ctx, resp)
	}
	_ = resp.Body.Close()
	switch {
	case errors.Is(err, httpclient.CodeBodyLimit) && resp.StatusCode < http.StatusInternalServerError:
		return c.tooLong(ctx, q, number, err)
	case err != nil:
		return c.broken(ctx, q, number, err)
	}
	return c.judge(ctx, q, number, resp, body)
}

// read reads the body. If the request was rejected, it returns only the part that inflight.Keep read in time.
func (c *caller) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	if resp.StatusCode >= http.StatusBadRequest {
		v := c.Dialect.Read(time.Now(), resp.StatusCode, resp.Header, nil).Verdict
		kept, rejected := inflight.Keep(&c.keeper, inflight.Of(ctx), resp, v)
		if resp.Body = kept; rejected && ctx.Err() == nil {
			return kept.Head(), nil
		}
	}
	var body bytes.Buffer
	body.Grow(int(min(max(resp.ContentLength, 0), mostExpected)) + bytes.MinRead)
	_, err := body.ReadFrom(resp.Body)
	return body.Bytes(), err
}

// mostResponse bounds a response, in bytes after decompression.
const mostResponse = 64 << 20

// mostExpected bounds the memory that is allocated for a body before it arrives, in bytes.
const mostExpected = 1 << 20

func fail(f *results.RequestError) (results.Answer, error) {
	return results.Answer{}, &results.RecordedError{RequestError: f}
}

// end stops the run. The request stays pending, because its error is the reason for the stop.
func (c *caller) end(why *StopError) (results.Answer, error) {
	c.why.CompareAndSwap(nil, why)
	c.stop(c.why.Load())
	return results.Answer{}, c.why.Load().left()
}

// broken handles a call without a response.
func (c *caller) broken(ctx context.Context, q *requests.Request, number int64, err error) (results.Answer, error) {
	if ctx.Err() != nil {
		return results.Answer{}, err
	}
	if failed := (*httpclient.Error)(nil); errors.As(err, &failed) && failed.Code == httpclient.CodeRedirect { // the redirect's target is not a URL
		return c.judge(ctx, q, number, &http.Response{StatusCode: failed.StatusCode, Header: failed.Header}, nil)
	}
	text := c.scrub([]byte(reached(err)))
	failure := &results.RequestError{Code: results.Network, Message: string(text), Of: q.Hash()}
	if openfiles.Exhausted(err) { // which says nothing about the service
		c.reach.crowded(time.Now())
		c.tell()
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: firstPause, Source: "too many open files"})
		return fail(failure)
	}
	for _, code := range []httpclient.Code{httpclient.CodeDNS, httpclient.CodeConnect, httpclient.CodeConnectTimeout, httpclient.CodeTLS} {
		if !errors.Is(err, code) {
			continue
		}
		pause, ever, stop := c.reach.lost(time.Now(), lostError(err, string(text)))
		c.tell()
		switch {
		case stop != nil:
			return c.end(stop)
		case !ever: // a service that cannot be reached teaches the limiter nothing
			return results.Answer{}, wait(ctx, pause)
		}
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: pause, Source: "no connection"})
		return fail(failure)
	}
	f := adaptive.Feedback{Verdict: adaptive.Transient}
	if stop := c.health(&f, q.Line, 0, failure.Message); stop != nil {
		return c.end(stop)
	}
	guard.Report(ctx, f)
	return fail(failure)
}

// tooLong handles a response that was not read to its end because of its length. Another call would return as much.
func (c *caller) tooLong(ctx context.Context, q *requests.Request, number int64, err error) (results.Answer, error) {
	guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.OK})
	c.reach.reached()
	return c.failed(q, number, &results.RequestError{Code: results.TooLong, Message: reached(err) + ": request a shorter response", Of: q.Hash()})
}

// health records whether the service works after a call for a line that did not succeed, with the status (0: none) and the words of the
// response. In an outage, f becomes a refusal for which requests wait, or there is a reason to stop.
func (c *caller) health(f *adaptive.Feedback, line int64, status int, says string) *StopError {
	switch {
	case f.Verdict == adaptive.Transient:
	case f.Verdict == adaptive.Hit, f.Verdict == adaptive.Overloaded, status >= http.StatusInternalServerError:
		c.reach.refused()
		return nil
	default:
		c.reach.reached()
		return nil
	}
	pause, stop := c.reach.broke(time.Now(), line, errors.New(says))
	c.tell()
	if pause > 0 {
		f.Verdict, f.Kind, f.Source = adaptive.Overloaded, adaptive.UnknownKind, "an outage"
		f.RetryAfter = max(f.RetryAfter, pause)
	}
	return stop
}

// tell prints why all requests wait, if that is new.
func (c *caller) tell() {
	if text := c.reach.takeNews(); text != "" {
		c.say(text)
	}
}

// wait returns errAgain after d, or why ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return errAgain
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reached describes how far a call got. It leaves out the URL and the duration, which are the same for all calls.
func reached(err error) string {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return dns.Error()
	}
	of := (*net.OpError)(nil)
	if errors.As(err, &of) && of.Op == "dial" {
		return of.Error()
	}
	switch plain := (tls.RecordHeaderError{}); {
	case !errors.As(err, &plain):
	case of != nil && of.Op == "proxyconnect":
		return "the proxy does not use TLS: its URL has to begin with http://"
	case string(plain.RecordHeader[:]) == "HTTP/": // to any other server, http:// would expose the key
		return "the response is not TLS: for a local server without TLS, use http:// in --base-url"
	}
	if late := (*ended.LateError)(nil); errors.As(err, &late) && (late.Setting == "Timeouts.Call" || late.Setting == "Timeouts.Header") {
		return fmt.Sprintf("no complete response within %s (--timeout)", late.After)
	}
	failed := (*httpclient.Error)(nil)
	switch {
	case !errors.As(err, &failed) || failed.Unwrap() == nil:
		return err.Error()
	case failed.Code == httpclient.CodeBodyLimit:
		return fmt.Sprintf("the response is longer than %d MiB, which is the maximum", mostResponse>>20)
	case failed.Phase == httpclient.PhaseBody:
		return "the response could not be read to its end: " + failed.Unwrap().Error()
	case errors.Is(failed, io.EOF):
		return "the connection was closed without a response"
	}
	return failed.Unwrap().Error()
}

// judge turns a response into a result, a failure, or the end of the run.
func (c *caller) judge(
	ctx context.Context, q *requests.Request, number int64, resp *http.Response, body []byte,
) (results.Answer, error) {
	f := c.Dialect.Read(time.Now(), resp.StatusCode, resp.Header, body)
	body = c.scrub(body)
	id := string(c.scrub([]byte(requestID(resp.Header))))
	text, isJSON := results.Compact(body)
	refused := f.Verdict == adaptive.Hit || f.Verdict == adaptive.Overloaded || f.Verdict == adaptive.Transient
	if resp.StatusCode/100 == 2 && isJSON && f.Source == "" && !refused && f.Verdict != adaptive.Terminal {
		guard.Report(ctx, f)
		c.reach.reached()
		c.alike.succeeded()
		return results.Answer{Status: resp.StatusCode, RequestID: id, Body: text, Of: q.Hash()}, nil
	}
	failure := &results.RequestError{
		Code: fmt.Sprintf("status_%d", resp.StatusCode), Message: message(resp.StatusCode, body), StatusCode: resp.StatusCode,
		RequestID: id, Text: text, Of: q.Hash(), Header: resp.Header, Body: body, RetryAfter: f.RetryAfter,
	}
	if redirects(resp.StatusCode) {
		failure.Location = string(c.scrub([]byte(location(resp))))
		failure.Message = redirected(failure.StatusCode, failure.Location)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		f.Verdict = adaptive.OK // it teaches the limiter nothing
		guard.Report(ctx, f)
		return c.end(&StopError{WrongKey, c.wrongKey(failure.Message)})
	case f.Verdict == adaptive.Terminal, resp.StatusCode == http.StatusPaymentRequired:
		f.Verdict = adaptive.OK
		guard.Report(ctx, f)
		return c.end(&StopError{Quota, "the quota or the credit of the account is used up: " + failure.Message})
	}
	if stop := c.health(&f, q.Line, failure.StatusCode, fmt.Sprintf("%d: %s", failure.StatusCode, failure.Message)); stop != nil {
		return c.end(stop)
	}
	guard.Report(ctx, f)
	switch {
	case refused:
		return fail(failure)
	case resp.StatusCode/100 == 2 && !isJSON:
		failure.Code, failure.Message = results.NotJSON, notJSON(resp.StatusCode, string(c.scrub([]byte(resp.Header.Get("Content-Type")))), body)
	}
	return c.failed(q, number, failure)
}

// failed handles a failure that a retry would not change. If the first requests all fail in this way, it ends the run.
func (c *caller) failed(q *requests.Request, number int64, f *results.RequestError) (results.Answer, error) {
	if !c.alike.fails(number, f.Code) {
		return fail(f)
	}
	what := f.Message
	if f.StatusCode > 0 && f.Code != results.NotJSON && f.Location == "" {
		what = fmt.Sprintf("%d: %s", f.StatusCode, f.Message)
	}
	return c.end(systematic(f, c.shown(q)+c.reach.proxy.through(), c.reach.proxy, what))
}

// shown returns the URL to which q is sent, without the values of its query, which may be secret.
func (c *caller) shown(q *requests.Request) string {
	to, err := c.routes.of(q.URL, c.target)
	if err != nil { // q was not sent
		return c.Base.Host
	}
	return string(c.scrub([]byte(redact.URL(to.URL))))
}

func (c *caller) wrongKey(says string) string {
	says = strings.TrimRight(says, ".")
	switch {
	case c.KeyName != "":
		return fmt.Sprintf("%s rejects the key in %s (401): %s. Set %s to a valid key", c.Base.Host, c.KeyName, says, c.KeyName)
	case c.Credentials():
		return fmt.Sprintf("%s rejects the key in --header (401): %s. Set the header to a valid key", c.Base.Host, says)
	}
	return fmt.Sprintf("%s requires a key (401): %s. Use --api-key-env to name the environment variable that holds it", c.Base.Host, says)
}

// scrub removes secrets from a text that the server sent.
func (c *caller) scrub(text []byte) []byte { return c.secrets.clean(text) }
