package pipenet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/pipenet"
)

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = io.WriteString(c, "hello")
				_ = c.Close()
			}
		}()
		c, err := l.Dial(t.Context(), "tcp", "anywhere:1")
		require.NoError(t, err)
		said, err := io.ReadAll(c)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(said))

		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			cancel(gone)
		}()
		_, err = l.Dial(ctx, "tcp", "")
		require.ErrorIs(t, err, gone, "it is not accepted")

		require.NoError(t, l.Close())
		require.NoError(t, l.Close())
		_, err = l.Dial(t.Context(), "tcp", "")
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
