package run_test

import (
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"https://h/v1", "/v1/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/v1/", "/v1/chat/completions", "https://h/v1/chat/completions"},
		{"https://h", "/v1/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/", "/chat", "https://h/chat"},
		{"https://h/openai/v1", "/v1/chat", "https://h/openai/v1/chat"},
		{"https://h/v1beta/openai", "/v1/chat", "https://h/v1beta/openai/chat"},
		{"https://h/v1", "/v10/chat", "https://h/v1/v10/chat"},
		{"https://h/v1?api-version=2", "/v1/chat", "https://h/v1/chat?api-version=2"},
		{"https://h/v1?api-version=2", "/v1/chat?x=1", "https://h/v1/chat?api-version=2&x=1"},
		{"https://h/v1", "https://h/v2/chat", "https://h/v2/chat"},
		{"https://h/v1", "/v1/files/a%20b%2Fc", "https://h/v1/files/a%20b%2Fc"},
		{"https://h/a%2Fb/v1", "/v1/chat", "https://h/a%2Fb/v1/chat"},
		{"https://h/v1", "/v1/a b#c%", "https://h/v1/a%20b%23c%25"},
	} {
		got, foreign, err := run.Target(tc[0], tc[1])
		require.NoError(t, err)
		assert.Equal(t, tc[2], got)
		assert.Empty(t, foreign)
	}
	for _, other := range []string{"https://other/v1", "http://h/v1", "https://h:8443/v1", "https://h@other/", "https://\x00"} {
		_, foreign, err := run.Target("https://h/v1", other)
		require.NoError(t, err)
		assert.Contains(t, foreign, "another host", other)
	}
	_, foreign, err := run.Target("https://h/v1", "https://user:password@h/v1/chat")
	require.NoError(t, err)
	assert.Equal(t, "url holds a user or a password: use --api-key-env for the key", foreign)
}

func TestNobodyWasEverThere(t *testing.T) {
	t.Parallel()
	g, now, refused := run.NewReach(time.Hour), time.Unix(0, 0), errors.New("refused")
	for range 2 {
		pause, ever, stop := g.Lost(now, refused)
		assert.False(t, ever)
		require.Nil(t, stop)
		assert.Equal(t, 500*time.Millisecond, pause, "calls that fail together are one failure")
	}
	_, _, stop := g.Lost(now, refused)
	require.NotNil(t, stop)
	assert.Equal(t, run.Unreachable, stop.Reason)
	assert.ErrorContains(t, stop, "h cannot be reached: refused. Check --base-url")
}

func TestAHostThatGoesAway(t *testing.T) {
	t.Parallel()
	g, now, refused := run.NewReach(3*time.Minute), time.Unix(0, 0), errors.New("refused")
	g.Reached()
	var pauses []time.Duration
	var news []string
	for now.Before(time.Unix(170, 0)) {
		pause, ever, stop := g.Lost(now, refused)
		assert.True(t, ever)
		require.Nil(t, stop)
		pauses, news = append(pauses, pause), append(news, g.News())
		now = now.Add(pause)
	}
	assert.Equal(t, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second}, pauses[:7])
	assert.Equal(t, time.Unix(180, 0), now, "the last pause ends with --max-wait")
	const waits = ". All requests wait until it works again, for at most 3m0s (--max-wait)"
	assert.Equal(t, []string{"", "", "h cannot be reached: refused" + waits, "", ""}, news[:5], "one call may fail alone")
	assert.Empty(t, strings.Join(news[5:], ""), "it is told once")
	g.Reached()
	now = now.Add(time.Hour)
	pause, _, stop := g.Lost(now, refused)
	require.Nil(t, stop, "it was there in between")
	assert.Equal(t, 500*time.Millisecond, pause)
	_, _, stop = g.Lost(now.Add(3*time.Minute), refused)
	assert.ErrorContains(t, stop, "has been unreachable for 3m0s")
}

