package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

// slow is a body of which a byte arrives each second.
type slow struct {
	text   string
	closed chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	select {
	case <-time.NewTimer(time.Second).C:
	case <-s.closed:
		return 0, errors.New("closed")
	}
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:1], s.text)
	s.text = s.text[n:]
	return n, nil
}

func (s *slow) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func dripping(resp *http.Response, text string) *http.Response {
	resp.Body, resp.ContentLength = &slow{text, make(chan struct{})}, int64(len(text))
	return resp
}

// The timeout is for the header of each attempt, and gives the slot back also
// if the base ignores its context.
func TestTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		deaf     bool // the base ignores its context
		attempts int
		took     time.Duration
	}{
		"POST":       {http.MethodPost, false, 1, 5 * time.Second},
		"GET":        {http.MethodGet, false, 2, 10 * time.Second},
		"POST, hung": {http.MethodPost, true, 1, 6 * time.Second},
		"GET, hung":  {http.MethodGet, true, 1, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				release, late := make(chan struct{}), &closer{Reader: strings.NewReader("{}")}
				base := tripper(func(r *http.Request) (*http.Response, error) {
					done := r.Context().Done()
					if c.deaf {
						done = nil
					}
					select {
					case <-done:
						return nil, r.Context().Err()
					case <-release:
						resp := answer(http.StatusOK, "", "{}")
						resp.Body = late
						return resp, nil
					}
				})
				rt := under(base, presets.OpenAITier1, l, guard.Policy{
					Timeout: 5 * time.Second, Retry: &retry.Policy{MaxAttempts: 2, Initial: time.Nanosecond, Max: time.Nanosecond},
				})
				req, err := http.NewRequestWithContext(t.Context(), c.method, secretURL, http.NoBody)
				require.NoError(t, err)
				began := time.Now()
				_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "longer than the timeout of 5s")
				assert.NotContains(t, err.Error(), "canary")
				_, hung := errors.AsType[*fault.HungError](err)
				assert.Equal(t, c.deaf, hung)
				assert.Equal(t, c.took, time.Since(began).Truncate(time.Second))
				assert.Len(t, b.ended(), c.attempts)
				assert.Zero(t, l.Stats().InFlight)
				close(release)
				synctest.Wait()
				assert.Equal(t, c.deaf, late.closed.Load())
			})
		})
	}
}

// The body of a response that comes too late is closed on a goroutine of its own, where a panic would end the program.
func TestALateResponseWhoseClosePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := limiter(t)
		release, late := make(chan struct{}), &panicky{to: io.NopCloser(nil)}
		rt := under(tripper(func(*http.Request) (*http.Response, error) {
			<-release
			resp := answer(http.StatusOK, "", "")
			resp.Body = late
			return resp, nil
		}), "", l, guard.Policy{Timeout: time.Second})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, secretURL, http.NoBody)
		require.NoError(t, err)
		_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
		require.ErrorAs(t, err, new(*fault.HungError))
		close(release)
		synctest.Wait()
		assert.True(t, late.closed.Load())
	})
}

// A stream may take as long as it likes once its header is there.
func TestTheTimeoutEndsWithTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		var ctx context.Context
		base := tripper(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			resp := dripping(answer(http.StatusOK, "", ""), "data: {}\n\n")
			resp.Header.Set("Content-Type", "text/event-stream")
			return resp, nil
		})
		resp := post(t, &http.Client{Transport: under(base, presets.OpenAITier1, l, guard.Policy{Timeout: 5 * time.Second})}, secretURL, `{}`) //nolint:bodyclose // read does
		assert.NoError(t, ctx.Err())
		assert.Equal(t, "data: {}\n\n", read(t, resp))
		assert.Error(t, ctx.Err(), "it is released")
		assert.Equal(t, []adaptive.Verdict{adaptive.OK}, b.verdicts())
	})
}

