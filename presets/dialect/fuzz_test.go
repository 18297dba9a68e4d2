package dialect_test

import (
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

const (
	longest      = 876_000 * time.Hour
	longestReset = 31 * 24 * time.Hour
)

// Whatever comes in is survived, by every dialect, and what goes out is sane.
func FuzzRead(f *testing.F) {
	for _, a := range answers() {
		f.Add(a.status, a.header, a.body)
	}
	for _, seed := range []struct{ header, body string }{
		{"retry-after: 99999999999999999999\nx-ratelimit-reset-requests: 9e99", `{"error":{"details":[{"retryDelay":"-1s"}]}}`},
		{"retry-after-ms: NaN\nratelimit: \"a\";r=-1;t=-5\nratelimit-policy: a;q", `{"error":{"details":[{"retryDelay":"9999999h"}]}}`},
		{"x-ratelimit-limit: 5\nx-ratelimit-remaining: 9\nx-ratelimit-reset: -1", `[[[[[[[[{"error":`},
		{"x-shopify-shop-api-call-limit: 9/-1", `{"extensions":{"cost":{"requestedQueryCost":1e99,"throttleStatus":{"restoreRate":1e-9,"currentlyAvailable":-1,"maximumAvailable":1e99}}}}`},
		{"x-amzn-errortype: :", "data: {\"usage\":\n\ndata: {\"error\"}"},
		{"ratelimit: limit=5, remaining=0, reset=999999999999999", "\xff\xfe: \n:\n:"},
	} {
		f.Add(429, seed.header, seed.body)
		f.Add(200, seed.header, seed.body)
		f.Add(503, seed.header, seed.body)
	}
	names := dialect.Names()
	f.Fuzz(func(t *testing.T, status int, header, body string) {
		h := http.Header{}
		for line := range strings.Lines(header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			h.Add(textproto.CanonicalMIMEHeaderKey(name), value)
		}
		for _, n := range names {
			check(t, n, status, n.Read(arrival(), status, h, []byte(body)))
		}
	})
}

func check(t *testing.T, by dialect.Name, status int, f adaptive.Feedback) {
	t.Helper()
	sane := f.RetryAfter >= 0 && f.RetryAfter <= longest
	for _, m := range f.Meters {
		sane = sane && m.Reset >= 0 && m.Reset <= longestReset && m.Remaining >= 0 && m.Limit >= m.Remaining && m.Limit <= throttle.MaxAmount
		sane = sane && m.Known == (m.Limit > 0)
	}
	for u := range throttle.Units {
		sane = sane && f.Used.Of(u) >= 0
	}
	switch f.Verdict {
	case adaptive.Unclassified:
		sane = sane && (status < 200 || status > 599)
	case adaptive.OK:
		sane = sane && f.RetryAfter == 0 && f.Kind == 0 && !f.SlowDown && !f.Final
	case adaptive.Hit, adaptive.Overloaded, adaptive.Transient, adaptive.Terminal:
		sane = sane && f.Used == (throttle.Cost{}) && strings.HasPrefix(f.Source, "status ") && len(f.Source) < 80
		sane = sane && (!f.Final || f.Verdict == adaptive.Hit || f.Verdict == adaptive.Overloaded)
	default:
		sane = false
	}
	if !sane {
		t.Fatalf("%s makes of status %d: %+v", by, status, f)
	}
}

// A request costs something, and not the earth.
func FuzzEstimate(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":5,"n":2}`, `{"input":["a","b",[1,2]]}`, `{"contents":{"parts":{}}}`,
		`{"max_tokens":1e999,"n":1e999,"best_of":-1,"prompt":"\ud83d\u`, `{"generationConfig":{"generationConfig":{"maxOutputTokens":1}}}`,
		`{"requests":[{"content":null}],"texts":"x","documents":[{"data":"` + strings.Repeat("x", 200) + `"}]}`,
	} {
		f.Add("POST", "/v1/chat/completions", seed)
	}
	f.Add("", ":", "")
	names := dialect.Names()
	f.Fuzz(func(t *testing.T, method, path, body string) {
		r := request("POST", "https://api.example.com")
		r.Method, r.URL.Path = method, path
		for _, n := range names {
			for _, c := range []throttle.Cost{n.Estimate(r, []byte(body)), n.Estimate(nil, []byte(body))} {
				amounts := []int64{c.Tokens, c.Input, c.Output, c.Points}
				for _, a := range amounts {
					if a < 0 || a > throttle.MaxAmount || c.Requests != 1 {
						t.Fatalf("%s estimates %+v", n, c)
					}
				}
				if c.Input > int64(len(body))*1000 {
					t.Fatalf("%s estimates %d tokens of input from %d bytes", n, c.Input, len(body))
				}
			}
		}
	})
}
