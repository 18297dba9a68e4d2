package httpclient_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/retry"
)

// play is one thing that a fake wire does.
type play struct {
	status     int // 0: err
	header     string
	body       string
	err        error
	unread     bool // the body of the request is not looked at
	takes      time.Duration
	neverReads bool // and not even closed
}

// fake plays one after the other, and the last one for ever.
type fake struct {
	plays  []play
	begun  time.Time
	sent   []string        // the bodies
	at     []time.Duration // when
	bodies []*tracked      // of the answers
}

// tracked is a body that knows how much was read and whether it is closed.
type tracked struct {
	io.Reader
	read, closed atomic.Int64
	when         time.Time // it was closed
}

func (b *tracked) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *tracked) Close() error {
	b.closed.Add(1)
	b.when = time.Now()
	return nil
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.begun.IsZero() {
		f.begun = time.Now()
	}
	p := f.plays[min(len(f.sent), len(f.plays)-1)]
	f.at = append(f.at, time.Since(f.begun))
	var got []byte
	if req.Body != nil && !p.neverReads {
		if !p.unread {
			got, _ = io.ReadAll(req.Body)
		}
		_ = req.Body.Close()
	}
	f.sent = append(f.sent, string(got))
	time.Sleep(p.takes)
	if p.status == 0 {
		return nil, p.err
	}
	body := &tracked{Reader: strings.NewReader(p.body)}
	f.bodies = append(f.bodies, body)
	resp := &http.Response{StatusCode: p.status, Header: http.Header{}, Body: body, Request: req}
	if name, value, ok := strings.Cut(p.header, ": "); ok {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// exact is a policy without chance: 1 s, 2 s, 4 s and so on.
func exact(attempts int) retry.Policy {
	return retry.Policy{MaxAttempts: attempts, Initial: time.Second, NoJitter: true}
}

func failed(code httpclient.Code, phase httpclient.Phase) error {
	return &httpclient.Error{Code: code, Phase: phase, Service: "test"}
}

// bodyOf makes a body of 3 bytes that can be had again, or not.
func bodyOf(kind string, req *http.Request) {
	switch kind {
	case "":
	case "GetBody":
		req.Body = io.NopCloser(strings.NewReader("abc"))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }
	case "short":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), 3
	case "once":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), -1
	case "long":
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("abc")), 1<<20+1
	default:
		panic(kind)
	}
}

