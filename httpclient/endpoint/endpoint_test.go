package endpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

func newEndpoint(t *testing.T, c endpoint.Config) *endpoint.Endpoint {
	t.Helper()
	e, err := endpoint.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	return e
}

func TestEndpointChats(t *testing.T) {
	provider, err := providertest.New(providertest.Config{
		Headers: true,
		Reply:   func(r providertest.Request) string { return "key " + r.Header.Get("Authorization") },
	})
	require.NoError(t, err)
	defer provider.Close()
	e := newEndpoint(t, endpoint.Config{
		Name: "chat", Provider: "openai", BaseURL: provider.URL() + "/v1?api-version=7", Path: "chat/completions",
		Secret: httpclient.NewSecret("k1"), Headers: map[string]string{"x-team": "search", "accept": "application/json"},
		IdempotencyKeys: true, Timeout: 20 * time.Second,
	})
	payload := map[string]any{"model": "m", "messages": []any{map[string]string{"role": "user", "content": "hello"}}}
	a, err := e.Call(t.Context(), payload)
	require.NoError(t, err)

	var chat struct {
		Choices []struct{ Message struct{ Content string } }
	}
	require.NoError(t, a.Decode(&chat))
	assert.Equal(t, "key Bearer k1", chat.Choices[0].Message.Content)
	assert.Equal(t, "chat", a.Endpoint)
	assert.NotEmpty(t, a.ID)
	assert.Equal(t, "POST", a.Method)
	assert.Equal(t, provider.URL()+"/v1/chat/completions?api-version=REDACTED", a.URL)
	assert.Equal(t, http.Header{
		"Content-Type": {"application/json"}, "X-Team": {"REDACTED"}, "Accept": {"application/json"},
		"Authorization": {"REDACTED"}, "Idempotency-Key": {"REDACTED"},
	}, a.RequestHeader)
	sent, err := json.Marshal(payload)
	require.NoError(t, err)
	assert.JSONEq(t, string(sent), string(a.Payload))
	assert.Equal(t, 200, a.StatusCode)
	assert.Equal(t, "application/json", a.Header.Get("Content-Type"))
	assert.Equal(t, 1, a.Attempts)
	assert.GreaterOrEqual(t, a.Elapsed, a.Waited)
	assert.Positive(t, a.Waited)
	assert.Nil(t, a.Value)
	assert.Equal(t, "chat", e.Name())
	assert.Equal(t, "chat: POST "+provider.URL()+"/v1/chat/completions?api-version=REDACTED", e.String())

	// What is there suffices to estimate a cost and to learn from the answer.
	read := e.Dialect().Read(time.Now(), a.StatusCode, a.Header, a.Body)
	assert.Equal(t, adaptive.OK, read.Verdict)
	assert.Positive(t, read.Used.Tokens)
	assert.Positive(t, e.Dialect().Estimate(nil, a.Payload).Input)

	b, err := e.Call(t.Context(), payload)
	require.NoError(t, err)
	assert.NotEqual(t, a.ID, b.ID)
	audit := slices.Collect(provider.Ledger().All())
	require.Len(t, audit, 2)
	assert.NotEmpty(t, audit[0].Key)
	assert.NotEqual(t, audit[0].Key, audit[1].Key, "a key for each call")
}

