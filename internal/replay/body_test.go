package replay_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/replay"
)

// source is a body that knows what was done with it.
type source struct {
	io.Reader
	reads, closes atomic.Int32
}

func from(text string) *source { return &source{Reader: strings.NewReader(text)} }

func (s *source) Read(p []byte) (int, error) { s.reads.Add(1); return s.Reader.Read(p) }
func (s *source) Close() error               { s.closes.Add(1); return nil }

// none is kept of a body that is sent.
const none = 0

// attempt reads the next body to its end and closes it.
func attempt(t require.TestingT, b *replay.Body, req *http.Request) string {
	out := *req
	require.NoError(t, b.Next(&out))
	if out.Body == nil {
		return ""
	}
	text, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
	return string(text)
}

func TestNoBody(t *testing.T) {
	for _, nothing := range []io.ReadCloser{nil, http.NoBody} {
		req := &http.Request{Body: nothing}
		b, err := replay.Of(req, false, none, nil)
		require.NoError(t, err)
		for range 3 {
			assert.True(t, b.Replayable())
			out := *req
			require.NoError(t, b.Next(&out))
			assert.Equal(t, nothing, out.Body)
			assert.Nil(t, out.GetBody)
		}
		assert.Nil(t, b.Kept())
		b.Close()
	}
}

func TestBodyWithGetBody(t *testing.T) {
	first, made := from("abc"), []*source{}
	req := &http.Request{Body: first, ContentLength: 3, GetBody: func() (io.ReadCloser, error) {
		made = append(made, from("abc"))
		return made[len(made)-1], nil
	}}
	b, err := replay.Of(req, false, none, nil)
	require.NoError(t, err)
	assert.Zero(t, first.reads.Load())
	assert.Nil(t, b.Kept())
	assert.Equal(t, "abc", attempt(t, &b, req))
	assert.Empty(t, made, "the first attempt has the body itself")
	assert.True(t, b.Replayable())
	assert.Equal(t, "abc", attempt(t, &b, req))
	require.Len(t, made, 1)
	b.Close()
	assert.Equal(t, int32(1), first.closes.Load())
	assert.Equal(t, int32(1), made[0].closes.Load())

	out := *req
	require.NoError(t, b.Next(&out))
	assert.NotNil(t, out.GetBody, "net/http may want it")
}

func TestGetBodyFails(t *testing.T) {
	failure := errors.New("gone")
	req := &http.Request{Body: from("a"), GetBody: func() (io.ReadCloser, error) { return nil, failure }}
	b, err := replay.Of(req, false, none, nil)
	require.NoError(t, err)
	attempt(t, &b, req)
	assert.ErrorIs(t, b.Next(&http.Request{}), failure)
}

// net/http would read a nil body on a goroutine of its own, and end the program.
func TestGetBodyReturnsNothing(t *testing.T) {
	req := &http.Request{Body: from("a"), GetBody: func() (io.ReadCloser, error) { return nil, nil }}
	b, err := replay.Of(req, false, none, nil)
	require.NoError(t, err)
	attempt(t, &b, req)
	assert.ErrorContains(t, b.Next(&http.Request{}), "neither a body nor an error")
}

func TestBodyIsKept(t *testing.T) {
	for _, length := range []int{1, 1000, replay.MaxKept} {
		text := strings.Repeat("x", length)
		s := from(text)
		req := &http.Request{Body: s, ContentLength: int64(length)}
		b, err := replay.Of(req, false, none, nil)
		require.NoError(t, err)
		assert.Equal(t, int32(1), s.closes.Load())
		assert.Equal(t, text, string(b.Kept()))
		for range 3 {
			require.True(t, b.Replayable())
			require.Equal(t, text, attempt(t, &b, req))
		}
		out := *req
		require.NoError(t, b.Next(&out))
		again, err := out.GetBody()
		require.NoError(t, err)
		copied, err := io.ReadAll(again)
		require.NoError(t, err)
		assert.Equal(t, text, string(copied))
		b.Close()
		assert.Equal(t, int32(1), s.closes.Load())
	}
}

