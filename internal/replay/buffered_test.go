package replay_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/replay"
)

// server answers with as many bytes as the path says, after its header if the query says so.
func server(t *testing.T) (s *httptest.Server, more chan struct{}) {
	t.Helper()
	more = make(chan struct{})
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header().Set("Content-Length", strconv.Itoa(n))
		if r.URL.RawQuery == "slow" {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-more
			n--
		}
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	}))
	s.EnableHTTP2 = true
	t.Cleanup(func() { s.Close() })
	return s, more
}

func get(ctx context.Context, t *testing.T, s *httptest.Server, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, http.NoBody)
	require.NoError(t, err)
	resp, err := s.Client().Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// around is a body of which Reads are counted.
type around struct {
	io.ReadCloser

	reads int
}

func (a *around) Within() io.ReadCloser { return a.ReadCloser }

func (a *around) Read(p []byte) (int, error) {
	a.reads++
	return a.ReadCloser.Read(p)
}

// A version of net/http with other bodies than this one would fail this test. Nothing else would break: every
// body would be read on a goroutine of its own.
func TestAShortBodyArrivesWithItsHeader(t *testing.T) {
	s, more := server(t)
	s.Start()
	short := get(t.Context(), t, s, "/100").Body
	assert.True(t, replay.Holds(short, 100))
	assert.True(t, replay.Holds(&around{ReadCloser: short}, 100))
	assert.False(t, replay.Holds(short, 99), "there would be no end")
	_, err := short.Read(make([]byte, 1))
	require.NoError(t, err)
	assert.False(t, replay.Holds(short, 100), "a part was read")
	assert.False(t, replay.Holds(get(t.Context(), t, s, "/100000").Body, 100000), "longer than the buffer")
	assert.False(t, replay.Holds(get(t.Context(), t, s, "/100?slow").Body, 100), "it has not arrived")
	close(more)
	for _, other := range []io.Reader{nil, http.NoBody, strings.NewReader("x"), io.NopCloser(strings.NewReader("x")), &around{ReadCloser: http.NoBody}, rest("x")} {
		assert.False(t, replay.Holds(other, 1))
	}
}

// rest is not a pointer.
type rest string

func (rest) Read([]byte) (int, error) { return 0, io.EOF }

func TestNothingIsKnownOfABodyOfHTTP2(t *testing.T) {
	s, _ := server(t)
	s.StartTLS()
	resp := get(t.Context(), t, s, "/100")
	require.Equal(t, 2, resp.ProtoMajor)
	assert.False(t, replay.Holds(resp.Body, 100))
}

// A body that has arrived is read at once by the goroutine that asks for it, and its connection is free for the next.
func TestKeepABodyThatHasArrived(t *testing.T) {
	s, _ := server(t)
	s.Start()
	reused := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	var k replay.Keeper
	for range 2 {
		body := &around{ReadCloser: get(ctx, t, s, "/100").Body}
		a := k.Keep(body, 100, time.Hour, nil)
		assert.Equal(t, strings.Repeat("x", 100), string(a.Head()))
		assert.True(t, a.Whole())
		require.NoError(t, a.Err())
		assert.Equal(t, 1, body.reads)
		text, err := io.ReadAll(a)
		require.NoError(t, err)
		assert.Len(t, text, 100)
	}
	assert.True(t, reused)
}

// Of a body that has not arrived, what is there in time is passed on.
func TestKeepABodyThatArrivesLater(t *testing.T) {
	s, more := server(t)
	s.Start()
	a := new(replay.Keeper).Keep(get(t.Context(), t, s, "/100?slow").Body, 100, time.Millisecond, nil)
	assert.False(t, a.Whole())
	assert.LessOrEqual(t, len(a.Head()), 1)
	close(more)
	text, err := io.ReadAll(a)
	require.NoError(t, err)
	assert.Len(t, text, 100)
}