func TestEndpointPayloads(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s|%s|%d", body, r.Header.Get("Content-Type"), r.ContentLength)
	})
	broken := errors.New("broken")
	for _, tc := range []struct {
		name        string
		payload     any
		contentType string
		want        string
		err         string
	}{
		{name: "nil", want: "||0"},
		{name: "bytes", payload: []byte("b"), want: "b|application/json|1"},
		{name: "no bytes", payload: []byte{}, want: "|application/json|0"},
		{name: "text", payload: "<t>", want: "<t>|application/json|3"},
		{name: "raw", payload: json.RawMessage(`{ "a":1}`), want: `{ "a":1}|application/json|8`},
		{name: "reader", payload: struct{ io.Reader }{strings.NewReader("r")}, want: "r|application/json|1"},
		{name: "struct", payload: struct{ A int }{1}, want: `{"A":1}|application/json|7`},
		{name: "number", payload: 7, want: "7|application/json|1"},
		{name: "another JSON", payload: []int{1}, contentType: "application/vnd.api+json; charset=utf-8", want: "[1]|application/vnd.api+json; charset=utf-8|3"},
		{name: "no JSON", payload: "a=b", contentType: "application/x-www-form-urlencoded", want: "a=b|application/x-www-form-urlencoded|3"},
		{name: "struct for no JSON", payload: struct{ A int }{1}, contentType: "text/plain", err: "a struct { A int }, cannot be made text/plain of"},
		{name: "not a number", payload: map[string]float64{"x": math.NaN()}, err: "a map[string]float64, cannot be written as JSON: json: unsupported value: NaN"},
		{name: "function", payload: func() {}, err: "a func(), cannot be written as JSON"},
		{name: "broken reader", payload: io.MultiReader(strings.NewReader("r"), unreadable{broken}), err: "a *io.multiReader, could not be read: broken"},
		{name: "panic", payload: panics{}, err: "panic: in MarshalJSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var told requests
			e := newEndpoint(t, endpoint.Config{Name: "e", BaseURL: s.URL, ContentType: tc.contentType, Config: httpclient.Config{Observer: &told, Service: "s"}})
			a, err := e.Call(t.Context(), tc.payload)
			if tc.err == "" {
				require.NoError(t, err)
				assert.Equal(t, tc.want, string(a.Body))
				assert.Equal(t, a.ID, told.one(t).Request.ID)
				return
			}
			failed := failure(t, err)
			assert.Equal(t, httpclient.CodeUnsent, failed.Code)
			assert.Equal(t, "s", failed.Service, "as in all errors of the client")
			assert.Equal(t, s.URL, failed.URL)
			assert.ErrorContains(t, err, tc.err)
			require.NotNil(t, a)
			assert.Equal(t, "e", a.Endpoint)
			assert.Zero(t, a.Attempts)
			assert.Empty(t, told.all)
			if tc.name == "broken reader" {
				assert.ErrorIs(t, err, broken)
			}
			if tc.name == "panic" {
				panicked, ok := errors.AsType[*fault.PanicError](err)
				require.True(t, ok)
				assert.Contains(t, string(panicked.Stack), "MarshalJSON")
			}
		})
	}
}

type unreadable struct{ err error }

func (f unreadable) Read([]byte) (int, error) { return 0, f.err }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

func TestEndpointReaderIsBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for limit, fits := range map[int64]bool{4: false, 5: true, math.MaxInt64: true} {
		e := newEndpoint(t, endpoint.Config{BaseURL: s.URL, Config: httpclient.Config{MaxRequest: limit}})
		from := &counting{r: strings.NewReader("12345")}
		a, err := e.Call(t.Context(), from)
		if fits {
			require.NoError(t, err)
			assert.Equal(t, "12345", string(a.Body))
			continue
		}
		assert.ErrorIs(t, err, httpclient.CodeBodyLimit)
		assert.LessOrEqual(t, from.n, limit+1, "only enough to see that it is too long")
	}
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestEndpointChecksThePayload(t *testing.T) {
	var sent atomic.Int64
	s := serve(t, func(http.ResponseWriter, *http.Request) { sent.Add(1) })
	bad := errors.New("no model")
	var seen []any
	e := newEndpoint(t, endpoint.Config{BaseURL: s.URL, CheckPayload: func(p any) error {
		seen = append(seen, p)
		switch p {
		case "bad":
			return bad
		case "panic":
			panic(bad)
		}
		return nil
	}})
	for _, payload := range []any{"bad", "panic"} {
		a, err := e.Call(t.Context(), payload)
		assert.ErrorIs(t, err, httpclient.CodeUnsent)
		assert.ErrorIs(t, err, bad)
		assert.NotNil(t, a)
	}
	assert.Zero(t, sent.Load())
	a, err := e.Call(t.Context(), strings.NewReader("read"))
	require.NoError(t, err)
	assert.NotEmpty(t, a.ID, "also of an answer without a body")
	assert.Equal(t, 1, a.Attempts)
	assert.Equal(t, []any{"bad", "panic", []byte("read")}, seen)
	assert.EqualValues(t, 1, sent.Load())
}

func TestEndpointStatus(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", "you sent "+r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"bad key %s"}`, r.Header.Get("X-Api-Key"))
	})
	e := newEndpoint(t, endpoint.Config{Name: "e", BaseURL: s.URL, Secret: httpclient.NewSecret(canary), AuthHeader: "x-api-key"})
	a, err := e.Call(t.Context(), "p")
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeStatus, failed.Code)
	assert.Equal(t, 401, failed.StatusCode)
	assert.Equal(t, "e", failed.Service)
	assert.Equal(t, 401, a.StatusCode)
	assert.Equal(t, `{"error":"bad key REDACTED"}`, string(a.Body))
	assert.Equal(t, "you sent REDACTED", a.Header.Get("X-Echo"))
	assert.Equal(t, a.Body, failed.Body)
	assert.Equal(t, failed.ID, a.ID)
	assert.Equal(t, 1, a.Attempts)
	assert.Positive(t, a.Waited)
	assert.Equal(t, []string{"REDACTED"}, a.RequestHeader["X-Api-Key"])
	found, ok := adaptive.AnswerIn(err)
	assert.True(t, ok)
	assert.Equal(t, 401, found.Status)
	noTrace(t, shows(t, a)+shows(t, failed)+shows(t, *failed)+shows(t, e))
}

