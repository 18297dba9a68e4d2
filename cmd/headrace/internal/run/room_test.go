package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets/dialect"
)

// answers is a service with responses of a length that depends on the request.
type answers struct {
	calls atomic.Int64
	held  chan struct{} // when a request that says so is answered
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	text, _ := io.ReadAll(req.Body)
	a.calls.Add(1)
	if bytes.Contains(text, []byte(`"held"`)) {
		<-a.held
	}
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1,
		Body: io.NopCloser(bytes.NewReader(bytes.Replace(text, []byte(`"long"`), []byte(`"`+strings.Repeat("x", 100)+`"`), 1))), Request: req,
	}
	switch {
	case bytes.Contains(text, []byte(`"rejected"`)):
		resp.StatusCode = http.StatusTooManyRequests
	case bytes.Contains(text, []byte(`"unauthorized"`)):
		resp.StatusCode = http.StatusUnauthorized
	case bytes.Contains(text, []byte(`"wrong"`)):
		resp.Body = io.NopCloser(strings.NewReader("no JSON"))
	}
	return resp, nil
}

// stocked is a caller of a service with room for so many bytes.
func stocked(t *testing.T, to *answers, most int64) *caller {
	t.Helper()
	c := &caller{
		Run:  &settings.Run{Base: &url.URL{Scheme: "https", Host: "api.example.com"}, Dialect: dialect.Auto, Lines: requests.OpenAI},
		once: func(*requests.Request) string { return "" }, stop: func(error) {}, alike: alike{off: true}, room: newRoom(most, false),
	}
	var err error
	c.client, err = httpclient.New(httpclient.Config{
		NoIDs: true, Timeouts: httpclient.Timeouts{NoCall: true},
		Wrap: []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper { return to }},
	})
	require.NoError(t, err)
	t.Cleanup(c.client.Close)
	return c
}

// A response is read once there is room for it: until then, it is not in memory.
func TestResponsesWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stocked(t, &answers{}, 150)
		c.room.usual = 100
		ask := func(ctx context.Context, id, what string) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := c.call(ctx, requests.Request{ID: id, URL: "/", Body: fmt.Sprintf(`{"a":%q}`, what)})
				done <- err
			}()
			synctest.Wait()
			return done
		}
		require.NoError(t, <-ask(t.Context(), "first", "long"))
		require.Error(t, <-ask(t.Context(), "rejected", "rejected"), "it does not wait")
		ctx, cancel := context.WithCancelCause(t.Context())
		second, third := ask(t.Context(), "second", "long"), ask(ctx, "third", "long")
		require.Empty(t, second)
		require.Empty(t, third)
		errEnd := errors.New("the end")
		cancel(errEnd)
		require.ErrorIs(t, <-third, errEnd)
		c.room.gone("=first")
		require.NoError(t, <-second)
		c.room.gone("=second")
		require.Error(t, <-ask(t.Context(), "wrong", "wrong"))
		assert.Zero(t, c.room.used, "a failure keeps no room")
		assert.Empty(t, c.room.kept)
	})
}

// Each result gives its room back.
func TestARunWithLittleRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stocked(t, &answers{}, 1)
		c.MaxAttempts = 1
		var lines strings.Builder
		for i := range 50 {
			fmt.Fprintf(&lines, `{"custom_id":"r%d","url":"/","body":{"a":%q}}`+"\n", i, []string{"long", "short", "wrong"}[i%3])
		}
		j := &Job{Run: c.Run}
		var err error
		j.guard, err = guard.New(guard.Policy{Name: "api"})
		require.NoError(t, err)
		require.NoError(t, j.stream(t.Context(), j.batch(c), strings.NewReader(lines.String()), c.room, func(error) {}))
		assert.Equal(t, int64(34), j.outcome.Done)
		assert.Equal(t, int64(16), j.outcome.Failed)
		assert.Zero(t, c.room.used)
		assert.Empty(t, c.room.kept)
	})
}

// In the order of the requests, responses wait in memory for an earlier one, and further requests are not begun.
func TestAnOrderedRunWithLittleRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &answers{held: make(chan struct{})}
		c := stocked(t, to, 500)
		c.MaxAttempts, c.Ordered, c.Spec.Limits.Concurrency = 1, true, 2
		c.room.ordered = true
		var lines strings.Builder
		for i := range 100 {
			fmt.Fprintf(&lines, `{"custom_id":"r%d","url":"/","body":{"a":%q}}`+"\n", i, []string{"long", "held"}[max(0, 1-i)])
		}
		j := &Job{Run: c.Run}
		var err error
		j.guard, err = guard.New(guard.Policy{Name: "api"})
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			done <- j.stream(t.Context(), j.batch(c), strings.NewReader(lines.String()), c.room, func(error) {})
		}()
		synctest.Wait()
		full, workers := int64(5), int64(j.workers())
		assert.LessOrEqual(t, to.calls.Load(), full+workers)
		assert.Empty(t, done)
		close(to.held)
		require.NoError(t, <-done)
		assert.Equal(t, int64(100), j.outcome.Done)
		assert.Zero(t, c.room.used)
	})
}
