package headrace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

const (
	refusal = `{"type":"error","error":{"type":"rate_limit_error","message":"a \"{\" too much"}}`
	money   = `{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"no money"}}`
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// What comes with status 200 may be a refusal all the same, whether or not it
// says how long it is.
func TestARefusalWithStatus200(t *testing.T) {
	for name, length := range map[string]int64{"of known length": int64(len(refusal)), "of unknown length": -1} {
		for rest, more := range map[string]string{"alone": "", "before more": " {}"} {
			t.Run(name+", "+rest, func(t *testing.T) {
				l, b := limiter(t)
				closed := &closer{Reader: io.MultiReader(strings.NewReader(refusal), strings.NewReader(more))}
				base := tripper(func(*http.Request) (*http.Response, error) {
					if len(b.ended()) > 0 {
						return answer(http.StatusOK, "", `{"fine":1}`), nil
					}
					r := answer(http.StatusOK, "", refusal)
					if r.ContentLength = length; length > 0 {
						r.ContentLength += int64(len(more))
					}
					r.Body = closed
					return r, nil
				})
				c := &http.Client{Transport: under(base, presets.AnthropicTier1, l)}
				assert.Equal(t, `{"fine":1}`, read(t, post(t, c, secretURL, `{}`))) //nolint:bodyclose // read does
				t.Log(b.ended()[0].Err)
				assert.Equal(t, []adaptive.Verdict{adaptive.Hit, adaptive.OK}, b.verdicts())
				assert.True(t, closed.closed.Load())
			})
		}
	}
}

// A part of a GraphQL request may have been done before the rest was throttled.
func TestWhatWasDoneInPartIsNotSentAgain(t *testing.T) {
	const throttled = `"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}`
	for text, want := range map[string][]adaptive.Verdict{
		`{` + throttled:             {adaptive.Hit, adaptive.OK},
		`{"data":null,` + throttled: {adaptive.Hit, adaptive.OK},
		`{"data":{"create":{"id":1},"update":null},` + throttled: {adaptive.Hit},
	} {
		l, b := limiter(t)
		client := &http.Client{Transport: under(tripper(func(*http.Request) (*http.Response, error) {
			if len(b.ended()) > 0 {
				return answer(http.StatusOK, "", `{}`), nil
			}
			return answer(http.StatusOK, "", text), nil
		}), "", l)}
		got := read(t, post(t, client, "https://shop.myshopify.com/admin/api/graphql.json", `{"query":"mutation {...}"}`)) //nolint:bodyclose // read does
		assert.Equal(t, len(want) == 1, got == text)
		assert.Equal(t, want, b.verdicts(), text)
	}
}

// Only one JSON object is worth waiting for: what may be a stream is passed on
// as it comes, and so is what is long.
func TestWhatIsNotHeldBack(t *testing.T) {
	long := `{"data":"` + strings.Repeat("x", 64<<10) + `"`
	for name, c := range map[string]struct{ kind, first, rest string }{
		"events":                {"text/event-stream", "data: {}\n\n", "data: {}\n\n"},
		"lines":                 {"application/x-ndjson", `{"a":1`, "}\n"},
		"lines, said to be one": {"application/json", "{\"a\":1}\n", "{\"a\":2}\n"},
		"a list":                {"application/json", "\n [", `{"a":1}]`},
		"a text":                {"application/json", `"a`, `"`},
		"a long one":            {"application/json", long, "}"},
		"another kind":          {"audio/mpeg", "{", "}"},
		"compressed":            {"application/json", "{", "}"},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			heard := make(chan struct{})
			url, client := serve(t, l, presets.OpenAITier1, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				if name == "compressed" {
					w.Header().Set("Content-Encoding", "br")
				}
				_, _ = io.WriteString(w, c.first)
				w.(http.Flusher).Flush()
				select {
				case <-heard:
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, c.rest)
			})
			resp := post(t, client, url, `{}`)
			defer resp.Body.Close()
			first := make([]byte, len(c.first))
			_, err := io.ReadFull(resp.Body, first)
			require.NoError(t, err)
			assert.Empty(t, b.ended())
			close(heard)
			assert.Equal(t, c.first+c.rest, string(first)+read(t, resp))
			assert.Equal(t, []adaptive.Verdict{adaptive.OK}, b.verdicts())
		})
	}
}

