package headrace_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
)

// A stream that is the probe of a breaker, or of a closed key, does not hold up other calls until its end.
func TestOtherCallsDoNotWaitForTheEndOfAStream(t *testing.T) {
	for name, c := range map[string]struct {
		failure func() *http.Response
		kind    string
		begins  string
		answers bool
	}{
		"breaker":                     {failed, "text/event-stream", "data: {}\n\n", true},
		"breaker, error":              {failed, "text/event-stream", "data: {\"error\":{\"code\":500}}\n\n", false},
		"breaker, error and end":      {failed, "text/event-stream", "data: {\"error\":{\"code\":500}}\n\ndata: [DONE]\n\n", false},
		"breaker, comment":            {failed, "text/event-stream", ": heartbeat\n\n", false},
		"breaker, part of an event":   {failed, "text/event-stream", "data: {\"id\":\"1\"}\n", false},
		"breaker, event with a usage": {failed, "text/event-stream", "event: a\ndata: {\"usage\":{}}\n\n", true},
		"breaker, blanks":             {failed, "application/x-ndjson", " \n \n", false},
		"breaker, JSON":               {failed, "application/x-ndjson", `{"id":`, true},
		"breaker, bytes":              {failed, "application/octet-stream", "\n", true},
		"closed key":                  {noMoney, "text/event-stream", "data: {}\n\n", true},
		"closed key, error":           {noMoney, "text/event-stream", "data: {\"error\":{\"code\":500}}\n\n", false},
		"closed key, bytes":           {noMoney, "application/octet-stream", "\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails, streams := true, []*io.PipeWriter{}
				base := tripper(func(*http.Request) (*http.Response, error) {
					if fails {
						return c.failure(), nil
					}
					r, w := io.Pipe()
					streams = append(streams, w)
					resp := answer(http.StatusOK, "Content-Type: "+c.kind, "")
					resp.ContentLength, resp.Body = -1, r
					return resp, nil
				})
				reopened := 0
				g, err := guard.New(guard.Policy{
					Breaker: &breaker.Config{Failures: 1, Successes: 1},
					Observer: event.Func(func(e event.Event) {
						if e.Kind == event.LimiterReopened || e.Kind == event.BreakerClosed {
							reopened++
						}
					}),
				})
				require.NoError(t, err)
				client := &http.Client{Transport: headrace.Transport(base, "", headrace.Within(g))}
				read(t, post(t, client, secretURL, "{}")) //nolint:bodyclose // read does
				fails = false
				time.Sleep(2 * time.Minute)

				first := post(t, client, secretURL, "{}")
				go func() {
					_, _ = streams[0].Write([]byte(c.begins))
				}()
				_, err = io.ReadFull(first.Body, make([]byte, len(c.begins)))
				require.NoError(t, err)
				assert.Equal(t, c.answers, reopened == 1)
				began := time.Now()
				second, err := client.Post(secretURL, "application/json", nil)
				if c.answers {
					require.NoError(t, err)
					assert.Zero(t, time.Since(began))
				} else {
					assert.NotZero(t, time.Since(began))
				}
				for _, w := range streams {
					assert.NoError(t, w.Close())
				}
				read(t, first)
				if err == nil {
					read(t, second)
				}
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}

func failed() *http.Response { return answer(http.StatusInternalServerError, "", "{}") }

func noMoney() *http.Response { return answer(http.StatusTooManyRequests, "", money) }

// A probe that fails after it has begun to answer opens the breaker again.
func TestAStreamThatBreaksCountsForTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body *io.PipeWriter
		base := tripper(func(*http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			body = w
			resp := answer(http.StatusOK, "Content-Type: text/event-stream", "")
			resp.ContentLength, resp.Body = -1, r
			return resp, nil
		})
		g, err := guard.New(guard.Policy{Breaker: &breaker.Config{Failures: 1, Successes: 1}, Retry: &retry.Policy{MaxAttempts: 1}})
		require.NoError(t, err)
		client := &http.Client{Transport: headrace.Transport(base, "", headrace.Within(g))}
		for range 2 {
			resp := post(t, client, secretURL, "{}")
			go func() {
				_, _ = body.Write([]byte("data: {}\n\n"))
				_ = body.CloseWithError(errors.New("reset"))
			}()
			_, err = io.ReadAll(resp.Body)
			require.ErrorContains(t, err, "reset")
			assert.NoError(t, resp.Body.Close())
			_, err = client.Post(secretURL, "application/json", nil) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, breaker.ErrOpen)
			time.Sleep(time.Minute)
		}
	})
}

// A stream that has begun shows that calls get through: the key is not closed although no call has ended well for 15 minutes.
func TestAStreamShowsThatCallsGetThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		base := tripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Path == "/stream":
				body, w := io.Pipe()
				go func() {
					_, _ = w.Write([]byte("data: {}\n\n"))
					time.Sleep(time.Hour)
					_ = w.Close()
				}()
				resp := answer(http.StatusOK, "Content-Type: text/event-stream", "")
				resp.ContentLength, resp.Body = -1, body
				return resp, nil
			case time.Since(began) < 18*time.Minute:
				return answer(http.StatusTooManyRequests, "", "{}"), nil
			}
			return answer(http.StatusOK, "", "{}"), nil
		})
		g, err := guard.New(guard.Policy{})
		require.NoError(t, err)
		client := &http.Client{Transport: headrace.Transport(base, "", headrace.Within(g))}
		for _, c := range []struct {
			after time.Duration
			path  string
			want  int
		}{
			{0, "", http.StatusTooManyRequests}, // for longer than MaxWait
			{8 * time.Minute, "stream", http.StatusOK},
			{6 * time.Minute, "", http.StatusOK},
		} {
			time.Sleep(c.after)
			go func() {
				resp, err := client.Post("https://api.openai.com/"+c.path, "application/json", strings.NewReader("{}"))
				if assert.NoError(t, err) {
					assert.Equal(t, c.want, resp.StatusCode, c.path)
					read(t, resp)
				}
			}()
		}
		time.Sleep(3 * time.Hour)
		assert.Zero(t, g.Stats().InFlight)
	})
}