// A body that is longer or shorter than declared is sent unchanged: the sender reports it.
func TestBodyOfAnotherLength(t *testing.T) {
	for text, want := range map[string]string{"ab": "ab", "abcdef": "abcd"} {
		req := &http.Request{Body: from(text), ContentLength: 3}
		b, err := replay.Of(req, false, none, nil)
		require.NoError(t, err)
		assert.Equal(t, want, attempt(t, &b, req))
	}
}

func TestBodyThatCannotBeRead(t *testing.T) {
	failure := errors.New("no more")
	s := &source{Reader: iotest.ErrReader(failure)}
	_, err := replay.Of(&http.Request{Body: s, ContentLength: 3}, false, none, nil)
	assert.ErrorIs(t, err, failure)
	assert.Equal(t, int32(1), s.closes.Load())
}

func TestBodyOnce(t *testing.T) {
	for _, length := range []int64{0, -1, replay.MaxKept + 1} {
		s := from("abc")
		req := &http.Request{Body: s, ContentLength: length}
		b, err := replay.Of(req, false, none, nil)
		require.NoError(t, err)
		assert.Zero(t, s.reads.Load())
		assert.True(t, b.Replayable())
		assert.Equal(t, "abc", attempt(t, &b, req))
		assert.False(t, b.Replayable())
		assert.ErrorContains(t, b.Next(&http.Request{}), "GetBody")
		b.Close()
		assert.Equal(t, int32(1), s.closes.Load())
	}
}

// It has not been read: a connection that could not be made costs no upload.
func TestBodyOnceGoesOnUnread(t *testing.T) {
	s := from("abc")
	req := &http.Request{Body: s, ContentLength: -1}
	b, err := replay.Of(req, false, none, nil)
	require.NoError(t, err)
	first := *req
	require.NoError(t, b.Next(&first))
	require.NoError(t, first.Body.Close())
	assert.Zero(t, s.closes.Load(), "it is still wanted")
	assert.True(t, b.Replayable())

	second := *req
	require.NoError(t, b.Next(&second))
	_, err = first.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.ErrClosedPipe, "the first attempt has it no more")
	require.NoError(t, first.Body.Close())
	text, err := io.ReadAll(second.Body)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(text))
	assert.False(t, b.Replayable())
	require.NoError(t, second.Body.Close())
	require.NoError(t, second.Body.Close())
	b.Close()
	b.Close()
	assert.Equal(t, int32(1), s.closes.Load())
}

// It cannot be read after the attempt has ended.
func TestBodyOnceIsTakenBack(t *testing.T) {
	s := from("abc")
	req := &http.Request{Body: s, ContentLength: -1}
	b, err := replay.Of(req, false, none, nil)
	require.NoError(t, err)
	first := *req
	require.NoError(t, b.Next(&first))
	assert.Equal(t, "abc", attempt(t, &b, req))
	_, err = first.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	require.NoError(t, first.Body.Close())
	assert.Equal(t, int32(1), s.closes.Load())
}