func TestRetryWhoIsSentAgain(t *testing.T) {
	const (
		connect = httpclient.PhaseConnect
		header  = httpclient.PhaseHeader
		prepare = httpclient.PhasePrepare
	)
	certificate := fmt.Errorf("%w: %w", failed(httpclient.CodeTLS, httpclient.PhaseTLS), &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	for _, tc := range []struct {
		method, key, body string
		play              play
		again             bool
	}{
		// Answers that are none to be repeated.
		{"GET", "", "", play{status: 200}, false},
		{"GET", "", "", play{status: 200, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 301, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 400}, false},
		{"GET", "", "", play{status: 401, header: "Retry-After: 1"}, false},
		{"GET", "", "", play{status: 404}, false},
		{"GET", "", "", play{status: 409}, false},
		{"GET", "", "", play{status: 425}, false},

		// Refusals: any method.
		{"GET", "", "", play{status: 429}, true},
		{"POST", "", "", play{status: 429}, true},
		{"POST", "", "GetBody", play{status: 429}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: 1"}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: NaN"}, true},
		{"POST", "", "short", play{status: 429, header: "Retry-After: -1"}, true},
		{"POST", "", "once", play{status: 429}, false},
		{"POST", "k", "once", play{status: 429}, false},
		{"POST", "", "long", play{status: 429}, false},
		{"PATCH", "", "GetBody", play{status: 529}, true},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: 0"}, true},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After-Ms: 10"}, true},
		{"POST", "", "once", play{status: 503, header: "Retry-After: 0"}, false},
		{"POST", "", "once", play{status: 429, unread: true}, true},

		// A 503 that does not say when is a failure.
		{"POST", "", "GetBody", play{status: 503}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: NaN"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: inf"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: -1"}, false},
		{"POST", "", "GetBody", play{status: 503, header: "Retry-After: soon"}, false},
		{"GET", "", "", play{status: 503, header: "Retry-After: NaN"}, true},

		// Failures: only what can do no harm twice.
		{"GET", "", "", play{status: 408}, true},
		{"HEAD", "", "", play{status: 500}, true},
		{"OPTIONS", "", "", play{status: 502}, true},
		{"TRACE", "", "", play{status: 503}, true},
		{"PUT", "", "short", play{status: 504}, true},
		{"DELETE", "", "", play{status: 500, header: "Retry-After: 1"}, true},
		{"", "", "", play{status: 500}, true},
		{"POST", "", "", play{status: 408}, false},
		{"POST", "", "GetBody", play{status: 500}, false},
		{"POST", "", "GetBody", play{status: 500, header: "Retry-After: 1"}, false},
		{"PATCH", "", "short", play{status: 502}, false},
		{"POST", "k", "GetBody", play{status: 500}, true},
		{"PATCH", "k", "short", play{status: 408}, true},
		{"POST", "k", "once", play{status: 500}, false},
		{"PUT", "", "once", play{status: 500}, false},

		// Nothing was sent: any method.
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeDNS, connect)}, true},
		{"POST", "", "short", play{err: failed(httpclient.CodeConnect, connect)}, true},
		{"POST", "", "once", play{err: failed(httpclient.CodeConnect, connect), unread: true}, true},
		{"POST", "", "once", play{err: failed(httpclient.CodeConnect, connect)}, false},
		{"POST", "", "", play{err: failed(httpclient.CodeConnectTimeout, connect)}, true},
		{"POST", "", "", play{err: failed(httpclient.CodeTLS, httpclient.PhaseTLS)}, true},
		{"POST", "", "", play{err: &net.OpError{Op: "dial", Err: io.EOF}}, true},
		{"POST", "", "", play{err: &net.DNSError{IsNotFound: true}}, true},
		{"GET", "", "", play{err: certificate}, false},

		// It may have been sent.
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeRead, header)}, false},
		{"POST", "", "GetBody", play{err: failed(httpclient.CodeTLS, httpclient.PhaseSend)}, false},
		{"POST", "k", "GetBody", play{err: failed(httpclient.CodeRead, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeRead, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeHeaderTimeout, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeProtocol, header)}, true},
		{"GET", "", "", play{err: failed(httpclient.CodeUnknown, header)}, true},
		{"GET", "", "", play{err: io.EOF}, true},
		{"POST", "", "", play{err: io.EOF}, false},
		{"POST", "", "", play{err: &net.OpError{Op: "read", Err: io.EOF}}, false},

		// This side's own doing.
		{"GET", "", "", play{err: failed(httpclient.CodeUnsent, prepare)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeUnsent, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeDNS, prepare)}, false}, // Config.Sign asked for a token
		{"GET", "", "", play{err: failed(httpclient.CodeCanceled, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeBodyLimit, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeRedirect, header)}, false},
		{"GET", "", "", play{err: failed(httpclient.CodeStatus, header)}, false},
		{"GET", "", "", play{err: fmt.Errorf("%w: %w", failed(httpclient.CodeRead, header), httpclient.ErrClosed)}, false},
		{"GET", "", "", play{err: fmt.Errorf("x: %w", context.Canceled)}, false},
		{"GET", "", "", play{err: retry.Permanent(io.EOF)}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{plays: []play{tc.play, {status: 204}}}
			req := request(t, tc.method, "http://h.example/p", nil)
			req.Method = tc.method
			if tc.key != "" {
				req.Header.Set("Idempotency-Key", tc.key)
			}
			bodyOf(tc.body, req)
			resp, err := httpclient.Retry(exact(3))(f).RoundTrip(req)
			name := fmt.Sprintf("%s %s %s %+v", tc.method, tc.key, tc.body, tc.play)
			if !tc.again {
				assert.Len(t, f.sent, 1, name)
				assert.Zero(t, time.Since(f.begun), "it does not wait for nothing: "+name)
				assert.Equal(t, tc.play.err, err, name)
				if tc.play.status != 0 {
					require.NotNil(t, resp, name)
					assert.Equal(t, tc.play.status, resp.StatusCode, name)
					resp.Body.Close()
				}
				return
			}
			require.NoError(t, err, name)
			defer resp.Body.Close()
			assert.Equal(t, 204, resp.StatusCode, name)
			require.Len(t, f.sent, 2, name)
			if tc.body != "" {
				assert.Equal(t, "abc", f.sent[1], name)
			}
			assert.Same(t, req, resp.Request, name)
		})
	}
}

