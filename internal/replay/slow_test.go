package replay_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/replay"
)

// stuck is a body that gives its text, and then nothing until it is closed.
type stuck struct {
	text   io.Reader
	closed chan struct{}
	once   sync.Once
	deaf   bool // closing does not end a Read
}

func (s *stuck) Read(p []byte) (int, error) {
	if n, err := s.text.Read(p); err == nil {
		return n, nil
	}
	<-s.closed
	if s.deaf {
		<-time.NewTimer(time.Hour).C
	}
	return 0, errors.New("closed")
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func TestKeepFor(t *testing.T) {
	for name, c := range map[string]struct {
		body func() io.ReadCloser
		want string
		took time.Duration
		err  error
	}{
		"at once": {func() io.ReadCloser { return io.NopCloser(strings.NewReader("abc")) }, "abc", 0, nil},
		"stuck": {func() io.ReadCloser {
			return &stuck{text: strings.NewReader("ab"), closed: make(chan struct{})}
		}, "ab", 2 * time.Second, io.ErrUnexpectedEOF},
		"stuck for good": {func() io.ReadCloser {
			return &stuck{text: strings.NewReader("ab"), closed: make(chan struct{}), deaf: true}
		}, "ab", 3 * time.Second, io.ErrUnexpectedEOF},
		"panics": {func() io.ReadCloser { return io.NopCloser(io.MultiReader(readPanic{})) }, "", 0, errRead},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a := replay.KeepFor(c.body(), -1, 2*time.Second)
				assert.Equal(t, c.took, time.Since(began))
				text, err := io.ReadAll(a)
				assert.Equal(t, c.want, string(text))
				assert.ErrorIs(t, err, c.err)
				assert.NoError(t, a.Close())
				time.Sleep(2 * time.Hour) // until the last Read has ended
			})
		})
	}
}

func TestKeepWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := replay.KeepWithin(io.NopCloser(strings.NewReader("abc")), -1, time.Second)
		assert.Equal(t, "abc", string(a.Head()))
		assert.True(t, a.Whole())
		a = replay.KeepWithin(io.NopCloser(io.MultiReader(readPanic{})), -1, time.Second)
		assert.ErrorIs(t, a.Err(), errRead)
		assert.Zero(t, time.Since(began))

		body := &stuck{text: strings.NewReader("ab"), closed: make(chan struct{})}
		a = replay.KeepWithin(body, -1, time.Second)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, "ab", string(a.Head()))
		assert.False(t, a.Whole())
		time.AfterFunc(time.Minute, func() { assert.NoError(t, a.Close()) })
		text, err := io.ReadAll(a)
		assert.Equal(t, "ab", string(text))
		assert.ErrorContains(t, err, "closed")
		assert.Equal(t, time.Minute+time.Second, time.Since(began))

		body = &stuck{text: strings.NewReader("ab"), closed: make(chan struct{})}
		a = replay.KeepWithin(body, -1, time.Second)
		a.Release()
		text, err = io.ReadAll(a)
		assert.Equal(t, "ab", string(text))
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// Read after Close must not wait for what a Read before is waiting for.
func TestReadAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := replay.KeepWithin(&stuck{text: strings.NewReader("ab"), closed: make(chan struct{}), deaf: true}, -1, time.Second)
		go func() {
			text, err := io.ReadAll(a)
			assert.Equal(t, "ab", string(text))
			assert.ErrorContains(t, err, "closed")
		}()
		synctest.Wait()
		began := time.Now()
		assert.NoError(t, a.Close())
		_, err := a.Read(make([]byte, 1))
		assert.ErrorIs(t, err, http.ErrBodyReadAfterClose)
		assert.Zero(t, time.Since(began))
		time.Sleep(2 * time.Hour) // until the first Read has ended
	})
}

var errRead = errors.New("read")

type readPanic struct{}

func (readPanic) Read([]byte) (int, error) { panic(errRead) }
