package fork_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/fork"
)

func TestStopEndsTheIntakeAndAfterTheGraceTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fork.New(t.Context(), t.Context(), false)
		defer f.End()
		first := &fork.StoppedError{Fork: "f", Node: "a"}
		f.Stop(first)
		f.Stop(&fork.StoppedError{Fork: "f", Node: "b"})
		assert.Equal(t, first, f.Intake.Stopped())
		time.Sleep(fork.Grace - time.Second)
		assert.False(t, f.Killed())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.True(t, f.Killed())
		assert.Equal(t, first, context.Cause(f.Context))
	})
}

func TestTheEndOfTheContextIsNoStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := fork.New(ctx, ctx, false)
	defer f.End()
	cancel(errors.New("boom"))
	f.Stop(&fork.StoppedError{Fork: "f", Node: "a"})
	assert.NoError(t, f.Intake.Stopped())
	assert.False(t, f.Killed())
	assert.Error(t, f.Intake.Err())
}

// A fork in an item lives no longer than the attempt. The context of the attempt may end before the intake of the run.
func TestTheIntakeEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := fork.New(ctx, t.Context(), true)
		defer f.End()
		assert.False(t, f.Intake.Outermost)
		cancel()
		synctest.Wait()
		assert.ErrorIs(t, f.Intake.Err(), context.Canceled)
		assert.NoError(t, f.Intake.Stopped())
	})
}
