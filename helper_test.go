package headrace_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// book is a law that lets everything go and writes down what it hears.
type book struct {
	mu   sync.Mutex // guards all below
	sent []throttle.Sent
	ends []adaptive.Feedback
	gate time.Time
	more sync.Cond // ends has grown
}

func (b *book) Start(time.Time, uint64) (adaptive.State, error) { return b, nil }

func (b *book) Admit(now time.Time, _ throttle.Cost, _ int) time.Duration {
	return max(0, b.gate.Sub(now))
}

func (b *book) Slack(time.Time) {}

func (b *book) OnSend(_ time.Time, s throttle.Sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, s)
}

func (b *book) OnUnsent(time.Time, throttle.Sent) {}

func (b *book) OnResult(now time.Time, _ throttle.Sent, _ int, f adaptive.Feedback) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = append(b.ends, f)
	b.more.Broadcast()
	b.gate = now.Add(f.RetryAfter)
}

func (b *book) OnSignal(time.Time, *adaptive.RateLimitHit) {}

func (b *book) View() adaptive.View { return adaptive.View{Concurrency: 1, GateUntil: b.gate} }

func (b *book) ended() []adaptive.Feedback {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]adaptive.Feedback(nil), b.ends...)
}

// await waits until n attempts have ended: a separate goroutine receives the end of a
// context.
func (b *book) await(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.ends) < n {
		b.more.Wait()
	}
}

func (b *book) verdicts() (all []adaptive.Verdict) {
	for _, f := range b.ended() {
		all = append(all, f.Verdict)
	}
	return all
}

// limiter goes by a new book.
func limiter(t *testing.T) (*guard.Guard, *book) {
	t.Helper()
	b := &book{}
	b.more.L = &b.mu
	l, err := guard.New(guard.Policy{Name: "test", Law: b})
	require.NoError(t, err)
	return l, b
}

// under returns a transport with l as the only limiter, and with the
// dialect of p.
func under(base http.RoundTripper, p presets.ID, l *guard.Guard, own ...guard.Policy) http.RoundTripper {
	var policy guard.Policy
	if len(own) > 0 {
		policy = own[0]
	}
	if profile, err := presets.Lookup(string(p)); err == nil {
		policy.Dialect = profile.Dialect
	}
	return headrace.Transport(base, "", headrace.With(policy), headrace.Within(l))
}

// serve starts a server and returns its URL and a client for it that uses
// l with p.
func serve(t *testing.T, l *guard.Guard, p presets.ID, h http.HandlerFunc) (string, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return s.URL, &http.Client{Transport: under(base, p, l)}
}

func post(t *testing.T, c *http.Client, url, body string) *http.Response {
	t.Helper()
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	return resp
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// tripper is a round tripper made of a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a response that a tripper may return.
func answer(status int, header, text string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if name, value, ok := strings.Cut(header, ": "); ok {
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: h,
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
	}
}