// The failures of a few requests are their own. If more fail in a row, it is an outage, until something else comes back.
func TestAnOutage(t *testing.T) {
	t.Parallel()
	g, now, failed := run.NewReach(time.Minute), time.Unix(0, 0), errors.New("500: oops")
	broke := func(line int64) time.Duration {
		t.Helper()
		pause, stop := g.Broke(now, line, failed)
		require.Nil(t, stop)
		return pause
	}
	const news = "all calls to h fail, 21 requests in a row: 500: oops. All requests wait until it works again, for at most 1m0s (--max-wait)"
	for range 2 {
		for i := range 60 { // three attempts each
			require.Zero(t, broke(int64(i%20)))
			now = now.Add(time.Minute)
		}
		assert.Empty(t, g.News())
		assert.Equal(t, 500*time.Millisecond, broke(20))
		assert.Equal(t, news, g.News())
		assert.Equal(t, 500*time.Millisecond, broke(1), "calls that fail together are one failure")
		now = now.Add(time.Second)
		g.Refused()
		assert.Equal(t, time.Second, broke(21), "a service that rejects calls does not work yet")
		g.Reached()
	}
	for i := range int64(21) {
		broke(i)
	}
	assert.Empty(t, g.News(), "the last line is a second old")
	now = now.Add(time.Minute)
	_, stop := g.Broke(now, 1, failed)
	require.NotNil(t, stop)
	assert.Equal(t, run.Unreachable, stop.Reason)
	assert.EqualError(t, stop, "all calls to h have failed for 1m0s: 500: oops")
}

// An outage that begins less than a minute after the news of another one is announced when that minute is over.
func TestASecondOutage(t *testing.T) {
	t.Parallel()
	const waits = " All requests wait until it works again, for at most 1h0m0s (--max-wait)"
	failed, refused := errors.New("500: Oops."), errors.New("refused") //nolint:revive // it ends as the sentence of a provider does
	t.Run("every call fails", func(t *testing.T) {
		t.Parallel()
		g, now := run.NewReach(time.Hour), time.Unix(0, 0)
		outage := func() {
			for line := range int64(21) {
				_, stop := g.Broke(now, line, failed)
				require.Nil(t, stop)
			}
		}
		const news = "all calls to h fail, 21 requests in a row: 500: Oops." + waits
		outage()
		assert.Equal(t, news, g.News())
		g.Reached()
		now = now.Add(time.Minute - 1)
		outage()
		assert.Empty(t, g.News())
		now = now.Add(1)
		outage()
		assert.Equal(t, news, g.News(), "the same outage")
		now = now.Add(time.Minute)
		outage()
		assert.Empty(t, g.News(), "it was announced")
	})
	t.Run("unreachable", func(t *testing.T) {
		t.Parallel()
		g, now := run.NewReach(time.Hour), time.Unix(0, 0)
		g.Reached()
		outage := func() {
			for range 3 {
				_, _, stop := g.Lost(now, refused)
				require.Nil(t, stop)
			}
		}
		const news = "h cannot be reached: refused." + waits
		outage()
		assert.Equal(t, news, g.News())
		g.Refused()
		outage()
		assert.Empty(t, g.News())
		now = now.Add(time.Minute)
		outage()
		assert.Equal(t, news, g.News(), "the same outage")
		_, stop := g.Broke(now, 1, failed)
		require.Nil(t, stop)
		now = now.Add(time.Minute)
		outage()
		assert.Equal(t, news, g.News(), "it could be reached in between")
	})
}

