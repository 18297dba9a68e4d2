package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// answering is a provider that answers each request in the same way.
func answering(status int, body string, header ...string) providertest.Config {
	return providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		f := &providertest.Fault{Status: status, Body: body, Header: http.Header{}}
		for i := 0; i+1 < len(header); i += 2 {
			f.Header.Set(header[i], header[i+1])
		}
		return f
	}}
}

// A call that takes too long names the flag.
func TestACallThatTakesTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: http.StatusOK, Body: "{}", Delay: time.Hour}
	}})
	p.requests(1)
	status, _, errs := p.run("--timeout", "500ms", "--max-attempts", "1")
	assert.Equal(t, 1, status, errs)
	failed := p.lines("r.errors.jsonl")
	require.Len(t, failed, 1)
	assert.Equal(t, "network", failed[0].Error.Code)
	assert.Equal(t, "no complete response within 500ms (--timeout)", failed[0].Error.Message)
}

// RFC 9110, section 15.4.8: a 307 names its target in Location. It is an answer of the service, not a fault of the network.
func TestARedirectIsReportedAsOneAndNotRetried(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://elsewhere.example/v1/chat/completions?a=b": "https://elsewhere.example/v1/chat/completions?a=b",
		"/v2/chat": "/v2/chat", // below the provider
		"":         "",
	} {
		p := newPlace(t, answering(307, "", "Location", location))
		p.requests(1)
		if strings.HasPrefix(want, "/") {
			want = p.provider.URL() + want
		}
		status, _, errs := p.run()
		require.Equal(t, 1, status, errs)
		assert.Equal(t, 1, p.provider.Counts().Arrivals)
		assert.NotContains(t, errs, "item.retry")
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1)
		assert.Nil(t, failed[0].Error)
		assert.Equal(t, 307, failed[0].Response.StatusCode)
		assert.Equal(t, want, failed[0].Response.Location)
		if want == "" {
			assert.Contains(t, errs, "first failure: r0: a redirect (307) without a target")
		} else {
			assert.Contains(t, errs, "first failure: r0: a redirect (307) to "+want)
		}
	}
}

// What cannot be a URL is still a redirect, and a key in it is taken out.
func TestARedirectToNowhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, answering(308, "", "Location", "http://%zz/"))
	p.requests(1)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	assert.Equal(t, 1, p.provider.Counts().Arrivals)
	require.Len(t, p.lines("r.errors.jsonl"), 1)
	assert.Equal(t, 308, p.lines("r.errors.jsonl")[0].Response.StatusCode)

	p = newPlace(t, answering(302, "", "Location", "https://elsewhere.example/?key="+canary))
	p.requests(1)
	status, _, errs = p.run()
	require.Equal(t, 1, status, errs)
	assert.Equal(t, "https://elsewhere.example/?key=REDACTED", p.lines("r.errors.jsonl")[0].Response.Location)
}

// No request succeeded with the wrong URL, so the run may continue with another one.
func TestARunThatOnlyFailedGoesOnWithAnotherBaseURL(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(5)
	wrong := answering(404, "")
	q := newPlace(t, wrong)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", q.provider.URL()+"/v1")
	require.NotZero(t, status, errs)
	assert.Len(t, p.lines("r.errors.jsonl"), 5)
	for range 2 { // the second has nothing to do
		status, _, errs = p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--retry-failed")
		require.Zero(t, status, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 5)
		assert.Empty(t, p.lines("r.errors.jsonl"))
	}
}

