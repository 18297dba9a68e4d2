package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/internal/signer"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
)

// Caller is called with a payload: an [Endpoint], or what [NewFunc] returns. All methods are
// safe for concurrent use.
type Caller interface {
	// Name appears in answers and errors.
	Name() string
	// Call makes one call. The Answer is never nil; after an error it holds what is known.
	Call(ctx context.Context, payload any) (*Answer, error)
	// Close makes later calls fail with httpclient.ErrClosed. It may be called again.
	Close() error
}

var (
	_ Caller = (*Endpoint)(nil)
	_ Caller = (*funcEndpoint)(nil)
)

// Endpoint is one operation of a service, such as chat completions: payload in, answer out. All
// methods are safe for concurrent use.
type Endpoint struct {
	target *target // a pointer, so that no printing of the endpoint shows headers
	client *httpclient.Client
	owned  bool
	closed atomic.Bool
}

type target struct {
	name, method string
	service      string // as errors name it
	base         *url.URL
	path         string
	url          *url.URL // without parameters
	auth         string   // the header of the secret, or ""
	header       http.Header
	contentType  string
	keys         bool
	retries      int
	limit        int64
	check        func(any) error
	accept       func(*Answer) error
	dialect      dialect.Dialect
	sign         func(*http.Request) error // adds the same secret to each call; nil: another one, or none
}

// New returns an endpoint. The error joins a *fault.FieldError for each problem. Close the
// endpoint after use.
func New(c Config) (*Endpoint, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base, _ := parseBase(c.BaseURL)
	to, err := join(base, c.Path)
	if err != nil { // Validate has seen that it can be
		return nil, err
	}
	speaks, err := dialectOf(c.Provider, base.Host)
	if err != nil {
		return nil, err
	}
	c.Name = cmp.Or(c.Name, c.Provider, base.Host)
	e := &Endpoint{client: c.Client, target: &target{
		name: c.Name, method: cmp.Or(c.Method, http.MethodPost), base: base, path: c.Path, url: to, auth: c.authName(), header: http.Header{},
		contentType: c.contentType(), keys: c.IdempotencyKeys, retries: c.MaxRetries, check: c.CheckPayload, accept: c.CheckAnswer, dialect: speaks,
	}}
	if e.target.accept == nil {
		e.target.accept = checkAnswer
	}
	for name, value := range c.Headers {
		e.target.header.Set(name, value)
	}
	if e.client == nil {
		own := c.client(base)
		if e.client, err = httpclient.New(own); err != nil {
			return nil, err
		}
		if seen().Steady(c.Secret) {
			e.target.sign = own.Sign
		}
		e.owned = true
	}
	of := seen().Config(e.client)
	e.target.service, e.target.limit = cmp.Or(of.Service, c.Name), of.MaxRequest
	return e, nil
}

// Name returns the name.
func (e *Endpoint) Name() string { return e.target.name }

// Dialect returns how the provider reports its limits, by Config.Provider or by the host. It
// estimates the cost of a call and reads an Answer.
func (e *Endpoint) Dialect() dialect.Dialect { return e.target.dialect }

// String returns name, method and redacted URL.
func (e *Endpoint) String() string {
	return e.target.name + ": " + e.target.method + " " + redact.URL(e.target.url)
}

// Call sends the payload and reads the whole response. It waits as long as Config.Wrap does, and then
// at most Config.Timeout per attempt.
//
// A string, []byte, json.RawMessage or io.Reader is sent as it is, nil as no body, and anything else
// as JSON if that is the content type. [Params] adds path, query and header parameters to any of these.
// The payload must not change before Call returns.
//
// Every error has an *httpclient.Error in its tree: httpclient.CodeStatus for a status that is not 2xx, httpclient.CodeUnsent for a
// payload that cannot be sent, httpclient.CodeAnswer for a response that CheckAnswer rejects. A panic of the
// payload's code or of a check is a *fault.PanicError. The Answer is never nil. If a response of status
// 300 or above repeats the secret, it is redacted.
func (e *Endpoint) Call(ctx context.Context, payload any) (*Answer, error) {
	begun, t := time.Now(), e.target
	a := &Answer{Endpoint: t.name, Method: t.method, URL: redact.URL(t.url)}
	err := e.call(ctx, payload, a, begun)
	a.Elapsed = time.Since(begun)
	return a, err
}

func (e *Endpoint) call(ctx context.Context, payload any, a *Answer, begun time.Time) error {
	t := e.target
	unsent := func(cause error) error {
		failed := seen().Failed(nil, httpclient.CodeUnsent, cause)
		failed.Service, failed.Host, failed.Method, failed.URL = t.service, t.url.Host, t.method, a.URL
		failed.Phase, failed.Elapsed = httpclient.PhasePrepare, time.Since(begun)
		return failed
	}
	if e.closed.Load() {
		return unsent(httpclient.ErrClosed)
	}
	if t.sign != nil {
		ctx = signer.With(ctx, t.sign)
	}
	params := paramsOf(payload)
	to, err := t.where(&params)
	if err != nil {
		return unsent(err)
	}
	a.URL = redact.URL(to)
	if a.Payload, err = prepare(params.Payload, t.contentType, t.limit, t.check); err != nil {
		return unsent(err)
	}
	var sent redact.Collector
	ctx = sent.Within(ctx)
	key := ""
	if t.keys {
		key = rand.Text()
	}
	schedule := retry.Policy{MaxAttempts: 1 + t.retries, Retryable: func(error) bool { return true }}.Start()
	for before := 0; ; before = a.Attempts {
		req, err := t.request(ctx, to, &params, key, a.Payload)
		if err != nil {
			return unsent(err)
		}
		err = e.attempt(req, &sent, a)
		if a.Attempts += before; err == nil || !rest(ctx, schedule, err, req) {
			return err
		}
	}
}

// attempt sends the request, and reads and checks the response.
func (e *Endpoint) attempt(req *http.Request, sent *redact.Collector, a *Answer) error {
	a.RequestHeader, a.Attempts, a.StatusCode, a.Header, a.Body = redactHeader(req.Header), 0, 0, nil, nil
	resp, err := e.client.Do(req)
	for _, name := range sent.Headers() {
		a.RequestHeader.Set(name, redact.Mark)
	}
	a.learn(resp, err)
	if err != nil {
		return err
	}
	if err = checkStatus(resp, sent.Credentials()); err != nil {
		a.learn(nil, err)
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read, or reading it has failed
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return err
	}
	if err = e.target.accepts(a); err != nil {
		return rejected(resp, err, sent.Credentials())
	}
	return nil
}

// accepts calls CheckAnswer, which is the user's code.
func (t *target) accepts(a *Answer) (err error) {
	defer panics.Catch(&err)
	return t.accept(a)
}

func (t *target) request(ctx context.Context, to *url.URL, p *Params, key string, body []byte) (*http.Request, error) {
	var from io.Reader = http.NoBody
	if body != nil {
		from = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, t.method, to.String(), from)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, t.header.Clone())
	if body != nil {
		req.Header.Set("Content-Type", t.contentType)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req, t.with(p, req.Header)
}

// Close closes the endpoint and its own client; running calls then fail. The error is always nil.
func (e *Endpoint) Close() error {
	e.closed.Store(true)
	if e.owned {
		e.client.Close()
	}
	return nil
}
