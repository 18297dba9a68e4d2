package run_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
	_, err := run.Open(ctx, nil, func() (io.Closer, error) {
		<-opened
		return it, nil
	})
	require.ErrorIs(t, err, reason)
	close(opened)
	<-it
}

// What is opened at once is not waited for.
func TestOnlyALongWaitIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []time.Duration{0, time.Second - 1, time.Second + 1, time.Hour} {
			began := time.Now()
			var late []time.Duration
			_, err := run.Open(t.Context(), func() { late = append(late, time.Since(began)) }, func() (io.Closer, error) {
				<-time.After(takes)
				return make(closing), nil
			})
			require.NoError(t, err)
			if takes < time.Second {
				assert.Empty(t, late)
			} else {
				assert.Equal(t, []time.Duration{time.Second}, late)
			}
		}
	})
}

// Nothing behind a bad line is started with --strict: it could be named in its place.
func TestStrictStartsNothingBehindABadLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, run.StrictLines(strings.NewReader(strings.Repeat("nonsense\n", 3))))
}
