package run_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

type closing chan struct{}

func (c closing) Close() error { close(c); return nil }

// A named pipe may be opened long after the run was cancelled.
func TestWhatIsOpenedTooLateIsClosed(t *testing.T) {
	t.Parallel()
	reason := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	opened, it := make(chan struct{}), make(closing)
	_, err := run.Open(ctx, func() (io.Closer, error) {
		<-opened
		return it, nil
	})
	require.ErrorIs(t, err, reason)
	close(opened)
	<-it
}