// A wrong path on the right host, a model that does not exist, an old URL, the page of a proxy: the rest would fail too.
func TestAnswersThatAreAllTheSameFailureStopTheRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config providertest.Config
		want   string
	}{
		"404": {answering(404, ""), "all failed in the same way: 404: "},
		"404 as a page": {
			answering(404, "<html>not here</html>", "Content-Type", "text/html"), "all failed in the same way: 404: status 404 Not Found. Check --base-url, the url",
		},
		"400": {answering(400, `{"error":{"message":"no such model\nat all"}}`), "all failed in the same way: 400: no such model at all. Check the requests"},
		"200 with an error": {
			answering(200, `{"error":{"message":"no such model"}}`), "all failed in the same way: 200: no such model. Check the requests, in particular their model",
		},
		"403": {answering(403, `{"error":{"message":"not for you"}}`), "all failed in the same way: 403: not for you. Check the permissions of the key"},
		"301": {
			answering(301, "", "Location", "https://h.example/v1"),
			"all failed in the same way: a redirect (301) to https://h.example/v1, which is not followed: set --base-url to the URL of the service itself. Check --base-url (",
		},
		"a page": {
			answering(200, "<html>\n<title>login</title>", "Content-Type", "text/html; charset=utf-8"),
			`all failed in the same way: the response (200, text/html) is not JSON: "<html> <title>login</title>". Check --base-url, and whether a proxy`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tc.config)
			p.requests(2000)
			status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--report", "report.json")
			require.Equal(t, 3, status, errs)
			line := ""
			for one := range strings.Lines(errs) {
				if strings.HasPrefix(one, "headrace: ") {
					assert.Empty(t, line, "one line")
					line = one
				}
			}
			assert.Contains(t, line, "headrace: stopped: the first 20 requests to "+p.provider.URL()+"/v1/chat/completions "+tc.want)
			assert.Regexp(t, `2,000 requests: 0 done, \d+ failed, 1,\d\d\d left, in \S+s`, errs)
			assert.NotRegexp(t, ` in \d+ms`, errs)
			assert.Contains(t, errs, "resume with: headrace run r.jsonl --base-url "+p.provider.URL()+"/v1 --report report.json --retry-failed\n")
			assert.LessOrEqual(t, p.provider.Counts().Arrivals, 1000, "those in flight by then")
			failed := len(p.lines("r.errors.jsonl"))
			assert.GreaterOrEqual(t, failed, 19)
			assert.LessOrEqual(t, failed, p.provider.Counts().Arrivals)
			assert.Empty(t, p.lines("r.results.jsonl"))
			assert.Contains(t, p.read("report.json"), `"reason": "systematic"`)
		})
	}
}

// OpenRouter and MiniMax answer with status 200 and only an error in it.
func TestAnErrorInAnAnswerWithStatus200IsAFailure(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":400,"message":"no such model"}}`:                            "no such model",
		`{"error":"no such model"}`:                                                   "no such model",
		`{"type":"error","error":{"type":"invalid_request_error","message":"wrong"}}`: "wrong",
		`{"base_resp":{"status_code":2013,"status_msg":"invalid params"}}`:            "invalid params",
	} {
		p := newPlace(t, answering(200, body))
		p.requests(1)
		status, _, errs := p.run()
		require.Equal(t, 1, status, errs)
		assert.Equal(t, 1, p.provider.Counts().Arrivals)
		assert.Contains(t, errs, "first failure: r0: "+want)
		assert.Empty(t, p.lines("r.results.jsonl"))
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1)
		assert.Nil(t, failed[0].Error)
		assert.Equal(t, 200, failed[0].Response.StatusCode)
		assert.JSONEq(t, body, string(failed[0].Response.Body))
	}

	p := newPlace(t, answering(200, `{"id":"1","status":"failed","error":{"message":"in a job"}}`))
	p.requests(1)
	status, _, errs := p.run()
	require.Equal(t, 0, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 1, "a record with an error in it is an answer")
}

// The command that is printed sends what is left, and what has failed.
func TestARunThatWasStoppedBySameFailuresGoesOn(t *testing.T) {
	t.Parallel()
	repaired := make(chan struct{})
	p := newPlace(t, missingUntil(repaired))
	p.requests(100)
	status, _, errs := p.run("--concurrency", "1")
	require.Equal(t, 3, status, errs)
	assert.Equal(t, 20, p.provider.Counts().Arrivals)
	assert.Contains(t, errs, "100 requests: 0 done, 19 failed, 81 left")
	close(repaired)
	status, _, errs = p.run("--concurrency", "1", "--retry-failed")
	require.Zero(t, status, errs)
	assert.Equal(t, 100, unique(p.lines("r.results.jsonl")))
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

// A different answer among the first shows that single requests are wrong; --max-failures shows that failures are expected.
func TestFailuresThatDifferOrAreExpectedDoNotStopTheRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		other func() *providertest.Fault // of request 19
		args  []string
	}{
		"a success":       {other: func() *providertest.Fault { return nil }},
		"another failure": {other: func() *providertest.Fault { return &providertest.Fault{Status: 422} }},
		"--max-failures":  {other: func() *providertest.Fault { return &providertest.Fault{Status: 404} }, args: []string{"--max-failures", "100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
				if strings.Contains(r.Messages[0].Content, ">19<") {
					return tc.other()
				}
				return &providertest.Fault{Status: 404}
			}})
			p.requests(60)
			status, _, errs := p.run(append(tc.args, "--concurrency", "1", "--progress", "off")...)
			require.Equal(t, 1, status, errs)
			assert.NotContains(t, errs, " left")
			assert.Equal(t, 60, p.provider.Counts().Arrivals)
		})
	}
}

