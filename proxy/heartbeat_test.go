package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/proxy"
)

func TestHeartbeats(t *testing.T) {
	const stream = `{"model":"m","messages":[{"stream":false}],"stream": true}`
	events := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(25 * time.Second)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: 1\n\n")
	}
	refuses := func(kind, text string) handler {
		return func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, text)
		}
	}
	large := strings.Repeat("word ", 1<<18)
	const beats = ": headrace waiting\n\n: headrace waiting\n\n: headrace waited 0.000 s, attempts 1\n\n"
	for about, c := range map[string]struct {
		path, body string
		upstream   handler
		every      time.Duration
		status     int
		want       string
	}{
		"a stream":          {"/openai/v1", stream, events, 10 * time.Second, 200, beats + "data: 1\n\n"},
		"off":               {"/openai/v1", stream, events, 0, 200, "data: 1\n\n"},
		"in time":           {"/openai/v1", stream, events, 26 * time.Second, 200, "data: 1\n\n"},
		"no stream":         {"/openai/v1", `{"stream":false,"messages":[{"stream":true}]}`, events, 10 * time.Second, 200, "data: 1\n\n"},
		"Gemini's":          {"/gemini/v1beta/models/m:streamGenerateContent?alt=sse", `{}`, events, 10 * time.Second, 200, beats + "data: 1\n\n"},
		"Gemini's list":     {"/gemini/v1beta/models/m:streamGenerateContent", `{}`, events, 10 * time.Second, 200, "data: 1\n\n"},
		"an error, in time": {"/openai/v1", stream, refuses("application/json", `{"error":{}}`), time.Minute, 400, `{"error":{}}`},
		"an error, late":    {"/openai/v1", stream, refuses("application/json", "{\n \"error\": {}\n}"), 10 * time.Second, 200, beats + "event: error\ndata: {\"error\":{}}\n\n"},
		"an answer that is no event": {"/anthropic/v1", stream, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			_, _ = io.WriteString(w, "{half")
		}, 10 * time.Second, 200, beats + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"headrace: anthropic answered with the status 200, and not with events\",\"code\":\"headrace_upstream_unreachable\"}}\n\n"},
		"an answer that is JSON": {"/anthropic/v1", stream, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			_, _ = io.WriteString(w, "{}")
		}, 10 * time.Second, 200, beats + "data: {}\n\n"},
		"a large answer that is JSON": {"/openai/v1", stream, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			_, _ = io.WriteString(w, `"`+large+`"`)
		}, 10 * time.Second, 200, beats + `data: "` + large + "\"\n\n"},
		"an answer that is too large": {"/openai/v1", stream, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			_, _ = io.WriteString(w, `"`+strings.Repeat(large, 16)+`"`)
		}, 10 * time.Second, 200, beats + "event: error\ndata: {\"error\":{\"message\":\"headrace: openai answered with the status 200, and with more than 16 MiB that are not events, which is the maximum after a heartbeat\"," +
			"\"type\":\"headrace_error\",\"param\":null,\"code\":\"headrace_upstream_unreachable\"}}\n\n"},
		"a large error": {
			"/openai/v1", stream, refuses("application/json", `{"error":"`+large+`"}`), 10 * time.Second, 200,
			beats + `event: error` + "\n" + `data: {"error":"` + large + "\"}\n\n",
		},
		"an error that is no JSON": {"/anthropic/v1", stream, refuses("text/html", "<html>"), 10 * time.Second, 200, beats + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"headrace: anthropic answered with the status 400, and not with events\",\"code\":\"headrace_upstream_unreachable\"}}\n\n"},
	} {
		for _, headers := range [][]string{nil, {"Idempotency-Key", "k1"}} {
			t.Run(about+strings.Join(headers, " "), func(t *testing.T) {
				inBubble(t, proxy.Config{Heartbeat: c.every, Upstreams: shaped("http://up.test")}, c.upstream, func(s *bubble) {
					t := s.t
					got := s.get(t, c.path, c.body, headers...)

					assert.Equal(t, c.status, got.status)
					assert.Equal(t, c.want, got.body)
				})
			})
		}
	}
}

func TestHeartbeatsOfAClientThatLeaves(t *testing.T) {
	inBubble(t, proxy.Config{Heartbeat: time.Second}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := s.do(s.request(ctx, "/up/v1", `{"stream":true}`))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		assert.Zero(t, s.proxy.Stats().Active)
	})
}

func TestALateErrorOfTheProxyIsAnEvent(t *testing.T) {
	c := proxy.Config{Heartbeat: 10 * time.Second, Upstreams: shaped("http://up.test"), Policy: guard.Policy{Timeout: 15 * time.Second}}
	inBubble(t, c, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(s *bubble) {
		t := s.t
		got := s.get(t, "/anthropic/v1", `{"stream":true}`)

		assert.Equal(t, http.StatusOK, got.status)
		assert.True(t, strings.HasPrefix(got.body, ": headrace waiting\n\n"))
		assert.Contains(t, got.body, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\",")
		assert.Contains(t, got.body, `"code":"headrace_upstream_timeout"`)
	})
}