func TestRetryWaits(t *testing.T) {
	refusal := func(header string) play { return play{status: 429, header: header} }
	second := func(n ...float64) (all []time.Duration) {
		for _, s := range n {
			all = append(all, time.Duration(s*float64(time.Second)))
		}
		return all
	}
	for name, tc := range map[string]struct {
		policy retry.Policy
		opts   []httpclient.RetryOption
		plays  []play
		at     []time.Duration // of each attempt
	}{
		"by the policy":                    {exact(4), nil, []play{refusal("")}, second(0, 1, 3, 7)},
		"failures too":                     {exact(3), nil, []play{{status: 500}}, second(0, 1, 3)},
		"errors too":                       {exact(3), nil, []play{{err: io.EOF}}, second(0, 1, 3)},
		"one attempt":                      {exact(1), nil, []play{refusal("")}, second(0)},
		"three if nothing is said":         {retry.Policy{Initial: time.Second, NoJitter: true}, nil, []play{refusal("")}, second(0, 1, 3)},
		"Retry-After is longer":            {exact(2), nil, []play{refusal("Retry-After: 20")}, second(0, 20)},
		"the policy is longer":             {exact(2), nil, []play{refusal("Retry-After: 0.5")}, second(0, 1)},
		"in milliseconds":                  {exact(2), nil, []play{refusal("Retry-After-Ms: 1500.5")}, second(0, 1.5005)},
		"a date":                           {exact(2), nil, []play{refusal("Retry-After: Sat, 01 Jan 2000 00:00:30 GMT")}, second(0, 30)}, // a bubble begins in 2000
		"a date that has passed":           {exact(2), nil, []play{refusal("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT")}, second(0, 1)},
		"not a number":                     {exact(2), nil, []play{refusal("Retry-After: NaN")}, second(0, 1)},
		"infinite":                         {exact(2), nil, []play{refusal("Retry-After: inf")}, second(0, 1)},
		"negative":                         {exact(2), nil, []play{refusal("Retry-After: -5")}, second(0, 1)},
		"of a failure":                     {exact(2), nil, []play{{status: 500, header: "Retry-After: 9"}}, second(0, 9)},
		"after the answer":                 {exact(2), nil, []play{{status: 429, header: "Retry-After: 20", takes: 5 * time.Second}}, second(0, 25)},
		"the most that is waited for":      {exact(2), nil, []play{refusal("Retry-After: 600")}, second(0, 600)},
		"more than that":                   {exact(2), nil, []play{refusal("Retry-After: 600.1")}, second(0)},
		"for ever":                         {exact(2), nil, []play{refusal("Retry-After: 99999999999999999999")}, second(0)},
		"another most":                     {exact(2), []httpclient.RetryOption{httpclient.RetryMaxRetryAfter(2 * time.Second)}, []play{refusal("Retry-After: 3")}, second(0)},
		"a longer most":                    {exact(2), []httpclient.RetryOption{httpclient.RetryMaxRetryAfter(time.Hour)}, []play{refusal("Retry-After: 700")}, second(0, 700)},
		"until 15 min":                     {exact(9), nil, []play{refusal("Retry-After: 300")}, second(0, 300, 600, 900)},
		"until a shorter time":             {exact(9), []httpclient.RetryOption{httpclient.RetryMaxWait(7 * time.Second)}, []play{refusal("")}, second(0, 1, 3, 7)},
		"not beyond it":                    {exact(9), []httpclient.RetryOption{httpclient.RetryMaxWait(7*time.Second - 1)}, []play{refusal("")}, second(0, 1, 3)},
		"failures have no such bound":      {exact(4), []httpclient.RetryOption{httpclient.RetryMaxWait(2 * time.Second)}, []play{{status: 500}}, second(0, 1, 3, 7)},
		"it counts from the first refusal": {exact(9), []httpclient.RetryOption{httpclient.RetryMaxWait(6 * time.Second)}, []play{{status: 500}, refusal("")}, second(0, 1, 3, 7)},
		"what attempts take counts":        {exact(9), []httpclient.RetryOption{httpclient.RetryMaxWait(6 * time.Second)}, []play{{status: 429, takes: 4 * time.Second}}, second(0, 5)},
		"what the first one took does not": {exact(2), []httpclient.RetryOption{httpclient.RetryMaxWait(2 * time.Second)}, []play{{status: 429, takes: time.Hour}}, second(0, 3601)},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{plays: tc.plays}
			resp, err := httpclient.Retry(tc.policy, tc.opts...)(f).RoundTrip(request(t, "GET", "http://h.example", nil))
			if err == nil {
				resp.Body.Close()
			}
			assert.Equal(t, tc.at, f.at, name)
		})
	}
}