// A caller that requests gzip gets gzip, and its content is understood.
func TestErrorsInGzip(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		coding, body string
		want         adaptive.Verdict
	}{
		"429":            {429, "gzip", zipped(t, money), adaptive.Terminal},
		"429, X-Gzip":    {429, "X-Gzip", zipped(t, money), adaptive.Terminal},
		"400":            {400, "gzip", zipped(t, strings.Replace(money, "insufficient_quota", "billing_error", 2)), adaptive.Terminal},
		"200":            {200, "gzip", zipped(t, refusal), adaptive.Hit},
		"429, cut":       {429, "gzip", zipped(t, money)[:40], adaptive.Hit},
		"429, not gzip":  {429, "gzip", money, adaptive.Hit},
		"429, another":   {429, "br", zipped(t, money), adaptive.Hit},
		"429, a bomb":    {429, "gzip", zipped(t, `{"a":"`+strings.Repeat("x", 1<<20)+`","error":`+money+"}"), adaptive.Hit},
		"429, not coded": {429, "identity", money, adaptive.Terminal},
		"200, another":   {200, "br", zipped(t, money), adaptive.OK},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			base := tripper(func(*http.Request) (*http.Response, error) {
				r := answer(c.status, "Content-Encoding: "+c.coding, c.body)
				r.Header.Set("X-Should-Retry", "false")
				return r, nil
			})
			p := presets.OpenAITier1
			if c.status < 429 {
				p = presets.AnthropicTier1
			}
			resp := post(t, &http.Client{Transport: under(base, p, l)}, secretURL, `{}`) //nolint:bodyclose // read does
			assert.Equal(t, c.body, read(t, resp), "as it came")
			assert.Equal(t, []adaptive.Verdict{c.want}, b.verdicts())
		})
	}
}

// A body that breaks off while it is held back breaks off for the caller too.
func TestABodyThatBreaksWhileItIsHeldBack(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		cancel bool
		want   []adaptive.Verdict
	}{
		"POST":      {http.MethodPost, false, []adaptive.Verdict{adaptive.Transient}},
		"PUT":       {http.MethodPut, false, []adaptive.Verdict{adaptive.Transient, adaptive.Transient, adaptive.Transient}},
		"cancelled": {http.MethodPut, true, []adaptive.Verdict{adaptive.Unclassified}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				broken := errors.New("broken")
				base := tripper(func(*http.Request) (*http.Response, error) {
					r := answer(http.StatusOK, "", "")
					r.ContentLength = -1
					r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"half`), failing(func() error {
						if c.cancel {
							cancel()
						}
						return broken
					})))
					return r, nil
				})
				req, err := http.NewRequestWithContext(ctx, c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				resp, err := under(base, presets.OpenAITier1, l).RoundTrip(req)
				require.NoError(t, err)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				assert.Equal(t, `{"half`, string(text))
				assert.ErrorIs(t, err, broken)
				assert.Equal(t, c.want, b.verdicts())
			})
		})
	}
}

// failing is a reader that fails.
type failing func() error

func (f failing) Read([]byte) (int, error) { return 0, f() }

// listener is a law that hears headers early.
type listener struct {
	*book

	heard [][throttle.Units]adaptive.Meter
}

func (l *listener) Start(time.Time, uint64) (adaptive.State, error) { return l, nil }

func (l *listener) OnMeters(_ time.Time, _ throttle.Sent, m [throttle.Units]adaptive.Meter) {
	l.heard = append(l.heard, m)
}

// The quota that the header of a stream declares is reported when the header arrives, and once.
func TestTheHeaderOfAStreamIsHeardAtOnce(t *testing.T) {
	_, b := limiter(t)
	law := &listener{book: b}
	l, err := guard.New(guard.Policy{Law: law})
	require.NoError(t, err)
	deaf, quiet := limiter(t)
	base := tripper(func(*http.Request) (*http.Response, error) {
		r := answer(http.StatusOK, "X-Ratelimit-Remaining-Requests: 7", "data: {}\n\n")
		r.Header.Set("X-Ratelimit-Limit-Requests", "9")
		r.Header.Set("Content-Type", "text/event-stream")
		return r, nil
	})
	for _, l := range []*guard.Guard{l, deaf} {
		c := &http.Client{Transport: under(base, presets.OpenAITier1, l)}
		resp := post(t, c, secretURL, `{}`) //nolint:bodyclose // read does
		if l != deaf {
			require.Len(t, law.heard, 1)
			assert.Equal(t, adaptive.Meter{Known: true, Limit: 9, Remaining: 7}, law.heard[0][throttle.Requests])
		}
		read(t, resp)
	}
	assert.Len(t, law.heard, 1)
	assert.Zero(t, b.ended()[0].Meters, "it was told")
	assert.True(t, quiet.ended()[0].Meters[throttle.Requests].Known, "a law that does not listen hears it at the end")
}

