package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets/dialect"
)

// breaking is a dialect with a Read that calls breaks the nth time.
type breaking struct {
	dialect.Dialect

	breaks func()
	nth    int64
	reads  atomic.Int64
}

func (b *breaking) Read(now time.Time, status int, h http.Header, body []byte) adaptive.Feedback {
	if b.reads.Add(1) == b.nth {
		b.breaks()
	}
	return b.Dialect.Read(now, status, h, body)
}

// closes counts the calls of Close.
type closes struct {
	io.Reader

	n atomic.Int64
}

func (c *closes) Close() error { c.n.Add(1); return nil }

// A slot comes back, and a connection too, whatever a dialect does and whenever that is.
func TestADialectThatBreaksLosesNoSlot(t *testing.T) {
	kinds := map[string]func(){"panic": func() { panic("broken") }, "runtime.Goexit": runtime.Goexit}
	ends := map[string]func(resp *http.Response, cancel func()){
		"read":      func(resp *http.Response, _ func()) { _, _ = io.ReadAll(resp.Body) },
		"closed":    func(resp *http.Response, _ func()) { _ = resp.Body.Close() },
		"cancelled": func(_ *http.Response, cancel func()) { cancel() },
	}
	for about, breaks := range kinds {
		for ended, end := range ends {
			for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
				for nth := range int64(3) {
					synctest.Test(t, func(t *testing.T) {
						l, b := limiter(t)
						d := &breaking{Dialect: dialect.OpenAI, breaks: breaks, nth: nth + 1}
						body := &closes{Reader: http.NoBody}
						rt := under(tripper(func(*http.Request) (*http.Response, error) {
							resp := answer(status, "Content-Type: text/event-stream", "")
							resp.Body, resp.ContentLength = body, -1
							return resp, nil
						}), "", l, guard.Policy{Dialect: d})
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						req, err := http.NewRequestWithContext(ctx, http.MethodGet, secretURL, http.NoBody)
						require.NoError(t, err)
						returned := false
						go func() {
							defer func() { _ = recover() }()
							resp, err := rt.RoundTrip(req) //nolint:bodyclose // it may have to stay open
							if err == nil {
								returned = true
								end(resp, cancel)
							}
						}()
						synctest.Wait()
						assert.Zero(t, l.Stats().InFlight, "%s, %s, %d, %d", about, ended, status, nth)
						assert.Len(t, b.ended(), 1)
						if !returned {
							assert.Positive(t, body.n.Load(), "%s, %s, %d, %d: the body of a response that was not returned", about, ended, status, nth)
						}
					})
				}
			}
		}
	}
}

// The trace of a call does not end as a success if the dialect could not read the end of the answer.
func TestTheTraceOfADialectThatBreaks(t *testing.T) {
	m := &modelTracer{wanted: true}
	l, _ := limiter(t)
	d := &breaking{Dialect: dialect.OpenAI, breaks: func() { panic("broken") }, nth: 2}
	client := &http.Client{Transport: under(tripper(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, "Content-Type: text/event-stream", "data: {}\n\n"), nil
	}), "", l, guard.Policy{Dialect: d, Observer: m})}
	resp := post(t, client, "https://h/v1/chat/completions", `{"model":"m"}`) //nolint:bodyclose // it is closed below
	assert.PanicsWithValue(t, "broken", func() { _, _ = io.ReadAll(resp.Body) })
	require.NoError(t, resp.Body.Close())
	require.Len(t, m.ended, 1)
	assert.ErrorContains(t, m.ended[0].Err, "the dialect did not return")
}

// After a panic in WithinOf the request is not sent and its body is closed, so that a writer does not wait for ever.
func TestAHookThatBreaksClosesTheRequestBody(t *testing.T) {
	rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	}), "", headrace.WithinOf(func(*http.Request) *guard.Guard { panic("broken") }))
	for _, length := range []int64{-1, 2} {
		body := &closes{Reader: strings.NewReader("{}")}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, body)
		require.NoError(t, err)
		req.ContentLength = length
		assert.PanicsWithValue(t, "broken", func() { _, _ = rt.RoundTrip(req) }) //nolint:bodyclose // there is none
		assert.Equal(t, int64(1), body.n.Load(), length)
	}
}