// Up to a tenth later than was asked for, and never sooner.
func TestRetrySpreadsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var least, most time.Duration = time.Hour, 0
		for range 300 {
			f := &fake{plays: []play{{status: 429, header: "Retry-After: 100"}, {status: 204}}}
			resp, err := httpclient.Retry(retry.Policy{})(f).RoundTrip(request(t, "GET", "http://h.example", nil))
			require.NoError(t, err)
			resp.Body.Close()
			least, most = min(least, f.at[1]), max(most, f.at[1])
		}
		assert.GreaterOrEqual(t, least, 100*time.Second)
		assert.Less(t, least, 101*time.Second, "1 of 10^13 runs")
		assert.Greater(t, most, 109*time.Second, "the same")
		assert.LessOrEqual(t, most, 110*time.Second)
	})
}

// Who cancels gets the cause and what was refused; a deadline that is too soon takes nothing away.
func TestRetryEndsWithTheContext(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	refused := play{status: 429, header: "Retry-After: 20", body: "slow down"}
	refusedAtLength := play{status: 429, header: "Retry-After: 20", body: long}
	for name, tc := range map[string]struct {
		play     play
		deadline bool
		cause    error
	}{
		"an answer":                     {refused, false, nil},
		"a long one":                    {refusedAtLength, false, nil},
		"an answer, for a reason":       {refused, false, errors.New("no longer wanted")},
		"an error":                      {play{err: io.EOF}, false, nil},
		"an error of this package":      {play{err: failed(httpclient.CodeRead, httpclient.PhaseHeader)}, false, nil},
		"a deadline that is too soon":   {refusedAtLength, true, nil},
		"too soon for an error as well": {play{err: io.EOF}, true, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.deadline {
				bounded, end := context.WithTimeout(ctx, 500*time.Millisecond)
				defer end()
				ctx = bounded
			} else {
				time.AfterFunc(500*time.Millisecond, func() { cancel(tc.cause) })
			}
			f := &fake{plays: []play{tc.play}}
			req := request(t, "GET", "http://h.example", nil).WithContext(ctx)
			resp, err := httpclient.Retry(exact(3))(f).RoundTrip(req)
			assert.Len(t, f.sent, 1, name)
			if tc.deadline {
				assert.Zero(t, time.Since(begun), name)
				assert.Equal(t, tc.play.err, err, name)
				if err == nil {
					body, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					assert.Equal(t, tc.play.body, string(body), name)
					resp.Body.Close()
				}
				return
			}
			assert.Nil(t, resp, name)
			assert.Equal(t, 500*time.Millisecond, time.Since(begun), name)
			require.ErrorIs(t, err, context.Canceled, name)
			assert.ErrorIs(t, err, httpclient.CodeCanceled, name)
			if tc.cause != nil {
				assert.ErrorIs(t, err, tc.cause, name)
			}
			failed, ok := errors.AsType[*httpclient.Error](err)
			require.True(t, ok, name)
			assert.Equal(t, "h.example", failed.Host, name)
			if tc.play.err != nil {
				assert.ErrorIs(t, err, tc.play.err, name)
				return
			}
			assert.ErrorIs(t, err, httpclient.CodeStatus, name)
			assert.Equal(t, 429, failed.StatusCode, name)
			assert.Equal(t, "20", failed.Header.Get("Retry-After"), name)
			assert.Equal(t, tc.play.body[:min(len(tc.play.body), 64<<10)], string(failed.Body), name)
			assert.Equal(t, int64(1), f.bodies[0].closed.Load(), name)
		})
	}
}