// A rejection counts from its header on, and its body is read for two seconds.
func TestARejectionThatDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := guard.New(guard.Policy{})
		require.NoError(t, err)
		var mu sync.Mutex
		began, sent := time.Now(), []time.Duration{}
		base := tripper(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if sent = append(sent, time.Since(began)); len(sent) == 1 {
				return dripping(answer(http.StatusTooManyRequests, "Retry-After: 5", ""), strings.Repeat(" ", 1000)), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		})
		client := &http.Client{Transport: under(base, presets.OpenAITier1, l)}
		go func() { read(t, post(t, client, chatURL, `{}`)) }() //nolint:bodyclose // read does
		time.Sleep(time.Millisecond)
		read(t, post(t, client, chatURL, `{}`)) //nolint:bodyclose // read does
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, sent, 3)
		assert.GreaterOrEqual(t, sent[1], 7*time.Second, "two seconds for the body, then five")
		assert.Zero(t, l.Stats().InFlight)
	})
}

// What has arrived of a rejection is returned if it is not sent again.
func TestWhatHasArrivedOfARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := limiter(t)
		base := tripper(func(*http.Request) (*http.Response, error) {
			resp := dripping(answer(http.StatusTooManyRequests, "X-Should-Retry: false", ""), "0123456789")
			return resp, nil
		})
		began := time.Now()
		resp := post(t, &http.Client{Transport: under(base, presets.OpenAITier1, l)}, chatURL, `{}`)
		defer resp.Body.Close()
		assert.Equal(t, 2*time.Second, time.Since(began))
		text, err := io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Contains(t, "01", string(text))
		assert.Equal(t, []adaptive.Verdict{adaptive.Hit}, b.verdicts())
	})
}

// The body of another error is waited for no longer, and is passed on as it comes.
func TestAnErrorThatDrips(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		status   int
		verdicts []adaptive.Verdict
		took     time.Duration
		returned int
	}{
		"404":                          {http.MethodPost, http.StatusNotFound, []adaptive.Verdict{adaptive.OK}, 2 * time.Second, http.StatusNotFound},
		"500":                          {http.MethodPost, http.StatusInternalServerError, []adaptive.Verdict{adaptive.Transient}, 2 * time.Second, http.StatusInternalServerError},
		"500, which may be sent again": {http.MethodPut, http.StatusInternalServerError, []adaptive.Verdict{adaptive.Transient, adaptive.OK}, 2 * time.Second, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				const text = "0123456789"
				base := tripper(func(*http.Request) (*http.Response, error) {
					if len(b.ended()) > 0 {
						return answer(http.StatusOK, "", `{}`), nil
					}
					return dripping(answer(c.status, "", ""), text), nil
				})
				req, err := http.NewRequestWithContext(t.Context(), c.method, chatURL, strings.NewReader("{}"))
				require.NoError(t, err)
				began := time.Now()
				resp, err := under(base, presets.OpenAITier1, l, guard.Policy{Retry: &retry.Policy{Initial: 1, Max: 1}}).RoundTrip(req)
				require.NoError(t, err)
				assert.Equal(t, c.took, time.Since(began).Truncate(time.Second))
				assert.Equal(t, c.returned, resp.StatusCode)
				assert.Equal(t, c.verdicts, b.verdicts())
				if c.returned == c.status {
					assert.Equal(t, text, read(t, resp))
				}
				resp.Body.Close()
			})
		})
	}
}

// A success is held back for two seconds at most, and then passed on as it comes.
func TestASuccessThatDrips(t *testing.T) {
	const text = `{"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
	for name, length := range map[string]int64{"of a length": int64(len(text)), "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, b := limiter(t)
				base := tripper(func(*http.Request) (*http.Response, error) {
					resp := dripping(answer(http.StatusOK, "", ""), text)
					resp.ContentLength = length
					return resp, nil
				})
				began := time.Now()
				resp := post(t, &http.Client{Transport: under(base, presets.OpenAITier1, l)}, chatURL, `{}`) //nolint:bodyclose // read does
				assert.Equal(t, 2*time.Second, time.Since(began))
				assert.Empty(t, b.ended(), "the call goes on until its body ends")
				assert.Equal(t, text, read(t, resp))
				assert.Equal(t, time.Duration(len(text)+1)*time.Second, time.Since(began))
				require.Equal(t, []adaptive.Verdict{adaptive.OK}, b.verdicts())
				assert.EqualValues(t, 3, b.ended()[0].Used.Tokens)
			})
		})
	}
}