// Whatever becomes of a call, no secret is in anything that could be printed.
func TestEndpointSecretCanary(t *testing.T) {
	for name, answers := range map[string]func(net.Conn){
		"answers":   says(ok + "Content-Length: 2\r\n\r\nok"),
		"refuses":   says("HTTP/1.1 401 No\r\nX-K: " + canary + "\r\nContent-Length: 11\r\n\r\n" + canary),
		"hangs up":  says(""),
		"truncates": says(ok + "Content-Length: 9\r\n\r\nabc"),
		"garbage":   says("x " + canary + "\r\n\r\n"),
		"nobody":    nil,
	} {
		for _, auth := range []string{"", "X-Key"} {
			t.Run(name+auth, func(t *testing.T) {
				address := "127.0.0.1:1"
				if answers != nil {
					address = listen(t, answers)
				}
				var told requests
				var log bytes.Buffer
				logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				e := newEndpoint(t, endpoint.Config{
					BaseURL: "http://" + address, Secret: httpclient.NewSecret(canary), AuthHeader: auth,
					Config: httpclient.Config{Observer: event.Tee(&told, event.Slog(logger))},
				})
				a, err := e.Call(t.Context(), "p")
				logger.Info("called", "answer", a, "err", err, "endpoint", e)
				all := log.String() + shows(t, a) + shows(t, e) + shows(t, told.one(t)) + fmt.Sprintf("%+v", *told.one(t).Request)
				if err != nil {
					all += shows(t, err)
					noCanary(t, err)
				}
				noTrace(t, all)
				assert.Equal(t, name != "answers", err != nil)
			})
		}
	}
}

// A failed call reports everything that arrived.
func TestEndpointFailures(t *testing.T) {
	e := newEndpoint(t, endpoint.Config{BaseURL: "http://" + listen(t, says(ok+"X-A: b\r\nContent-Length: 9\r\n\r\nabc"))})
	a, err := e.Call(t.Context(), "p")
	assert.ErrorIs(t, err, httpclient.CodeRead)
	assert.Equal(t, 200, a.StatusCode)
	assert.Equal(t, "b", a.Header.Get("X-A"))
	assert.Equal(t, "abc", string(a.Body))
	assert.Equal(t, failure(t, err).ID, a.ID)
	assert.Positive(t, a.Elapsed)

	e = newEndpoint(t, endpoint.Config{BaseURL: "http://127.0.0.1:1", Secret: httpclient.NewSecret("k")})
	a, err = e.Call(t.Context(), "p")
	assert.ErrorIs(t, err, httpclient.CodeConnect)
	assert.Zero(t, a.StatusCode)
	assert.Equal(t, 1, a.Attempts)
	assert.Positive(t, a.Waited)
	assert.Equal(t, "p", string(a.Payload))
	assert.Equal(t, []string{"REDACTED"}, a.RequestHeader["Authorization"])
	assert.Equal(t, failure(t, err).ID, a.ID)

	e = newEndpoint(t, endpoint.Config{BaseURL: "http://" + listen(t, stalls("")), Timeout: time.Millisecond})
	a, err = e.Call(t.Context(), "p")
	assert.True(t, failure(t, err).Timeout())
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotNil(t, a)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = e.Call(ctx, "p")
	assert.ErrorIs(t, err, httpclient.CodeCanceled)
	assert.ErrorContains(t, err, "enough")

	long := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "123456") })
	e = newEndpoint(t, endpoint.Config{BaseURL: long.URL, MaxResponse: 5})
	a, err = e.Call(t.Context(), nil)
	assert.ErrorIs(t, err, httpclient.CodeBodyLimit)
	assert.Equal(t, "12345", string(a.Body))
	assert.NotContains(t, a.RequestHeader, "Content-Type", "there was no payload")
}

// The key is read at each attempt.
func TestEndpointRotatesKeys(t *testing.T) {
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if len(got) < 2 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, strings.Join(got, " "))
	})
	var n, passed int
	e := newEndpoint(t, endpoint.Config{
		BaseURL: s.URL,
		Secret: httpclient.SecretFunc(func() (string, error) {
			n++
			return fmt.Sprint("key-", n), nil
		}),
		Config: httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{resend(retry.Policy{}), func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				passed++
				return next.RoundTrip(r)
			})
		}}},
	})
	assert.Zero(t, n, "a function is not asked before it has to be")
	a, err := e.Call(t.Context(), "p")
	assert.ErrorIs(t, err, httpclient.CodeStatus)
	assert.Equal(t, []string{"Bearer key-1", "Bearer key-2"}, got)
	assert.Equal(t, 2, a.Attempts)
	assert.Equal(t, 2, passed, "each attempt")
	assert.Equal(t, "Bearer REDACTED Bearer REDACTED", string(a.Body), "of whichever attempt")

	broken := errors.New("no vault")
	e = newEndpoint(t, endpoint.Config{BaseURL: s.URL, Secret: httpclient.SecretFunc(func() (string, error) { return "", broken })})
	a, err = e.Call(t.Context(), "p")
	assert.ErrorIs(t, err, broken)
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.NotContains(t, a.RequestHeader, "Authorization", "there was none")
	assert.Len(t, got, 2)
}

