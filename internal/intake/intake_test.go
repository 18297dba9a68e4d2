package intake_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/intake"
)

func TestWithoutAnIntakeItIsTheContext(t *testing.T) {
	in, ok := intake.Of(t.Context())
	assert.Equal(t, t.Context(), in)
	assert.False(t, ok)
	waiting, release := intake.Waiting(t.Context())
	release()
	assert.Equal(t, t.Context(), waiting)
}

func TestWaitingEndsWithTheFirstOfBoth(t *testing.T) {
	early := errors.New("early")
	for _, nested := range []bool{false, true} {
		in, stop := context.WithCancelCause(t.Context())
		ctx := intake.With(t.Context(), in)
		end := stop
		if nested {
			ctx, end = context.WithCancelCause(ctx)
		}
		waiting, release := intake.Waiting(ctx)
		end(early)
		<-waiting.Done()
		assert.Equal(t, early, context.Cause(waiting))
		release()
		stop(io.EOF)
		got, ok := intake.Of(ctx)
		assert.True(t, ok)
		assert.Same(t, in, got)
	}
}
