package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

func TestCheck(t *testing.T) {
	s := start(t, text(limits))
	a := s.post("check", `{"identifier":"alice","resource":"search"}`)
	assert.Equal(t, http.StatusOK, a.status)
	assert.Equal(t, true, a.json["allowed"])
	assert.InDelta(t, 9, a.json["tokens_remaining"], 0)
	assert.InDelta(t, 10, a.json["tokens_capacity"], 0)
	assert.InDelta(t, 0, a.json["retry_after_seconds"], 0)
	assert.Equal(t, false, a.json["degraded"])
	assert.NotContains(t, a.json, "error")
	assert.NotEmpty(t, a.json["permit"])
	at, err := time.Parse(time.RFC3339Nano, a.json["reset_at"].(string))
	require.NoError(t, err)
	assert.WithinRange(t, at, time.Now().Add(900*time.Second), time.Now().Add(1001*time.Second))
	assert.Equal(t, "10", a.header.Get("X-RateLimit-Limit"))
	assert.Equal(t, "9", a.header.Get("X-RateLimit-Remaining"))
	reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
	require.NoError(t, err)
	assert.InDelta(t, at.Unix(), reset, 1)
	assert.Empty(t, a.header.Get("Retry-After"))
	assert.Empty(t, a.header.Get("X-RateLimit-Degraded"))

	a = s.post("check", `{"identifier":"alice","resource":"search","tokens":10}`)
	assert.Equal(t, http.StatusTooManyRequests, a.status)
	assert.Equal(t, false, a.json["allowed"])
	assert.Equal(t, "RATE_LIMIT_EXCEEDED", a.json["error"].(map[string]any)["code"])
	assert.NotContains(t, a.json, "permit")
	wait := a.json["retry_after_seconds"].(float64)
	assert.InDelta(t, 1000, wait, 60)
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, float64(seconds), wait)
	assert.Less(t, float64(seconds), wait+1)
}

// Retry-After is a whole number of seconds, and at least one.
func TestRetryAfterIsAtLeastASecond(t *testing.T) {
	s := start(t, text("default: {capacity: 1, refill_rate: 2}"))
	var a answer
	for a.status != http.StatusTooManyRequests {
		a = s.post("check", `{"identifier":"alice","resource":"x"}`)
	}
	assert.Equal(t, "1", a.header.Get("Retry-After"))
	assert.LessOrEqual(t, a.json["retry_after_seconds"], 0.5)
}

// The fields of the draft are structured fields with the parameters that it names.
func TestRateLimitFields(t *testing.T) {
	s := start(t, text(limits))
	a := s.post("check", `{"scope":"org","identifier":"7","resource":"x","tokens":2}`)
	policy, err := httpsfv.UnmarshalList(a.header.Values("RateLimit-Policy"))
	require.NoError(t, err)
	left, err := httpsfv.UnmarshalList(a.header.Values("RateLimit"))
	require.NoError(t, err)
	require.Len(t, policy, 2)
	require.Len(t, left, 2)
	for i, want := range []struct {
		name       string
		q, w, r, t int64
	}{{"org/1h0m0s", 5, 3600, 3, 3600}, {"org/24h0m0s", 300, 86400, 298, 86400}} {
		p, l := policy[i].(httpsfv.Item), left[i].(httpsfv.Item)
		assert.Equal(t, want.name, p.Value)
		assert.Equal(t, want.name, l.Value)
		for item, params := range map[httpsfv.Item]map[string]int64{p: {"q": want.q, "w": want.w}, l: {"r": want.r, "t": want.t}} {
			for name, n := range params {
				got, ok := item.Params.Get(name)
				require.True(t, ok, name)
				assert.Equal(t, n, got, name)
			}
		}
	}
}

func TestOneShotHasNoRetryAfter(t *testing.T) {
	s := start(t, text(limits))
	a := s.post("check", `{"scope":"trial","identifier":"a","resource":"x","tokens":3}`)
	assert.Equal(t, http.StatusOK, a.status)
	a = s.post("check", `{"scope":"trial","identifier":"a","resource":"x"}`)
	assert.Equal(t, http.StatusTooManyRequests, a.status)
	assert.Contains(t, a.json, "retry_after_seconds")
	assert.Nil(t, a.json["retry_after_seconds"])
	assert.Nil(t, a.json["reset_at"])
	assert.Empty(t, a.header.Get("Retry-After"))
	assert.Equal(t, `"trial";q=3`, a.header.Get("RateLimit-Policy"))
}