// Errors arrive at once, and good answers take seconds: the first requests count, and not the first answers.
func TestASlowSuccessAmongQuickFailuresDoesNotStopTheRun(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	many := make(chan struct{})
	p := newPlace(t, providertest.Config{
		Fault: func(r providertest.Request) *providertest.Fault {
			if arrived.Add(1) == 50 {
				close(many)
			}
			if strings.Contains(r.Messages[0].Content, ">0<") {
				return nil
			}
			return &providertest.Fault{Status: 400}
		},
		Reply: func(providertest.Request) string {
			select {
			case <-many:
			case <-t.Context().Done(): // the run was stopped
			}
			return "done"
		},
	})
	p.requests(100)
	status, _, errs := p.run("--concurrency", "4")
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "100 requests: 1 done, 99 failed, in")
}

// Faults that are retried do not count.
func TestFaultsAmongSameFailuresDoNotHideThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if strings.Contains(r.Messages[0].Content, ">7<") {
			return &providertest.Fault{Status: 500}
		}
		return &providertest.Fault{Status: 404}
	}})
	p.requests(60)
	status, _, errs := p.run("--concurrency", "1", "--max-attempts", "1")
	require.Equal(t, 3, status, errs)
	assert.Equal(t, 21, p.provider.Counts().Arrivals)
}

// A request that got no complete response fails with the reason.
func TestResponsesThatBreakOff(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		"": "the connection was closed without a response",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{":                                       "the response could not be read to its end: unexpected EOF",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n{\"choices\":[": "the response could not be read to its end: gzip: invalid header",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, response)
				_ = conn.Close()
			}
		}))
		t.Cleanup(server.Close)
		p := newPlace(t, providertest.Config{})
		p.requests(1)
		status, _, errs := p.do("run", "r.jsonl", "--base-url", server.URL, "--max-attempts", "1")
		assert.NotZero(t, status)
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1, errs)
		assert.Contains(t, failed[0].Error.Message, want)
	}
}

// A response that is too long is not requested again: it was paid for, and the next one would be as long.
func TestResponsesThatAreTooLong(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("y", 1<<20)
	p := newPlace(t, providertest.Config{})
	for status, want := range map[int]string{
		200: "the response is longer than 64 MiB, which is the maximum: request a shorter response",
		500: "the response is longer than 64 MiB, which is the maximum",
	} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			w.WriteHeader(status)
			for range 65 {
				_, _ = io.WriteString(w, part)
			}
		}))
		t.Cleanup(server.Close)
		p.requests(1)
		code, _, errs := p.do("run", "r.jsonl", "--base-url", server.URL, "--max-attempts", "2", "--fresh")
		assert.Equal(t, 1, code, errs)
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1, errs)
		assert.Equal(t, want, failed[0].Error.Message)
		if status == 200 {
			assert.EqualValues(t, 1, calls.Load())
			assert.Equal(t, "response_too_large", failed[0].Error.Code)
		} else {
			assert.EqualValues(t, 2, calls.Load(), "a 500 may be another response next time")
			assert.Equal(t, "network", failed[0].Error.Code)
		}
	}
}

