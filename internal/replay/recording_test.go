package replay_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/replay"
)

func TestABodyOfUnknownLengthIsResent(t *testing.T) {
	for _, length := range []int64{-1, 0, replay.MaxKept + 5} {
		text := strings.Repeat("abcde", replay.MaxKept/5+2)[:replay.MaxKept+5]
		s := from(text)
		req := &http.Request{Body: s, ContentLength: length}
		b, err := replay.Of(req, false, replay.MaxResent, nil)
		require.NoError(t, err)
		assert.Zero(t, s.reads.Load(), "nothing is read in advance")
		for range 3 {
			require.True(t, b.Replayable())
			require.Equal(t, text, attempt(t, &b, req))
		}
		assert.Zero(t, s.closes.Load(), "it may be wanted again")
		b.Close()
		assert.Equal(t, int32(1), s.closes.Load())
	}
}

func TestABodyIsResentUpToABound(t *testing.T) {
	for text, again := range map[string]bool{"abc": true, "abcd": false} {
		s := from(text)
		req := &http.Request{Body: s, ContentLength: -1}
		b, err := replay.Of(req, false, 3, nil)
		require.NoError(t, err)
		assert.Equal(t, text, attempt(t, &b, req))
		assert.Equal(t, again, b.Replayable())
		if !again {
			assert.Equal(t, int32(1), s.closes.Load(), "it is of no more use")
			assert.ErrorContains(t, b.Next(&http.Request{}), "GetBody")
		}
		b.Close()
		assert.Equal(t, int32(1), s.closes.Load())
	}
}

// The rest of a body of which an attempt has read a part is read by the next one.
func TestABodyIsResentFromWhereItWasRead(t *testing.T) {
	s := from("abcdef")
	req := &http.Request{Body: s, ContentLength: -1}
	b, err := replay.Of(req, false, replay.MaxResent, nil)
	require.NoError(t, err)
	first := *req
	require.NoError(t, b.Next(&first))
	_, err = io.ReadFull(first.Body, make([]byte, 2))
	require.NoError(t, err)
	again, err := first.GetBody() // net/http's own second attempt
	require.NoError(t, err)
	_, err = first.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	got := make([]byte, 4)
	_, err = io.ReadFull(again, got)
	require.NoError(t, err)
	assert.Equal(t, "abcd", string(got))
	assert.Equal(t, "abcdef", attempt(t, &b, req))
	b.Close()
}

func TestABodyThatFailsIsNotResent(t *testing.T) {
	failure := errors.New("no more")
	req := &http.Request{Body: &source{Reader: io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(failure))}, ContentLength: -1}
	b, err := replay.Of(req, false, replay.MaxResent, nil)
	require.NoError(t, err)
	out := *req
	require.NoError(t, b.Next(&out))
	_, err = io.ReadAll(out.Body)
	require.ErrorIs(t, err, failure)
	assert.False(t, b.Replayable())
	b.Close()
}

// An attempt that was given up may still wait for a writer: what it reads then is for the next.
func TestABodyThatIsStillBeingReadIsResent(t *testing.T) {
	body := &slow{strings.NewReader("abc"), make(chan struct{}, 9), make(chan struct{})}
	req := &http.Request{Body: body, ContentLength: -1}
	b, err := replay.Of(req, false, 1, nil) // of what the next attempt needs, nothing is given up
	require.NoError(t, err)
	first := *req
	require.NoError(t, b.Next(&first))
	read := make(chan error)
	go func() {
		_, err := first.Body.Read(make([]byte, 2))
		read <- err
	}()
	<-body.reading
	second := *req
	require.NoError(t, b.Next(&second))
	close(body.let)
	require.ErrorIs(t, <-read, io.ErrClosedPipe)
	text, err := io.ReadAll(second.Body)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(text))
	b.Close()
}

func TestPeekOfABodyOfKnownLength(t *testing.T) {
	text := strings.Repeat("x", replay.MaxKept) + "abc"
	s := from(text + "more than it says")
	req := &http.Request{Body: s, ContentLength: int64(len(text))}
	b, err := replay.Of(req, true, replay.MaxResent, nil)
	require.NoError(t, err)
	got, err := io.ReadAll(b.Peek())
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
	for range 2 {
		assert.Equal(t, text+"more than it says", attempt(t, &b, req), "what sends it reports the length")
	}
	b.Close()
	b, err = replay.Of(&http.Request{Body: from(text), ContentLength: int64(len(text))}, true, 100, nil)
	require.NoError(t, err)
	assert.Nil(t, b.Peek())
	b.Close()
}