// A secret at the border of what is kept, whole, in parts, or moved there by others that got shorter, and in any spelling.
func TestEndpointHidesBeforeItCuts(t *testing.T) {
	const kept = 64 << 10
	key := `sk/` + canary + `"<&`
	var body string
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, body)
	})
	e := newEndpoint(t, endpoint.Config{BaseURL: s.URL, Secret: httpclient.NewSecret(key)})
	asJSON, err := json.Marshal(key)
	require.NoError(t, err)
	for _, spelt := range []string{key, strings.Trim(string(asJSON), `"`), strings.Trim(strconv.Quote(key), `"`), url.QueryEscape(key), strings.ReplaceAll(key, "/", `\/`)} {
		for _, before := range []int{0, 10, kept - 30, kept - 10, kept - 1, kept, kept + 1, kept + 20, kept + 60} {
			for _, others := range []int{0, 3, 100} {
				front := strings.Repeat(spelt, min(others, before/len(spelt)))
				body = front + strings.Repeat("x", before-len(front)) + spelt + "end"
				a, err := e.Call(t.Context(), nil)
				require.ErrorIs(t, err, httpclient.CodeStatus)
				assert.LessOrEqual(t, len(a.Body), kept)
				assert.NotContains(t, string(a.Body), "sk", "%s at %d after %d", spelt, before, others)
				if before < 100 {
					assert.True(t, strings.HasSuffix(string(a.Body), "REDACTEDend"), "%s", a.Body)
				}
			}
		}
	}
	body = strings.Repeat("x", kept+1000)
	a, err := e.Call(t.Context(), nil)
	require.Error(t, err)
	assert.InDelta(t, kept, len(a.Body), 1000)
}

func TestEndpointDoesNotRetryUnasked(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := newEndpoint(t, endpoint.Config{BaseURL: s.URL}).Call(t.Context(), "p")
	assert.ErrorIs(t, err, httpclient.CodeStatus)
	assert.EqualValues(t, 1, n.Load())
}

// What Config.Wrap sends elsewhere, or leads elsewhere, is not signed.
func TestEndpointSignsForItsOwnHostOnly(t *testing.T) {
	seen := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "auth:"+r.Header.Get("Authorization"))
	}
	mine, other := serve(t, seen), serve(t, seen)
	to, err := url.Parse(other.URL)
	require.NoError(t, err)
	var divert atomic.Bool
	config := endpoint.Config{
		BaseURL: mine.URL, Secret: httpclient.NewSecret("k"),
		Config: httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				assert.Empty(t, r.Header.Get("Authorization"))
				if divert.Load() {
					r = r.Clone(r.Context())
					r.URL.Host = to.Host
				}
				return next.RoundTrip(r)
			})
		}}},
	}
	for header, value := range map[string]string{"": "Bearer k", "authorization": "k"} {
		config.AuthHeader = header
		e := newEndpoint(t, config)
		for diverted, want := range map[bool]string{false: "auth:" + value, true: "auth:"} {
			divert.Store(diverted)
			a, err := e.Call(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, want, string(a.Body))
			assert.Equal(t, !diverted, a.RequestHeader.Get("Authorization") == "REDACTED", "it reports what was sent")
		}
	}
}

func TestEndpointsShareAClient(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+r.URL.Path+r.Header.Get("Authorization"))
	})
	client := newClient(t, func(c *httpclient.Config) {
		c.Sign = httpclient.OnlyTo(s.URL, httpclient.Bearer(httpclient.NewSecret("k")))
	})
	first, err := endpoint.New(endpoint.Config{BaseURL: s.URL, Path: "a", Client: client})
	require.NoError(t, err)
	second := newEndpoint(t, endpoint.Config{BaseURL: s.URL, Path: "/b", Method: "PUT", Client: client})
	for range 2 {
		require.NoError(t, first.Close())
		_, err = first.Call(t.Context(), nil)
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		assert.ErrorIs(t, err, httpclient.CodeUnsent)
	}
	a, err := second.Call(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "PUT/bBearer k", string(a.Body))
	assert.Equal(t, "REDACTED", a.RequestHeader.Get("Authorization"), "the client's signature too")
	assert.Equal(t, "PUT", a.Method)
}

