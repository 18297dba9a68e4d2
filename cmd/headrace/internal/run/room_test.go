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
type answers struct{}

func (answers) RoundTrip(req *http.Request) (*http.Response, error) {
	text, _ := io.ReadAll(req.Body)
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1,
		Body: io.NopCloser(bytes.NewReader(bytes.Replace(text, []byte(`"long"`), []byte(`"`+strings.Repeat("x", 100)+`"`), 1))), Request: req,
	}
	switch {
	case bytes.Contains(text, []byte(`"rejected"`)):
		resp.StatusCode = http.StatusTooManyRequests
	case bytes.Contains(text, []byte(`"wrong"`)):
		resp.Body = io.NopCloser(strings.NewReader("no JSON"))
	}
	return resp, nil
}

// stocked is a caller of that service with room for so many bytes.
func stocked(t *testing.T, most int64) *caller {
	t.Helper()
	c := &caller{
		Run:  &settings.Run{Base: &url.URL{Scheme: "https", Host: "api.example.com"}, Dialect: dialect.Auto, Lines: requests.OpenAI},
		once: func(*requests.Request) string { return "" }, stop: func(error) {}, alike: alike{off: true}, room: newRoom(most),
	}
	var err error
	c.client, err = httpclient.New(httpclient.Config{
		NoIDs: true, Timeouts: httpclient.Timeouts{NoCall: true},
		Wrap: []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper { return answers{} }},
	})
	require.NoError(t, err)
	t.Cleanup(c.client.Close)
	return c
}

// A response is read once there is room for it: until then, it is not in memory.
func TestResponsesWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stocked(t, 150)
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
		c := stocked(t, 1)
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
