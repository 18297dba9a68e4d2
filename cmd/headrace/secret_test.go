package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// echo answers with the key wherever it can, as the prompt says. What has got a 429 fails when it is retried.
type echo struct{ limited atomic.Bool }

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var body struct {
		Messages []struct{ Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	how := body.Messages[0].Content
	text := fmt.Sprintf(`{"id":%q,"error":{"message":"wrong key %[1]s","code":%[1]q},"choices":[{"message":{"content":%[1]q}}]}`, key)
	if how == "escaped" {
		var escaped strings.Builder
		for i := range len(key) {
			fmt.Fprintf(&escaped, `\u%04x`, key[i])
		}
		text = strings.ReplaceAll(text, key, escaped.String())
	}
	if how == "broken" {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", key)
			_ = conn.Close()
		}
		return
	}
	for _, name := range []string{"X-Request-Id", "Retry-After", "Location", "Warning", "X-Ratelimit-Limit-Requests", "Set-Cookie"} {
		w.Header().Set(name, key)
	}
	status, err := strconv.Atoi(how)
	if err != nil || status == http.StatusTooManyRequests && e.limited.Swap(true) {
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// A provider that repeats the key in headers, bodies and broken answers brings it into no file and no output.
func TestTheKeyIsTakenOut(t *testing.T) {
	t.Parallel()
	for _, given := range [][]string{{"--api-key-env", "KEY"}, {"--header", "Authorization: Bearer " + canary}} {
		for _, hows := range [][]string{{"200", "400", "500", "302", "escaped", "broken"}, {"429"}, {"401"}, {"402"}} {
			server := httptest.NewServer(new(echo))
			t.Cleanup(server.Close)
			p := newPlace(t, providertest.Config{}) // it looks for the key in all files
			var lines strings.Builder
			for i, how := range hows {
				lines.WriteString(strings.Replace(request(i), fmt.Sprintf("Tell <b>%d</b>.", i), how, 1))
			}
			p.write("r.jsonl", lines.String())
			_, _, errs := p.do(append([]string{
				"run", "r.jsonl", "--base-url", server.URL, "--log-level", "debug", "--report", "report.json", "--max-attempts", "1",
			}, given...)...)
			said := p.read("report.json") + errs
			if len(hows) > 1 {
				said += p.read("r.results.jsonl") + p.read("r.errors.jsonl")
			}
			assert.Contains(t, said, "REDACTED", hows)
			assert.NotContains(t, strings.ToLower(said), `\u0073\u006b`, hows) // sk, as JSON may spell it
		}
	}
}

// A key in the url of the lines is sent, and appears in no output and no file.
func TestAKeyInTheURLOfTheLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault { return &providertest.Fault{Status: 404} }})
	p.requests(20)
	lines := strings.ReplaceAll(p.read("r.jsonl"), "/v1/chat/completions", "/v1/chat/completions?key="+canary+"&v=2")
	cmd := p.command("run", "-", "--base-url", p.provider.URL()+"/v1", "--log-level", "debug", "--report", "report.json")
	cmd.Stdin = strings.NewReader(lines)
	require.NoError(t, os.Remove(p.path("r.jsonl")))
	status, _, errs := p.end(cmd, cmd.Run)
	require.Equal(t, 3, status, errs)
	assert.Contains(t, errs, p.provider.URL()+"/v1/chat/completions?key=REDACTED&v=REDACTED all failed in the same way: 404")
}

// net/http logs what follows a response on its connection. That is text of the provider, which may repeat the key.
func TestNothingAfterAResponseIsPrinted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}%s", r.Header.Get("Authorization"))
			_ = conn.Close()
		}
	}))
	t.Cleanup(server.Close)
	p := newPlace(t, providertest.Config{})
	p.requests(20)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", server.URL, "--api-key-env", "KEY", "--concurrency", "1")
	assert.Zero(t, status, errs)
	assert.NotContains(t, errs, "Unsolicited response")
}

// A key that is no secret, as local services want, stays a word in the answers.
func TestAWordForAKey(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	p.env = []string{"WORD=Tell"}
	status, _, errs := p.run("--api-key-env", "WORD")
	require.Zero(t, status, errs)
	assert.Contains(t, p.read("r.results.jsonl"), "Tell")
}