func TestEndpointCloseEndsItsOwnClient(t *testing.T) {
	arrived := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	e := newEndpoint(t, endpoint.Config{BaseURL: s.URL})
	failed := make(chan error)
	go func() {
		_, err := e.Call(t.Context(), nil)
		failed <- err
	}()
	<-arrived
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	assert.ErrorIs(t, <-failed, httpclient.ErrClosed)
	_, err := e.Call(t.Context(), nil)
	assert.ErrorIs(t, err, httpclient.ErrClosed)
}

func TestEndpointIsSafeForConcurrentUse(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, []string{"b"}, r.Header["X-A"])
		assert.Equal(t, []string{"text/plain"}, r.Header["Accept"])
		_, _ = io.Copy(w, r.Body)
	})
	config := endpoint.Config{BaseURL: s.URL, Headers: map[string]string{"X-A": "b", "Accept": "text/plain"}, Secret: httpclient.NewSecret("key"), IdempotencyKeys: true}
	e := newEndpoint(t, config)
	config.Headers["X-A"] = "it has a copy"
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 5 {
				a, err := e.Call(t.Context(), i)
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, strconv.Itoa(i), string(a.Body))
				a.RequestHeader.Set("X-A", "mine")
				a.RequestHeader["Accept"][0] = "mine"
			}
		})
	}
	wg.Wait()
}

func TestEndpointName(t *testing.T) {
	for _, tc := range []struct {
		config endpoint.Config
		name   string
		speaks dialect.Name
	}{
		{endpoint.Config{Name: "n", Provider: "anthropic", BaseURL: "https://h"}, "n", dialect.Anthropic},
		{endpoint.Config{Provider: "groq", BaseURL: "https://h"}, "groq", dialect.Groq},
		{endpoint.Config{BaseURL: "https://api.openai.com:443/v1"}, "api.openai.com:443", dialect.OpenAI},
		{endpoint.Config{BaseURL: "https://h"}, "h", dialect.Auto},
		{endpoint.Config{Provider: "cerebras", BaseURL: "https://h"}, "cerebras", dialect.Cerebras}, // which has no presets
	} {
		e := newEndpoint(t, tc.config)
		assert.Equal(t, tc.name, e.Name())
		assert.Equal(t, tc.speaks, e.Dialect())
	}
}

func TestEndpointURL(t *testing.T) {
	for _, tc := range []struct{ base, path, want string }{
		{"http://h/v1", "/chat/completions", "http://h/v1/chat/completions"},
		{"http://h/v1", "chat/completions", "http://h/v1/chat/completions"},
		{"http://h/v1/", "/chat", "http://h/v1/chat"},
		{"http://h", "chat", "http://h/chat"},
		{"http://h/", "/", "http://h/"},
		{"http://h", "", "http://h"},
		{"http://h/v1/", "", "http://h/v1/"},
		{"http://h/v1", "/", "http://h/v1/"},
		{"http://h/v1", "a/", "http://h/v1/a/"},
		{"http://h/v1", "?", "http://h/v1"},
		{"http://h/a%2Fb", "c%2Fd", "http://h/a%2Fb/c%2Fd"},
		{"http://h/v1", "models/m:generate", "http://h/v1/models/m:generate"},
		{"http://h/v1", "m:generate", "http://h/v1/m:generate"},
		{"http://h:8080/v1", "a", "http://h:8080/v1/a"},
		{"http://[fe80::1%25en0]:80/v1", "a", "http://[fe80::1%25en0]:80/v1/a"},
		{"http://h/v1", "ü", "http://h/v1/%C3%BC"},
	} {
		e := newEndpoint(t, endpoint.Config{Name: "e", BaseURL: tc.base, Path: tc.path})
		assert.Equal(t, "e: POST "+tc.want, e.String(), "%q %q", tc.base, tc.path)
	}
}