// Inside a Client it is the call's own error, and holds no secret.
func TestRetryThatIsCancelledInAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(c *httpclient.Config) {
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{httpclient.Retry(exact(3))}
		})
		c.InMemory(says("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 20\r\nContent-Length: 4\r\n\r\nslow"))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough of " + canary)) })
		req := request(t, "GET", "http://h.example/?key="+canary, nil).WithContext(ctx)
		_, err := c.Do(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, httpclient.CodeStatus)
		assert.NotContains(t, err.Error(), canary)
		failed, ok := errors.AsType[*httpclient.Error](err)
		require.True(t, ok)
		assert.Equal(t, httpclient.CodeCanceled, failed.Code)
		assert.NotEmpty(t, failed.ID)
		assert.Equal(t, 1, failed.Attempt)
		assert.Equal(t, 429, failed.StatusCode)
		assert.Equal(t, "slow", string(failed.Body))
	})
}

func TestRetryWithAContextThatIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{plays: []play{{status: 500, body: "oops"}}}
	trip := httpclient.Retry(exact(3))(tripper(func(r *http.Request) (*http.Response, error) {
		cancel() // while it is under way
		return f.RoundTrip(r)
	}))
	resp, err := trip.RoundTrip(request(t, "GET", "http://h.example", nil).WithContext(ctx))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Len(t, f.sent, 1)
	assert.Zero(t, f.bodies[0].read.Load(), "the answer is as it came")
}

// A body that nobody has read of is closed in the end, and not before.
func TestRetryClosesTheBodyInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &tracked{Reader: strings.NewReader("abc")}
		f := &fake{plays: []play{{err: failed(httpclient.CodeConnect, httpclient.PhaseConnect), unread: true}}}
		req := request(t, "POST", "http://h.example", body)
		resp, err := httpclient.Retry(exact(3))(f).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		assert.Len(t, f.sent, 3)
		assert.Equal(t, int64(1), body.closed.Load())
		assert.Equal(t, 3*time.Second, body.when.Sub(f.begun))
	})
}

func TestRetryLetsGoOfConnections(t *testing.T) {
	for length, drained := range map[int]int64{0: 0, 100: 100, 64<<10 - 1: 64<<10 - 1, 64 << 10: 64 << 10, 1 << 20: 64 << 10} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{plays: []play{{status: 429, header: "Retry-After: 20", body: strings.Repeat("x", length)}, {status: 204}}}
			resp, err := httpclient.Retry(exact(2))(f).RoundTrip(request(t, "GET", "http://h.example", nil))
			require.NoError(t, err)
			assert.Equal(t, 204, resp.StatusCode)
			assert.Equal(t, drained, f.bodies[0].read.Load(), length)
			assert.Equal(t, int64(1), f.bodies[0].closed.Load(), length)
			assert.Equal(t, f.begun, f.bodies[0].when, "before the wait")
			assert.Zero(t, f.bodies[1].closed.Load(), "it is the caller's")
			resp.Body.Close()
		})
	}
}