// The detector of a policy comes before the dialect, which supplies what the detector does not set.
func TestADetectorIsAskedAboutAnErrorResponse(t *testing.T) {
	failure := errors.New("without the key")
	for name, c := range map[string]struct {
		status  int
		verdict adaptive.Feedback
		report  adaptive.Feedback
		sent    int
		want    adaptive.Feedback
		err     string
	}{
		"its verdict":          {418, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}, adaptive.Feedback{}, 2, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}, "status 418"},
		"its error":            {418, adaptive.Feedback{Verdict: adaptive.Transient, Err: failure}, adaptive.Feedback{}, 2, adaptive.Feedback{Verdict: adaptive.Transient}, failure.Error()},
		"against the dialect":  {429, adaptive.Feedback{Verdict: adaptive.OK}, adaptive.Feedback{}, 1, adaptive.Feedback{Verdict: adaptive.OK}, "status 429"},
		"no verdict":           {429, adaptive.Feedback{RetryAfter: time.Hour}, adaptive.Feedback{}, 2, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 3 * time.Second}, "status 429"},
		"a report goes before": {429, adaptive.Feedback{Verdict: adaptive.Transient}, adaptive.Feedback{Verdict: adaptive.OK}, 1, adaptive.Feedback{Verdict: adaptive.OK}, "status 429"},
		"a reported pause":     {429, adaptive.Feedback{}, adaptive.Feedback{RetryAfter: 5 * time.Second}, 2, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 5 * time.Second}, "status 429"},
		"success":              {200, adaptive.Feedback{Verdict: adaptive.Hit}, adaptive.Feedback{}, 1, adaptive.Feedback{Verdict: adaptive.OK}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				base := tripper(func(req *http.Request) (*http.Response, error) {
					if sent++; sent > 1 {
						return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
					}
					guard.Report(req.Context(), c.report)
					h := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"3"}}
					return &http.Response{StatusCode: c.status, Header: h, Body: io.NopCloser(strings.NewReader(`{"a":1}`)), ContentLength: 7}, nil
				})
				asked := 0
				l, b := limiter(t)
				g, err := guard.New(guard.Policy{Within: []*guard.Guard{l}, Law: b, Detector: func(err error) adaptive.Feedback {
					asked++
					answer, ok := adaptive.AnswerIn(err)
					assert.True(t, ok)
					assert.Equal(t, c.status, answer.Status)
					assert.Equal(t, "3", answer.Header.Get("Retry-After"))
					assert.JSONEq(t, `{"a":1}`, string(answer.Body))
					return c.verdict
				}})
				require.NoError(t, err)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com/", http.NoBody)
				require.NoError(t, err)
				resp, err := under(base, "", g).RoundTrip(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				assert.Equal(t, c.sent, sent)
				got := b.ended()[0]
				assert.Equal(t, c.want.Verdict, got.Verdict)
				assert.Equal(t, c.want.RetryAfter, got.RetryAfter)
				if c.err != "" {
					assert.ErrorContains(t, got.Err, c.err)
				}
				assert.Equal(t, c.report.Verdict == adaptive.Unclassified && c.status >= 400, asked == 1)
			})
		})
	}
}

// The dialect of a guard comes before the detectors of the guards around it.
func TestADetectorAroundTheDialectIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, err := guard.New(guard.Policy{Detector: func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal} }})
		require.NoError(t, err)
		g, err := guard.New(guard.Policy{Within: []*guard.Guard{outer}, Dialect: dialect.OpenAI})
		require.NoError(t, err)
		sent := 0
		base := tripper(func(*http.Request) (*http.Response, error) {
			if sent++; sent > 1 {
				return answer(http.StatusOK, "", `{}`), nil
			}
			return answer(http.StatusTooManyRequests, "Retry-After: 1", `{}`), nil
		})
		resp := post(t, &http.Client{Transport: under(base, "", g)}, secretURL, `{}`)
		read(t, resp)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	})
}