// The server gets the segments and the query of both, in order, each as it was written.
func TestEndpointURLProperty(t *testing.T) {
	type seen struct{ path, query string }
	var mu sync.Mutex
	var got seen
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = seen{r.URL.EscapedPath(), r.URL.RawQuery}
	})
	client := newClient(t, nil)
	segment := rapid.StringMatching(`([a-z]|%2F|%20|:|~|\.[a-z]){1,4}`)
	pair := rapid.StringMatching(`[a-z]=[a-z%&=?/]{0,3}`)
	rapid.Check(t, func(rt *rapid.T) {
		below, path := rapid.SliceOfN(segment, 0, 3).Draw(rt, "base"), rapid.SliceOfN(segment, 1, 3).Draw(rt, "path")
		queries := rapid.SliceOfN(pair, 2, 2).Draw(rt, "queries")
		for i := range queries {
			if rapid.Bool().Draw(rt, "no query") || strings.Contains(queries[i], "%") {
				queries[i] = ""
			}
		}
		mark := func(q string) string {
			if q == "" {
				return ""
			}
			return "?" + q
		}
		base, rest := s.URL, strings.Join(path, "/")
		if len(below) > 0 {
			base += "/" + strings.Join(below, "/")
		}
		if rapid.Bool().Draw(rt, "slash at the end") {
			base += "/"
		}
		if rapid.Bool().Draw(rt, "slash at the beginning") {
			rest = "/" + rest
		}
		e, err := endpoint.New(endpoint.Config{BaseURL: base + mark(queries[0]), Path: rest + mark(queries[1]), Client: client})
		require.NoError(rt, err)
		_, err = e.Call(t.Context(), nil)
		require.NoError(rt, err)
		want := seen{path: "/" + strings.Join(append(below, path...), "/")}
		want.query = strings.Trim(queries[0]+"&"+queries[1], "&")
		mu.Lock()
		defer mu.Unlock()
		require.Equal(rt, want, got)
	})
}