func TestCheckAll(t *testing.T) {
	s := start(t, text(limits))
	for _, body := range []string{
		`[{"scope":"user","identifier":"a1","resource":"search","tokens":2},{"scope":"org","identifier":"o1","resource":"search","tokens":2}]`,
		`{"checks":[{"identifier":"a2","resource":"search"},{"scope":"org","identifier":"o2","resource":"search"}],"tokens":2}`,
		`{"hierarchy":[{"scope":"user","resource":"search"},{"scope":"org","resource":"search"}],"metadata":{"user":"a3","org":3,"more":[1]},"tokens":2}`,
	} {
		for i := range 3 {
			a := s.post("check-all", body)
			results := a.json["results"].([]any)
			require.Len(t, results, 2)
			left := func(i int) float64 { return results[i].(map[string]any)["tokens_remaining"].(float64) }
			if i < 2 {
				assert.Equal(t, http.StatusOK, a.status, a.text)
				assert.NotEmpty(t, a.json["permit"])
				assert.InDelta(t, 8-2*i, left(0), 0)
				assert.InDelta(t, 3-2*i, left(1), 0)
				assert.Equal(t, "org", a.json["most_restrictive"].(map[string]any)["scope"])
				assert.Empty(t, a.header.Get("X-RateLimit-Blocking-Scope"))
				continue
			}
			assert.Equal(t, http.StatusTooManyRequests, a.status)
			assert.Equal(t, "org", a.header.Get("X-RateLimit-Blocking-Scope"))
			assert.Equal(t, "search", a.header.Get("X-RateLimit-Blocking-Resource"))
			assert.Equal(t, "org", a.json["blocking"].(map[string]any)["scope"])
			assert.Equal(t, "RATE_LIMIT_EXCEEDED", a.json["error"].(map[string]any)["code"])
			assert.NotEmpty(t, a.header.Get("Retry-After"))
			assert.Equal(t, "5", a.header.Get("X-RateLimit-Limit"))
			assert.InDelta(t, 6, left(0), 0, "nothing was taken")
		}
	}
}

func TestBatch(t *testing.T) {
	s := start(t, text(limits))
	a := s.post("batch", `{"checks":[{"identifier":"a","resource":"search","tokens":10},{"identifier":"a","resource":"search","tokens":11},{"identifier":"b","resource":"search","tokens":10}]}`)
	require.Equal(t, http.StatusOK, a.status, a.text)
	results := a.json["results"].([]any)
	assert.Equal(t, true, results[0].(map[string]any)["allowed"])
	assert.Equal(t, "tokens", results[1].(map[string]any)["error"].(map[string]any)["field"])
	assert.Equal(t, true, results[2].(map[string]any)["allowed"])
	assert.Equal(t, "b", results[2].(map[string]any)["identifier"])
}

// An amount that no check can have is the error of its check, and not of the others.
func TestBatchWithAnInvalidAmount(t *testing.T) {
	s := start(t, text(limits))
	a := s.post("batch", `{"checks":[{"identifier":"a","resource":"x","tokens":0},{"identifier":"b","resource":"x"},{"scope":"org","identifier":"c","resource":"y","tokens":100001}]}`)
	require.Equal(t, http.StatusOK, a.status, a.text)
	results := a.json["results"].([]any)
	require.Len(t, results, 3)
	for i, want := range []map[string]any{
		{"scope": "user", "identifier": "a", "resource": "x", "allowed": false, "message": "tokens: 0 is not between 1 and 100000"},
		{"scope": "user", "identifier": "b", "resource": "x", "allowed": true},
		{"scope": "org", "identifier": "c", "resource": "y", "allowed": false, "message": "tokens: 100001 is not between 1 and 100000"},
	} {
		r := results[i].(map[string]any)
		if message := want["message"]; message != nil {
			assert.Equal(t, map[string]any{"code": "INVALID_REQUEST", "message": message, "field": "tokens"}, r["error"])
			delete(want, "message")
		}
		for name, value := range want {
			assert.Equal(t, value, r[name], "%d: %s", i, name)
		}
	}
	a = s.post("batch", `{"checks":[{"identifier":"a","resource":"x","tokens":0}]}`)
	assert.Equal(t, http.StatusOK, a.status, a.text)
	a = s.post("batch", `{"checks":[`+strings.Repeat(`{"tokens":0},`, 1000)+`{}]}`)
	assert.Equal(t, http.StatusBadRequest, a.status, a.text)
	assert.Equal(t, "checks", a.json["field"])
}