func TestClose(t *testing.T) {
	t.Run("what nobody was given", func(t *testing.T) {
		for _, getBody := range []func() (io.ReadCloser, error){nil, func() (io.ReadCloser, error) { return http.NoBody, nil }} {
			s := from("abc")
			b, err := replay.Of(&http.Request{Body: s, ContentLength: -1, GetBody: getBody}, false, none, nil)
			require.NoError(t, err)
			b.Close()
			b.Close()
			if getBody != nil {
				assert.Equal(t, int32(1), s.closes.Load())
			} else {
				assert.Positive(t, s.closes.Load())
			}
		}
	})
	t.Run("what was closed unread", func(t *testing.T) {
		s := from("abc")
		req := &http.Request{Body: s, ContentLength: -1}
		b, _ := replay.Of(req, false, none, nil)
		require.NoError(t, b.Next(req))
		require.NoError(t, req.Body.Close())
		b.Close()
		b.Close()
		assert.Equal(t, int32(1), s.closes.Load())
		_, err := req.Body.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
	})
	t.Run("not what an attempt still has", func(t *testing.T) {
		s := from("abc")
		req := &http.Request{Body: s, ContentLength: -1}
		b, _ := replay.Of(req, false, none, nil)
		require.NoError(t, b.Next(req))
		b.Close()
		assert.Zero(t, s.closes.Load(), "an answer may come before the body is asked for")
		text, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		assert.Equal(t, "abc", string(text))
		require.NoError(t, req.Body.Close())
		assert.Equal(t, int32(1), s.closes.Load())
	})
	t.Run("left unread after the end", func(t *testing.T) {
		s := from("abc")
		req := &http.Request{Body: s, ContentLength: -1}
		b, _ := replay.Of(req, false, none, nil)
		require.NoError(t, b.Next(req))
		b.Close()
		require.NoError(t, req.Body.Close())
		assert.Equal(t, int32(1), s.closes.Load())
	})
}

// Whatever the attempts do, each gets the whole body, none gets it after
// another has read from it, and every body is closed, the source once.
func TestBodyProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 40, 40).Draw(t, "text")
		kind := rapid.SampledFrom([]string{"none", "again", "kept", "recorded", "once"}).Draw(t, "kind")
		s := from(text)
		made := []*source{s}
		req := &http.Request{Body: s, ContentLength: -1}
		switch kind {
		case "none":
			req.Body, text, made = nil, "", nil
		case "again":
			req.GetBody = func() (io.ReadCloser, error) {
				made = append(made, from(text))
				return made[len(made)-1], nil
			}
		case "kept":
			req.ContentLength = int64(len(text))
		}
		resent := int64(none)
		if kind == "recorded" {
			resent = int64(len(text))
		}
		b, err := replay.Of(req, false, resent, nil)
		require.NoError(t, err)
		used := false
		for range rapid.IntRange(0, 5).Draw(t, "attempts") {
			require.Equal(t, kind != "once" || !used, b.Replayable())
			out := *req
			if err := b.Next(&out); err != nil {
				require.True(t, used && kind == "once")
				break
			}
			if n := rapid.IntRange(0, 40).Draw(t, "begins"); kind == "recorded" && n < len(text) {
				got := make([]byte, n)
				_, err := io.ReadFull(out.Body, got)
				require.NoError(t, err)
				require.Equal(t, text[:n], string(got))
				require.NoError(t, b.Next(&out))
			}
			if rapid.Bool().Draw(t, "reads") && out.Body != nil {
				got, err := io.ReadAll(out.Body)
				require.NoError(t, err)
				require.Equal(t, text, string(got))
				used = true
			}
			for range rapid.IntRange(1, 2).Draw(t, "closes") {
				if out.Body != nil {
					require.NoError(t, out.Body.Close())
				}
			}
		}
		b.Close()
		for _, one := range made {
			require.Positive(t, one.closes.Load())
		}
		if kind == "once" || kind == "recorded" {
			require.Equal(t, int32(1), s.closes.Load())
		}
	})
}

// A body that is in memory is not read, not copied, and can be sent again.
func TestABodyThatIsReady(t *testing.T) {
	text := []byte("text")
	req := &http.Request{Method: http.MethodPost}
	ready := new(replay.Ready)
	ready.Init(text)
	req.Body, req.ContentLength = ready, int64(len(text))
	b, err := replay.Of(req, false, 0, nil)
	require.NoError(t, err)
	defer b.Close()
	assert.Same(t, &text[0], &b.Kept()[0])
	for range 2 {
		require.True(t, b.Replayable())
		out := req.Clone(t.Context())
		require.NoError(t, b.Next(out))
		got, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		assert.Equal(t, "text", string(got))
	}
}