func TestEndpointConfigProblems(t *testing.T) {
	type config = endpoint.Config
	key := httpclient.NewSecret(canary)
	client := newClient(t, nil)
	strict := gated(t, &httpclient.Gate{Deny: []string{"h.example"}}, nil)
	for _, tc := range []struct {
		name   string
		config config
		field  string
		text   string
	}{
		{"no URL", config{}, "BaseURL", "is missing"},
		{"bad URL", config{BaseURL: "http://%zz" + canary}, "BaseURL", "is not a URL"},
		{"bad port", config{BaseURL: "http://u:" + canary}, "BaseURL", "is not a URL"},
		{"no scheme", config{BaseURL: "api.openai.com/v1"}, "BaseURL", "its scheme is neither"},
		{"another scheme", config{BaseURL: "ftp://h"}, "BaseURL", "its scheme is neither"},
		{"no host", config{BaseURL: "http:///v1"}, "BaseURL", "has no host"},
		{"a port alone", config{BaseURL: "http://:80/v1"}, "BaseURL", "has no host"},
		{"a port too high", config{BaseURL: "http://127.0.0.1:99999"}, "BaseURL", "its port is invalid"},
		{"no port", config{BaseURL: "http://h:0"}, "BaseURL", "its port is invalid"},
		{"refused by the gate", config{BaseURL: "http://h.example", Config: httpclient.Config{Gate: &httpclient.Gate{}}}, "BaseURL", `is rejected by rule "scheme"`},
		{"refused by the client's gate", config{BaseURL: "https://h.example", Client: strict}, "BaseURL", `is rejected by rule "denied"`},
		{"a gate that is none", config{Config: httpclient.Config{Gate: &httpclient.Gate{Ports: []uint16{0}}}}, "Gate.Ports", "is not a port"},
		{"a user", config{BaseURL: "http://u:" + canary + "@h"}, "BaseURL", "has a user"},
		{"a fragment", config{BaseURL: "http://h#x"}, "BaseURL", "has a fragment"},
		{"an empty fragment", config{BaseURL: "http://h#"}, "BaseURL", "has a fragment"},
		{"path with a fragment", config{Path: "a#b"}, "Path", "has a fragment"},
		{"path with a host", config{Path: "//evil/x"}, "Path", "is a URL of its own"},
		{"path with a scheme", config{Path: "https://evil/x"}, "Path", "is a URL of its own"},
		{"path that climbs", config{Path: "a/../../b"}, "Path", "has a segment of dots"},
		{"path that climbs in disguise", config{Path: "%2e%2E/b"}, "Path", "has a segment of dots"},
		{"path that climbs the other way", config{Path: `a\..\b`}, "Path", "has a segment of dots"},
		{"path that stays", config{Path: "./b"}, "Path", "has a segment of dots"},
		{"URL with a space", config{BaseURL: "http://h/?a= b"}, "BaseURL", "has white space"},
		{"path with a space", config{Path: "a?b= c"}, "Path", "it is not a URL path"},
		{"path that is none", config{Path: "a%zz"}, "Path", "it is not a URL path"},
		{"path with a line break", config{Path: "a\nb"}, "Path", "it is not a URL path"},
		{"provider misspelt", config{Provider: "opnai"}, "Provider", "did you mean openai"},
		{"provider unknown", config{Provider: "zzzzzzzzzz"}, "Provider", "is not a provider of the presets; want"},
		{"lower case", config{Method: "post"}, "Method", "upper case"},
		{"a method of proxies", config{Method: "CONNECT"}, "Method", "is for proxies"},
		{"no method", config{Method: "GET /"}, "Method", "not an HTTP method"},
		{"content type", config{ContentType: "json;;"}, "ContentType", "not a media type"},
		{"auth unknown", config{Auth: "baerer", Secret: key}, "Auth", "did you mean bearer?"},
		{"auth unheard of", config{Auth: "?", Secret: key}, "Auth", "want bearer, header, none"},
		{"none, and a secret", config{Auth: "none", Secret: key}, "Auth", "contradicts Secret"},
		{"bearer without", config{Auth: "bearer"}, "Secret", "is missing"},
		{"header without", config{Auth: "header", AuthHeader: "X-Key"}, "Secret", "is missing"},
		{"header without a name", config{Auth: "header", Secret: key}, "AuthHeader", "is missing"},
		{"header with a bad name", config{AuthHeader: "x y", Secret: key}, "AuthHeader", "not a header name"},
		{"header of net/http", config{AuthHeader: "content-length", Secret: key}, "AuthHeader", "not a header for a secret"},
		{"header of the endpoint", config{AuthHeader: "Content-Type", Secret: key}, "AuthHeader", "not a header for a secret"},
		{"header of the connection", config{AuthHeader: "Proxy-Authorization", Secret: key}, "AuthHeader", "not a header for a secret"},
		{"header that is shown", config{AuthHeader: "Accept", Secret: key}, "AuthHeader", "not a header for a secret"},
		{"bearer, and a name", config{Auth: "bearer", AuthHeader: "x", Secret: key}, "AuthHeader", "contradicts Auth"},
		{"variable not set", config{Secret: httpclient.SecretFromEnv("HEADRACE_NO_SUCH")}, "Secret", `the environment variable "HEADRACE_NO_SUCH" is not set`},
		{"secret with a line break", config{Secret: httpclient.NewSecret(canary + "\n")}, "Secret", "it begins or ends with white space"},
		{"header name", config{Headers: map[string]string{"a b": "c"}}, "Headers", "not a header name"},
		{"header value", config{Headers: map[string]string{"a": canary + "\n"}}, "Headers[a]", "the value begins or ends"},
		{"header value with a control character", config{Headers: map[string]string{"a": "b\x00" + canary}}, "Headers[a]", "the value has a control"},
		{"header twice", config{Headers: map[string]string{"x-a": "b", "X-A": "b"}}, "Headers[x-a]", "is X-A again"},
		{"bearer twice", config{Secret: key, Headers: map[string]string{"authorization": "x"}}, "Headers[authorization]", "is the header in which Auth sends the Secret"},
		{"key twice", config{Secret: key, AuthHeader: "x-key", Headers: map[string]string{"X-KEY": "x"}}, "Headers[X-KEY]", "is the header in which Auth sends the Secret"},
		{"secret in a header", config{Secret: key, Headers: map[string]string{"X-B": "a" + canary}}, "Headers[X-B]", "contains the Secret"},
		{"secret in the URL", config{Secret: key, Path: "a?key=" + canary}, "BaseURL", "contains the Secret"},
		{"content type twice", config{Headers: map[string]string{"Content-type": "x"}}, "Headers[Content-type]", "ContentType"},
		{"one key for all", config{Headers: map[string]string{"Idempotency-Key": "x"}}, "Headers[Idempotency-Key]", "IdempotencyKeys"},
		{"length", config{Headers: map[string]string{"content-length": "1"}}, "Headers[content-length]", "net/http"},
		{"one id for all", config{Headers: map[string]string{"x-correlation-id": "1"}}, "Headers[x-correlation-id]", "the same for all calls"},
		{"a run", config{Headers: map[string]string{"X-Run-Id": "1"}}, "Headers[X-Run-Id]", "Config.RunID"},
		{"of the connection", config{Headers: map[string]string{"Upgrade": "h2c"}}, "Headers[Upgrade]", "is for the connection"},
		{"host", config{Headers: map[string]string{"host": "h"}}, "Headers[host]", "net/http"},
		{"negative timeout", config{Timeout: -1}, "Timeout", "want a positive duration"},
		{"negative limit", config{MaxResponse: -1}, "MaxResponse", "want at least 1"},
		{"timeout twice", config{Timeout: 1, Config: httpclient.Config{Timeouts: httpclient.Timeouts{Call: 1}}}, "Timeout", "contradicts Config.Timeouts.Call"},
		{"timeout and none", config{Timeout: 1, Config: httpclient.Config{Timeouts: httpclient.Timeouts{NoCall: true}}}, "Timeout", "contradicts Config.Timeouts.NoCall"},
		{"limit twice", config{MaxResponse: 1, Config: httpclient.Config{MaxResponse: 1}}, "MaxResponse", "contradicts Config.MaxResponse"},
		{"signed twice", config{Secret: key, Config: httpclient.Config{Sign: func(*http.Request) error { return nil }}}, "Secret", "contradicts Config.Sign"},
		{"bad config", config{Config: httpclient.Config{MaxHeader: -1}}, "MaxHeader", "want at least 1"},
		{"client and config", config{Client: client, Config: httpclient.Config{NoIDs: true}}, "Config", "contradicts Client"},
		{"client and secret", config{Client: client, Secret: key}, "Secret", "contradicts Client"},
		{"client and auth", config{Client: client, Auth: "bearer"}, "Auth", "contradicts Client"},
		{"client and header", config{Client: client, AuthHeader: "X-Api-Key"}, "AuthHeader", "contradicts Client"},
		{"client and timeout", config{Client: client, Timeout: 1}, "Timeout", "contradicts Client"},
		{"client and limit", config{Client: client, MaxResponse: 1}, "MaxResponse", "contradicts Client"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.config.BaseURL == "" && tc.name != "no URL" {
				tc.config.BaseURL = "https://h/v1"
			}
			if tc.name == "client and secret" {
				tc.config.Auth = ""
			}
			e, err := endpoint.New(tc.config)
			assert.Nil(t, e)
			var field *fault.FieldError
			require.ErrorAs(t, err, &field)
			assert.Equal(t, tc.field, field.Field)
			assert.Contains(t, field.Problem, tc.text)
			joined, is := err.(interface{ Unwrap() []error })
			require.True(t, is)
			assert.Len(t, joined.Unwrap(), 1, "exactly one problem: %v", err)
			noCanary(t, err)
			noTrace(t, err.Error())
		})
	}
	_, err := endpoint.New(config{Name: "chat", Method: "get", Timeout: -1})
	assert.EqualError(t, err, `endpoint "chat": BaseURL: is missing; want such as https://api.example.com/v1
endpoint "chat": Method: "get" is not an HTTP method; want one such as POST, in upper case
endpoint "chat": Timeout: -1ns; want a positive duration, or 0 for that of Config`)
	_, err = endpoint.New(config{BaseURL: "http://h", Config: httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{
		func(http.RoundTripper) http.RoundTripper { return nil },
	}}})
	assert.ErrorContains(t, err, "Wrap[0]")
}