func TestSettleAndCancel(t *testing.T) {
	s := start(t, text(limits))
	left := func() any { return s.get("/v1/ratelimit/buckets/user/alice/search").json["tokens_remaining"] }
	permit := func(tokens string) string {
		return s.post("check", `{"identifier":"alice","resource":"search","tokens":`+tokens+`}`).json["permit"].(string)
	}
	p := permit("6")
	a := s.post("settle", `{"permit":"`+p+`","tokens_used":2}`)
	assert.Equal(t, http.StatusOK, a.status, a.text)
	assert.InDelta(t, 8, left(), 0)
	a = s.post("settle", `{"permit":"`+p+`","tokens_used":2}`)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.Equal(t, "PERMIT_ENDED", a.json["code"])
	assert.Equal(t, "permit", a.json["field"])
	a = s.post("cancel", `{"permit":"`+permit("3")+`"}`)
	assert.Equal(t, http.StatusOK, a.status, a.text)
	assert.InDelta(t, 8, left(), 0)
	a = s.post("cancel", `{"permit":"x"}`)
	assert.Equal(t, http.StatusNotFound, a.status)
	p = s.post("check-all", `[{"identifier":"alice","resource":"search","tokens":2},{"scope":"org","identifier":"1","resource":"search","tokens":2}]`).json["permit"].(string)
	a = s.post("settle", `{"permit":"`+p+`","tokens_used":[1]}`)
	assert.Equal(t, http.StatusBadRequest, a.status)
	assert.Equal(t, "tokens_used", a.json["field"])
	a = s.post("settle", `{"permit":"`+p+`","tokens_used":[1,-1]}`)
	assert.Equal(t, "tokens_used[1]", a.json["field"])
	a = s.post("settle", `{"permit":"`+p+`","tokens_used":[1,0]}`)
	assert.Equal(t, http.StatusOK, a.status, a.text)
	assert.InDelta(t, 7, left(), 0)
}

func TestAcquire(t *testing.T) {
	s := start(t, text("default: {capacity: 2, refill_rate: 20}\nrate_limits: [{scope: trial, capacity: 2, refill_rate: 0}]"))
	began := time.Now()
	for range 6 {
		a := s.post("acquire", `{"identifier":"alice","resource":"x","max_wait_seconds":5}`)
		assert.Equal(t, http.StatusOK, a.status, a.text)
		assert.NotEmpty(t, a.json["permit"])
	}
	assert.GreaterOrEqual(t, time.Since(began), 190*time.Millisecond, "six of a bucket of two, at 20/s")
	a := s.post("acquire", `{"checks":[{"scope":"trial","identifier":"bob","resource":"x","tokens":2}],"max_wait_seconds":0}`)
	assert.Equal(t, http.StatusOK, a.status, a.text)
	a = s.post("acquire", `{"scope":"trial","identifier":"bob","resource":"x","tokens":2,"max_wait_seconds":0}`)
	assert.Equal(t, http.StatusTooManyRequests, a.status)
}

func TestBuckets(t *testing.T) {
	s := start(t, text(limits))
	s.post("check", `{"identifier":"a/b c","resource":"search","tokens":4}`)
	const path = "/v1/ratelimit/buckets/user/a%2Fb%20c/search"
	a := s.get(path)
	assert.Equal(t, http.StatusOK, a.status)
	assert.InDelta(t, 6, a.json["tokens_remaining"], 0)
	assert.Equal(t, "a/b c", a.json["identifier"])
	assert.Len(t, a.json["windows"], 1)
	assert.Equal(t, http.StatusNoContent, s.do(http.MethodDelete, path, "").status)
	assert.InDelta(t, 10, s.get(path).json["tokens_remaining"], 0)
	for _, bad := range []string{"user/a", "user/a/b/c", "user//b", "user/a/%0a"} {
		assert.Equal(t, http.StatusBadRequest, s.get("/v1/ratelimit/buckets/"+bad).status, bad)
	}
}