// The remedy for a server without TLS is http:// only if it is one: to any other server, it would expose the key.
func TestAServerWithoutTLS(t *testing.T) {
	t.Parallel()
	plain := tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake", RecordHeader: [5]byte([]byte("HTTP/"))}
	other := tls.RecordHeaderError{Msg: plain.Msg, RecordHeader: [5]byte([]byte("SSH-2"))}
	for _, c := range []struct {
		err  error
		want string
	}{
		{plain, "the response is not TLS: for a local server without TLS, use http:// in --base-url"},
		{other, "tls: first record does not look like a TLS handshake"},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: plain}, "the proxy does not use TLS: its URL has to begin with http://"},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: other}, "the proxy does not use TLS: its URL has to begin with http://"},
	} {
		assert.Equal(t, c.want, run.ReachedBy(c.err))
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"a\n  b"}}`: "a b", `{"error":"c"}`: "c", `{"message":"d"}`: "d", `{"detail":"e"}`: "e",
		`<html>`: "status 418 I'm a teapot", ``: "status 418 I'm a teapot", `{"error":{"code":1}}`: "status 418 I'm a teapot",
	} {
		assert.Equal(t, want, run.Message(418, body))
	}
	assert.Len(t, run.Message(400, `{"message":"`+strings.Repeat("x", 1000)+`"}`), 303)
}

// Slow calls can use up the rate of a preset, but not the memory.
func TestWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		preset      presets.ID
		concurrency int
		ordered     bool
		want        int
	}{
		"nothing is known":      {"", 0, false, 200},
		"a low rate":            {presets.OpenAITier1, 0, false, 200},
		"4,000 a minute":        {"openai/tier5/gpt-4.1:long-context", 0, false, 1334},
		"too many":              {"openai/tier5/gpt-4.1-mini", 0, false, 2000},
		"a cap":                 {"", 7, false, 7},
		"a cap, in order":       {"", 7, true, 28},
		"a large one, in order": {"", 300, true, 300},
		"a cap that is none":    {"", math.MaxInt, true, 1 << 20},
		"a cap beside a preset": {"openai/tier5/gpt-4.1-mini", 5000, false, 5000},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings.Run{}
			s.Ordered = tc.ordered
			s.Spec.Preset, s.Spec.Limits.Concurrency = tc.preset, tc.concurrency
			assert.Equal(t, tc.want, run.Workers(s))
		})
	}
}

// Requests with images take megabytes each, and the calls that a preset admits would take all memory.
func TestWorkersOfLongRequests(t *testing.T) {
	t.Parallel()
	long := `{"image":"` + strings.Repeat("x", 60<<20) + `"}`
	scan, err := requests.Of(t.Context(), func(yield func(requests.Request, error) bool) {
		for i := range 18 {
			if !yield(requests.Request{Line: int64(i + 1), ID: strconv.Itoa(i), URL: "/v1/x", Body: long}, nil) {
				return
			}
		}
	}, requests.OpenAI, dialect.OpenAI, nil)
	require.NoError(t, err)
	s := &settings.Run{}
	s.Spec.Preset = "openai/tier5/gpt-4.1-mini"
	workers, _ := run.WorkersOf(s, scan)
	assert.Equal(t, 17, workers)
	s.Ordered = true
	workers, window := run.WorkersOf(s, scan)
	assert.Equal(t, 17, workers)
	assert.Equal(t, 17, window)
	s.Spec.Limits.Concurrency = 500
	workers, _ = run.WorkersOf(s, scan)
	assert.Equal(t, 500, workers, "as the flag says")
}

// A request that does not fit a limit set during the run waits for the next one, which has the limits of its flags.
func TestWhatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state         node.State
		err           error
		failed, waits int64
	}{
		"too large for the limits": {node.Failed, &throttle.CostError{Limiter: "run", Amount: 2, Max: 1}, 0, 1},
		"waited for too long":      {node.Failed, &throttle.LimitedError{Limiter: "run"}, 0, 1},
		"refused":                  {node.Pending, &adaptive.RateLimitHit{GivenUp: true}, 0, 1},
		"failed":                   {node.Failed, io.EOF, 1, 0},
		"sent before": {node.Failed, errors.Join(
			&throttle.CostError{Limiter: "run", Amount: 2, Max: 1}, &results.RecordedError{RequestError: &results.RequestError{StatusCode: 500}},
		), 1, 0},
	} {
		var o run.Outcome
		o.Count(&results.Result{State: c.state, Err: c.err})
		assert.Equal(t, c.failed, o.Failed, name)
		assert.Equal(t, c.waits, o.Waiting, name)
		assert.Equal(t, c.waits > 0, o.WhyWaiting() != nil, name)
	}
}
