package flowtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
)

// Behind passes HTTP requests without a step to rt, such as the Transport of a providertest.Server. It
// has no effect on Call, or after Otherwise.
func (p *Provider) Behind(rt http.RoundTripper) *Provider {
	p.must(func(problems *invalid.Problems) {
		if invalid.Nil(rt) {
			problems.Addf("Behind", "the round tripper is nil")
		}
	})
	p.behind = rt
	return p
}

// RoundTrip implements http.RoundTripper. The key of a request is its Idempotency-Key or
// X-Client-Request-Id, or else its method and path.
func (p *Provider) RoundTrip(req *http.Request) (res *http.Response, err error) {
	forwarded := false
	defer func() {
		if req.Body != nil && !forwarded {
			_ = req.Body.Close() // it has not been read
		}
	}()
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	key := cmp.Or(req.Header.Get("Idempotency-Key"), req.Header.Get("X-Client-Request-Id"), req.Method+" "+req.URL.Path)
	a := p.record.arrive(p, key)
	outcome, status := Panicked, 0
	defer func() { p.record.end(a, outcome, status, err) }()
	if err = a.run(ctx); err != nil {
		outcome = Canceled
		return nil, err
	}
	if forwarded = a.step.forwards; forwarded {
		res, err = p.behind.RoundTrip(req)
		outcome, status = a.judge(req, res, err)
		return res, err
	}
	if outcome, status = a.step.outcome(); a.step.err != nil {
		return nil, a.step.err
	}
	return a.step.response(req, status, key), nil
}

// response makes an HTTP answer of the step.
func (s Step) response(req *http.Request, status int, key string) *http.Response {
	text := s.body
	if !s.hasBody && status == http.StatusOK {
		text = key
	}
	header := s.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: req,
	}
}

// judge returns the outcome of a request that another handler answered.
func (a *arrival) judge(req *http.Request, res *http.Response, err error) (o Outcome, status int) {
	switch {
	case err != nil && req.Context().Err() != nil:
		return Canceled, 0
	case err != nil:
		return Failed, 0
	case res.StatusCode == http.StatusTooManyRequests:
		a.step.retryAfter, _ = retry.RetryAfter(res.Header, time.Now())
		return Refused, res.StatusCode
	case res.StatusCode >= http.StatusBadRequest:
		return Failed, res.StatusCode
	default:
		return Answered, res.StatusCode
	}
}