// What is wrong with a request is a problem document that names the field.
func TestProblems(t *testing.T) {
	s := start(t, text(limits))
	for _, tc := range []struct {
		path, body, field string
	}{
		{"check", ``, "body"},
		{"check", `{`, "body"},
		{"check", `[]`, "body"},
		{"check", `{"identifier":"a","resource":"x"} {}`, "body"},
		{"check", `{"identifier":"a","resource":"x"}x`, "body"},
		{"check", `{}`, "identifier"},
		{"check", `{"identifier":"a"}`, "resource"},
		{"check", `{"identifier":"","resource":"x"}`, "identifier"},
		{"check", `{"identifier":5,"resource":"x"}`, "identifier"},
		{"check", `{"identifier":"a","resource":"x","tokens":0}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","tokens":-5}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","tokens":1.5}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","tokens":"1"}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","tokens":100001}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","tokens":99999999999999999999}`, "tokens"},
		{"check", `{"identifier":"a","resource":"search","tokens":11}`, "tokens"},
		{"check", `{"identifier":"a","resource":"x","token":1}`, "token"},
		{"check", `{"identifier":"a","resource":"x","dry_run":"yes"}`, "dry_run"},
		{"check", `{"identifier":"a","resource":"x","metadata":[]}`, "metadata"},
		{"check", `{"identifier":"a\u0000","resource":"x"}`, "identifier"},
		{"check", "{\"identifier\":\"\xff\",\"resource\":\"x\"}", "identifier"}, // the decoder does not refuse it
		{"check", `{"identifier":"\ud800","resource":"x"}`, "identifier"},
		{"check-all", `[]`, "checks"},
		{"check-all", `{}`, "checks"},
		{"check-all", `{"checks":[],"hierarchy":[]}`, "hierarchy"},
		{"check-all", `[{"identifier":"a","resource":"x"},{"identifier":"a","resource":"x","tokens":0}]`, "checks[1].tokens"},
		{"check-all", `{"hierarchy":[{"scope":"org","resource":"x"}]}`, "checks[0].identifier"},
		{"check-all", `[{"identifier":"a","resource":"x","scop":1}]`, "scop"},
		{"check-all", `{"identifier":"a","resource":"x","max_wait_seconds":1}`, "max_wait_seconds"},
		{"batch", `{"checks":[]}`, "checks"},
		{"acquire", `{"identifier":"a","resource":"x","max_wait_seconds":61}`, "max_wait_seconds"},
		{"acquire", `{"identifier":"a","resource":"x","max_wait_seconds":-1}`, "max_wait_seconds"},
		{"settle", `{"permit":"x"}`, "tokens_used"},
		{"settle", `{"tokens_used":1}`, "permit"},
		{"settle", `{"permit":"x","tokens_used":"1"}`, "tokens_used"},
		{"settle", `{"permit":"x","tokens_used":[]}`, "tokens_used"},
		{"cancel", `{}`, "permit"},
		{"cancel", `null`, "permit"},
	} {
		a := s.post(tc.path, tc.body)
		assert.Equal(t, http.StatusBadRequest, a.status, "%s: %s", tc.body, a.text)
		assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
		assert.Equal(t, tc.field, a.json["field"], "%s: %s", tc.body, a.text)
		assert.Equal(t, "INVALID_REQUEST", a.json["code"])
		assert.InDelta(t, 400, a.json["status"], 0)
		assert.NotEmpty(t, a.json["detail"])
	}
	a := s.post("check", `{"identifier":"`+strings.Repeat("a", 2<<20)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	assert.Equal(t, http.StatusNotFound, s.post("chek", `{}`).status)
	a = s.get("/v1/ratelimit/check")
	assert.Equal(t, http.StatusMethodNotAllowed, a.status)
	assert.Equal(t, "POST", a.header.Get("Allow"))
	assert.Equal(t, "GET, DELETE", s.do(http.MethodPut, "/v1/ratelimit/buckets/a/b/c", "").header.Get("Allow"))
}

func TestMetrics(t *testing.T) {
	s := start(t, text(limits))
	s.post("check", `{"identifier":"alice","resource":"search","tokens":4}`)
	s.post("check", `{"identifier":"alice","resource":"search","tokens":9}`)
	s.post("check", `{"scope":"`+strings.Repeat("x", 100)+`","identifier":"alice","resource":"search"}`)
	s.post("check", `{"identifier":"alice","resource":""}`)
	s.post("check", `{"identifier":"alice","resource":"search","tokens":"4"}`)
	s.post("check-all", `[{"identifier":"alice","resource":"search","token":4}]`)
	s.post("acquire", `{"identifier":"alice","resource":"search","max_wait_seconds":61}`)
	s.post("batch", `{"checks":[{"identifier":"alice","resource":"search","metadata":1}]}`)
	s.post("settle", `{"permit":1}`)
	a := s.get("/metrics")
	for _, line := range []string{
		`headrace_service_checks_total{outcome="allowed",scope="user"} 1`,
		`headrace_service_checks_total{outcome="refused",scope="user"} 1`,
		`headrace_service_checks_total{outcome="invalid",scope="user"} 1`,
		`headrace_service_checks_total{outcome="invalid",scope="other"} 4`,
		`headrace_service_checks_total{outcome="allowed",scope="other"} 1`,
		`headrace_service_tokens_total{scope="user"} 4`,
		`headrace_service_breaker_state 0`,
		`headrace_service_store_reachable 1`,
		`headrace_service_config_broken 0`,
		`headrace_service_clock_jumps_total 0`,
		`headrace_service_fallbacks_total 0`,
		`headrace_service_check_duration_seconds_count{outcome="refused"} 1`,
		`headrace_service_remaining_ratio_bucket{scope="user",le="0.5"} 0`,
	} {
		assert.Contains(t, a.text, line+"\n")
	}
	assert.NotContains(t, a.text, "alice")
	assert.NotContains(t, a.text, "xxxx", "callers cannot make series")
}

// FuzzREST sends arbitrary requests: no answer is a server error, and every answer is JSON
// that gives the reason of a refusal.
func FuzzREST(f *testing.F) {
	for _, seed := range []string{
		`{"identifier":"a","resource":"x"}`, `[{"identifier":"a","resource":"x","tokens":5}]`, `{"hierarchy":[{"scope":"user","resource":"x"}],"metadata":{"user":1}}`,
		`{"permit":"AdrWo7ANCENMVjY3TVVTATPE","tokens_used":[1,2]}`, `{"checks":[{}]}`, `{"max_wait_seconds":0,"identifier":"a","resource":"x"}`, `null`, `{"tokens":1e400}`,
	} {
		for i := range 6 {
			f.Add(uint8(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		h := handler(t)
		name := []string{"check", "check-all", "batch", "acquire", "settle", "cancel"}[path%6]
		if name == "acquire" && !strings.Contains(body, `"max_wait_seconds":0`) {
			t.Skip("it would wait")
		}
		w := h(name, body)
		if w.Code >= 500 {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		var out map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		if w.Code == http.StatusBadRequest && out["field"] == nil {
			t.Fatalf("no field: %s", w.Body)
		}
	})
}

// late is a body that does not arrive before the server gives up.
type late struct{ cancel context.CancelFunc }

func (l late) Read([]byte) (int, error) {
	l.cancel() // as net/http does
	return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
}

func TestABodyThatDoesNotArrive(t *testing.T) {
	s, err := service.New(t.Context(), text(limits))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/ratelimit/check", late{cancel})
	r.ContentLength = 10
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	assert.Equal(t, http.StatusRequestTimeout, w.Code)
	assert.Contains(t, w.Body.String(), `"code":"REQUEST_TIMEOUT"`)
}

// Requests that no handler can read do not fill the log.
func TestMalformedBodiesAreNoWarnings(t *testing.T) {
	s := start(t, text(limits))
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "POST /v1/ratelimit/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	require.NoError(t, err)
	w, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, w.Body.Close())
	assert.Equal(t, http.StatusBadRequest, w.StatusCode)
	assert.Contains(t, s.log.String(), "level=DEBUG")
	assert.NotContains(t, s.log.String(), "level=WARN")
}
