package replay_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/replay"
)

// What was looked at is given again by GetBody, and closed with the first attempt.
func TestPeek(t *testing.T) {
	first, made := from("abc"), []*source{}
	req := &http.Request{Body: first, ContentLength: -1, GetBody: func() (io.ReadCloser, error) {
		made = append(made, from("abc"))
		return made[len(made)-1], nil
	}}
	b, err := replay.Of(req, true, none, nil)
	require.NoError(t, err)
	head := make([]byte, 2)
	_, err = io.ReadFull(b.Peek(), head)
	require.NoError(t, err)
	assert.Zero(t, first.closes.Load())
	for range 2 {
		assert.Equal(t, "abc", attempt(t, &b, req))
	}
	b.Close()
	require.Len(t, made, 2)
	for _, s := range append(made, first) {
		assert.Equal(t, int32(1), s.closes.Load())
	}
}

func TestPeekWouldLoseTheBody(t *testing.T) {
	for _, req := range []*http.Request{{}, {Body: from("abc"), ContentLength: -1}, {Body: from("abc"), ContentLength: 3}} {
		b, err := replay.Of(req, true, none, nil)
		require.NoError(t, err)
		assert.Nil(t, b.Peek())
	}
}

// A short body is kept on request, although there is a GetBody.
func TestAWholeBodyIsKept(t *testing.T) {
	s := from("abc")
	req := &http.Request{Body: s, ContentLength: 3, GetBody: func() (io.ReadCloser, error) { panic("not needed") }}
	b, err := replay.Of(req, true, none, nil)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(b.Kept()))
	for range 2 {
		assert.Equal(t, "abc", attempt(t, &b, req))
	}
	assert.Equal(t, int32(1), s.closes.Load())
}

// slow says when it is being read, and waits until it is let.
type slow struct {
	*strings.Reader
	reading, let chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	s.reading <- struct{}{}
	<-s.let
	return s.Reader.Read(p)
}

func (s *slow) Close() error { return nil }

// The next attempt has the body when the one before no longer reads it, and
// that one reads nothing more. net/http's own GetBody is no other.
func TestOneAttemptReadsAtATime(t *testing.T) {
	for _, own := range []bool{false, true} {
		body := &slow{strings.NewReader("abc"), make(chan struct{}, 9), make(chan struct{})}
		req := &http.Request{Body: body, ContentLength: -1, GetBody: func() (io.ReadCloser, error) {
			_, err := body.Seek(0, io.SeekStart) // which the race detector sees beside a Read
			return body, err
		}}
		b, err := replay.Of(req, false, none, nil)
		require.NoError(t, err)
		first, second := *req, *req
		require.NoError(t, b.Next(&first))
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = first.Body.Read(make([]byte, 2))
		}()
		<-body.reading
		go close(body.let)
		if own {
			second.Body, err = first.GetBody()
		} else {
			err = b.Next(&second)
		}
		require.NoError(t, err)
		<-read
		_, err = first.Body.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
		text, err := io.ReadAll(second.Body)
		require.NoError(t, err)
		assert.Equal(t, "abc", string(text))
		b.Close()
	}
}