// If all responses are too long, the run stops and names what to change.
func TestResponsesThatAreAllTooLong(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(make([]byte, 64<<20+1))
		_ = packed.Close()
	}))
	t.Cleanup(server.Close)
	p := newPlace(t, providertest.Config{})
	p.requests(40)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", server.URL, "--concurrency", "1", "--max-wait", "1m")
	require.Equal(t, 3, status, errs)
	assert.Contains(t, errs, "all failed in the same way: the response is longer than 64 MiB, which is the maximum: request a shorter response. Check the requests, in particular max_tokens and n (")
}

// A 2xx with a body that is not JSON has no result: the file of results would contain a web page as an answer.
func TestAnAnswerThatIsNotJSONIsAFailure(t *testing.T) {
	t.Parallel()
	bodies := []string{"<html>login</html>", "data: {}\n\ndata: [DONE]\n\n", `{"choices":[`, "OK", "\x1b[2Jno", `"ok"`, "null", " 17\n"}
	const scalars = 3 // at the end: they are JSON
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	bodies = append([]string{deep}, bodies...)
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		for i, body := range bodies {
			if strings.Contains(r.Messages[0].Content, ">"+string(rune('0'+i))+"<") {
				return &providertest.Fault{Status: 200, Body: body}
			}
		}
		return &providertest.Fault{Status: 200, Body: "\uFEFF{}"}
	}})
	p.requests(len(bodies) + 1)
	for range 2 {
		status, _, errs := p.run()
		require.Equal(t, 1, status, errs)
		assert.NotContains(t, errs, "item.retry", "it was answered, and perhaps paid for")
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, len(bodies))
		said := map[string]int{}
		for _, l := range failed {
			assert.Nil(t, l.Response)
			assert.Equal(t, "not_json", l.Error.Code)
			what, _, _ := strings.Cut(l.Error.Message, ": ")
			said[what]++
		}
		assert.Equal(t, map[string]int{
			"the response (200, application/json) is not JSON":                         len(bodies) - scalars - 1,
			"the response (200, application/json) is not JSON of at most 10000 levels": 1,
			"the response (200, application/json) is not a JSON object or array":       scalars,
		}, said)
		assert.Equal(t, len(bodies)+1, p.provider.Counts().Arrivals)
	}
	require.Len(t, p.lines("r.results.jsonl"), 1)
	assert.Equal(t, "{}", string(p.lines("r.results.jsonl")[0].Response.Body))
}

// What a provider, or a line of the requests, says is text and does nothing to the terminal.
func TestTextFromOutsideDoesNotActOnTheTerminal(t *testing.T) {
	t.Parallel()
	const said = `\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e`
	for name, tc := range map[string]struct {
		config providertest.Config
		args   []string
		status int
	}{
		"401":      {config: answering(401, `{"error":{"message":"`+said+`"}}`), status: 1},
		"404":      {config: answering(404, `{"error":{"message":"`+said+`"}}`), status: 3},
		"429":      {config: answering(429, `{"error":{"message":"`+said+`"}}`), args: []string{"--max-wait", "3s", "--max-attempts", "1"}, status: 75},
		"quota":    {config: answering(402, `{"error":{"message":"`+said+`"}}`), status: 1},
		"failures": {config: answering(422, `{"detail":"`+said+`"}`), args: []string{"--max-failures", "1", "--log-format", "json"}, status: 1},
		"a page":   {config: answering(200, "\x1b[2J\u009b31m\x9b", "Content-Type", "text/\u009b"), status: 3},
		"models":   {config: answering(200, "{}"), args: []string{"--dry-run"}, status: 0},
		"a file":   {config: answering(200, "{}"), args: []string{"--config", "\x1b[2J"}, status: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tc.config)
			p.requests(30)
			p.write("r.jsonl", strings.ReplaceAll(p.read("r.jsonl"), `"model":"m"`, `"model":"`+said+`"`))
			status, out, errs := p.run(tc.args...)
			assert.Equal(t, tc.status, status, errs)
			assert.NotContains(t, strings.Map(func(r rune) rune {
				if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
					return -1
				}
				return '!'
			}, out+errs), "!", out+errs)
			assert.True(t, utf8.ValidString(out+errs))
			assert.Regexp(t, `\\(u00|x)1b\[2J`, out+errs, "it is still shown")
		})
	}
}