func TestRetryOfABodyThatFails(t *testing.T) {
	failure := errors.New("gone")
	t.Run("to be kept", func(t *testing.T) {
		f := &fake{plays: []play{{status: 204}}}
		req := request(t, "POST", "http://h.example", nil)
		req.Body, req.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("a"), noMore{failure})), 3
		resp, err := httpclient.Retry(exact(2))(f).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorIs(t, err, failure)
		assert.Empty(t, f.sent)
	})
	t.Run("to be had again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{plays: []play{{status: 429, body: "slow down"}}}
			req := request(t, "POST", "http://h.example", strings.NewReader("abc"))
			req.GetBody = func() (io.ReadCloser, error) { return nil, failure }
			resp, err := httpclient.Retry(exact(2))(f).RoundTrip(req)
			require.NoError(t, err, "the last answer")
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "slow down", string(body))
			assert.Len(t, f.sent, 1)
		})
	})
}

type noMore struct{ err error }

func (f noMore) Read([]byte) (int, error) { return 0, f.err }

// A policy is asked about refusals too, and told what came.
func TestRetryAsksThePolicy(t *testing.T) {
	for name, plays := range map[string][]play{
		"an answer": {{status: 429, header: "Retry-After: 7"}},
		"an error":  {{err: io.EOF}},
	} {
		var asked []error
		p := exact(3)
		p.Retryable = func(err error) bool {
			asked = append(asked, err)
			return false
		}
		f := &fake{plays: plays}
		resp, err := httpclient.Retry(p)(f).RoundTrip(request(t, "GET", "http://h.example/p?key=v", nil))
		require.Len(t, asked, 1, name)
		assert.Len(t, f.sent, 1, name)
		if plays[0].err != nil {
			assert.Same(t, io.EOF, err)
			assert.Same(t, io.EOF, asked[0])
			continue
		}
		resp.Body.Close()
		told := failure(t, asked[0])
		assert.ErrorIs(t, told, httpclient.CodeStatus)
		assert.Equal(t, 429, told.StatusCode)
		assert.Equal(t, "7", told.Header.Get("Retry-After"))
		assert.NotContains(t, told.Error(), "key=v")
	}
}

func TestRetryThatCannotBeUsed(t *testing.T) {
	wrap := httpclient.Retry(retry.Policy{MaxAttempts: -1, Initial: -1},
		httpclient.RetryMaxWait(0), httpclient.RetryMaxRetryAfter(-time.Second))
	f := &fake{plays: []play{{status: 204}}}
	sent := &tracked{Reader: strings.NewReader("abc")}
	resp, direct := wrap(f).RoundTrip(request(t, "POST", "http://h.example", sent))
	if direct == nil {
		resp.Body.Close()
	}
	assert.Empty(t, f.sent)
	assert.Equal(t, int64(1), sent.closed.Load())
	_, made := httpclient.New(httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{wrap}})
	for _, err := range []error{direct, made} {
		for _, part := range []string{"MaxAttempts", "Initial", "RetryMaxWait", "RetryMaxRetryAfter"} {
			assert.ErrorContains(t, err, part)
		}
		var field *fault.FieldError
		assert.ErrorAs(t, err, &field)
	}
}

func TestRetryPassesOnCloseIdleConnections(t *testing.T) {
	closed := 0
	c := &http.Client{Transport: httpclient.Retry(retry.Policy{})(idle{closed: &closed})}
	c.CloseIdleConnections()
	assert.Equal(t, 1, closed)
	c.Transport = httpclient.Retry(retry.Policy{})(&fake{})
	c.CloseIdleConnections()
}

type idle struct{ closed *int }

func (i idle) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.EOF }
func (i idle) CloseIdleConnections()                           { *i.closed++ }

// withRetry is a client that tries three times without waiting long.
func withRetry(c *httpclient.Config) {
	c.Wrap = append(c.Wrap, httpclient.Retry(retry.Policy{Initial: 1, NoJitter: true}))
}

