package replay_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/replay"
)

// piped is a request with a body that arrives when it is written, and with a Close that does not end a Read.
func piped(t *testing.T, length int64) (*http.Request, *io.PipeWriter) {
	t.Helper()
	from, to := io.Pipe()
	t.Cleanup(func() { _ = to.Close() })
	return &http.Request{Body: io.NopCloser(from), ContentLength: length}, to
}

// An attempt gives up its body while a Read of it waits. What that Read returns is for the next attempt.
func TestAReadThatIsLeftBehindIsForTheNextAttempt(t *testing.T) {
	for name, leave := range map[string]func(cancel func(), out *http.Request, b *replay.Body){
		"its context ends":          func(cancel func(), _ *http.Request, _ *replay.Body) { cancel() },
		"it closes the body":        func(_ func(), out *http.Request, _ *replay.Body) { _ = out.Body.Close() },
		"another attempt begins":    func(_ func(), _ *http.Request, b *replay.Body) { _ = b.Next(&http.Request{}) },
		"net/http asks for another": func(_ func(), out *http.Request, _ *replay.Body) { _, _ = out.GetBody() },
		"it closes, then ends":      func(cancel func(), out *http.Request, _ *replay.Body) { _ = out.Body.Close(); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, to := piped(t, -1)
				b, err := replay.Of(req, false, replay.MaxResent, nil)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := req.WithContext(ctx)
				require.NoError(t, b.Next(first))
				read := make(chan error)
				go func() {
					_, err := io.ReadAll(first.Body)
					read <- err
				}()
				_, err = io.WriteString(to, "abc")
				require.NoError(t, err)
				synctest.Wait() // for the next Read to wait
				leave(cancel, first, &b)
				require.Error(t, <-read)
				second := req.WithContext(t.Context())
				require.True(t, b.Replayable())
				require.NoError(t, b.Next(second))
				go func() {
					_, _ = io.WriteString(to, "def")
					_ = to.Close()
				}()
				text, err := io.ReadAll(second.Body)
				require.NoError(t, err)
				assert.Equal(t, "abcdef", string(text))
				b.Close()
			})
		})
	}
}

func TestABodyThatIsKeptIsReadNoLongerThanItsContext(t *testing.T) {
	req, to := piped(t, 10)
	reason := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = io.WriteString(to, "abc")
		cancel(reason)
	}()
	_, err := replay.Of(req.WithContext(ctx), false, replay.MaxResent, nil)
	assert.ErrorIs(t, err, reason)
}

type reads func([]byte) (int, error)

func (f reads) Read(p []byte) (int, error) { return f(p) }

// The Read is not on the goroutine of its caller, where a panic could be recovered.
func TestAReadThatPanicsIsAnError(t *testing.T) {
	_, err := replay.Of(&http.Request{Body: io.NopCloser(reads(func([]byte) (int, error) { panic("no") })), ContentLength: 3}, false, none, nil)
	assert.ErrorAs(t, err, new(*fault.PanicError))
	_, err = replay.Of(&http.Request{Body: io.NopCloser(reads(func([]byte) (int, error) { runtime.Goexit(); return 0, nil })), ContentLength: 3}, false, none, nil)
	assert.ErrorContains(t, err, "ended its goroutine")
}