func TestAnswerDecode(t *testing.T) {
	type point struct{ X int }
	for _, tc := range []struct {
		name   string
		answer endpoint.Answer
		want   int
		err    string
	}{
		{name: "body", answer: endpoint.Answer{Body: []byte(`{"X":1}`)}, want: 1},
		{name: "value", answer: endpoint.Answer{Value: point{2}, Body: []byte("no JSON")}, want: 2},
		{name: "another value", answer: endpoint.Answer{Value: map[string]int{"x": 3}}, want: 3},
		{name: "another value with its JSON", answer: endpoint.Answer{Value: 7, Body: []byte(`{"X":4}`)}, want: 4},
		{name: "nothing", answer: endpoint.Answer{Endpoint: "e"}, err: "endpoint: e: the answer cannot be decoded into a *endpoint_test.point: there is no body"},
		{name: "no JSON", answer: endpoint.Answer{Body: []byte("<html>")}, err: "invalid character"},
		{name: "no JSON in the value", answer: endpoint.Answer{Value: func() {}}, err: "unsupported type"},
	} {
		var p point
		err := tc.answer.Decode(&p)
		if tc.err != "" {
			assert.ErrorContains(t, err, tc.err, tc.name)
			continue
		}
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, p.X, tc.name)
	}
	for _, v := range []any{nil, point{}, (*point)(nil)} {
		assert.ErrorContains(t, (&endpoint.Answer{Body: []byte("{}")}).Decode(v), "wants a pointer")
	}
}

func TestEndpointsOfProvidersWithoutPresets(t *testing.T) {
	for _, provider := range []string{"ollama", "exa"} {
		e := newEndpoint(t, endpoint.Config{Provider: provider, BaseURL: "http://localhost:11434"})
		assert.Equal(t, provider, e.Name())
		assert.Equal(t, dialect.Name(provider), e.Dialect())
	}
}

// With an error, Get returns the zero value, not a partly decoded one.
func TestGet(t *testing.T) {
	type answer struct {
		Text string
		N    int
	}
	for text, want := range map[string]answer{`{"text":"a","n":1}`: {"a", 1}, `{"text":"a","n":"x"}`: {}} {
		f, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "f"}, func(context.Context, int) (json.RawMessage, error) { return json.RawMessage(text), nil })
		require.NoError(t, err)
		got, err := endpoint.Get[answer](t.Context(), f, 1)
		assert.Equal(t, want == answer{}, err != nil)
		assert.Equal(t, want, got)
		require.NoError(t, f.Close())
		_, err = endpoint.Get[answer](t.Context(), f, 1)
		assert.ErrorIs(t, err, httpclient.ErrClosed)
	}
}