// Against real HTTP: every attempt counts, and three of them need one connection.
func TestRetryOnTheWire(t *testing.T) {
	var connections, answered atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.Equal(t, "abc", string(body))
		if answered.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	for _, kind := range []string{"GetBody", "short"} {
		answered.Store(0)
		var told requests
		c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
		req := request(t, "POST", s.URL, nil)
		bodyOf(kind, req)
		req.ContentLength = 3
		before := connections.Load()
		do(t, c, req)
		e := told.one(t)
		assert.Equal(t, 3, e.Attempt)
		assert.Equal(t, 200, e.Request.Status)
		assert.Equal(t, int64(3), e.Request.Sent)
		assert.True(t, e.Request.Reused)
		assert.Equal(t, int64(1), connections.Load()-before)
	}
}

func TestRetryTellsTheLastAttempt(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
	err := get(t, c, "http://127.0.0.1:1/?key=canary")
	last := failure(t, err)
	assert.Equal(t, httpclient.CodeConnect, last.Code)
	assert.Equal(t, 3, last.Attempt)
	assert.Equal(t, 3, told.one(t).Attempt)
	assert.NotContains(t, err.Error(), "canary")
}

// net/http sends some requests twice by itself: those count too.
func TestRetryCountsWhatNetHTTPSends(t *testing.T) {
	var seen atomic.Int64
	address := listen(t, func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			switch seen.Add(1) {
			case 2: // on a connection that was used before
				return
			case 3:
				_, _ = io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
			default:
				_, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
			}
		}
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) { withRetry(c); c.Observer = &told })
	do(t, c, request(t, "GET", "http://"+address, nil))
	do(t, c, request(t, "GET", "http://"+address, nil))
	require.Len(t, told.all, 2)
	assert.Equal(t, 1, told.all[0].Attempt)
	assert.Equal(t, 3, told.all[1].Attempt, "dropped, then 500, then 200")
}

func TestRetryLeavesThisSidesErrorsAlone(t *testing.T) {
	var signed atomic.Int64
	for name, tc := range map[string]struct {
		config func(*httpclient.Config)
		sign   int64
	}{
		"Config.Sign": {func(c *httpclient.Config) {
			c.Sign = func(*http.Request) error { signed.Add(1); return errors.New("no key") }
		}, 1},
		"Config.Sign that asks for a token": {func(c *httpclient.Config) {
			c.Sign = func(*http.Request) error { signed.Add(1); return &net.DNSError{Name: "token.example"} }
		}, 1},
		"MaxRequest": {func(c *httpclient.Config) { c.MaxRequest = 1 }, 0},
	} {
		signed.Store(0)
		c := newClient(t, func(c *httpclient.Config) { withRetry(c); tc.config(c) })
		resp, err := c.Do(request(t, "PUT", "http://127.0.0.1:1/", strings.NewReader("abc")))
		if err == nil {
			resp.Body.Close()
		}
		assert.Zero(t, failure(t, err).Attempt, name)
		assert.Equal(t, tc.sign, signed.Load(), name)
	}
}

func TestRetryLeavesAnOpenBreakerAlone(t *testing.T) {
	asked := 0
	c := newClient(t, func(c *httpclient.Config) {
		b, err := breaker.New(breaker.Config{Failures: 1})
		require.NoError(t, err)
		require.Error(t, b.Do(t.Context(), func(context.Context) error { return io.EOF }))
		c.Breaker = b
		withRetry(c)
		c.Wrap = append(c.Wrap, func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				return next.RoundTrip(r)
			})
		})
	})
	err := get(t, c, "http://127.0.0.1:1/")
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.Equal(t, 1, asked)
}

// A closed client is not asked again.
func TestRetryOfAClosedClient(t *testing.T) {
	asked := 0
	var c *httpclient.Client
	c = newClient(t, func(config *httpclient.Config) {
		withRetry(config)
		config.Wrap = append(config.Wrap, func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				c.Close()
				return next.RoundTrip(r)
			})
		})
	})
	err := get(t, c, "http://127.0.0.1:1/")
	assert.ErrorIs(t, err, httpclient.ErrClosed)
	assert.Equal(t, 1, asked)
}
