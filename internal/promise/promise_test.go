package promise_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/promise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestADeliveredAnswerIsTaken(t *testing.T) {
	p := promise.New[int]()
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} { // it can be used again
		assert.False(t, p.Abandoned())
		assert.True(t, p.Deliver(7, want))
		<-p.Done()
		got, err := p.Take()
		assert.Equal(t, 7, got)
		assert.Equal(t, want, err)
	}
	got, err := p.Take()
	assert.Zero(t, got, "no answer is kept for the next caller")
	assert.NoError(t, err)
}

func TestAnAbandonedPromiseIsNotDelivered(t *testing.T) {
	p := promise.New[int]()
	assert.True(t, p.Abandon())
	assert.True(t, p.Abandoned())
	assert.False(t, p.Deliver(7, nil))
	assert.Empty(t, p.Done())
}

func TestALateAbandonLeavesTheAnswer(t *testing.T) {
	p := promise.New[int]()
	assert.True(t, p.Deliver(7, nil))
	assert.False(t, p.Abandon())
	got, _ := p.Take()
	assert.Equal(t, 7, got)
}

// Each answer is either taken or known to be abandoned, whichever side is first.
func TestNoAnswerIsLostOrTakenTwice(t *testing.T) {
	for range 1000 {
		p := promise.New[int]()
		var wg sync.WaitGroup
		var delivered bool
		wg.Go(func() { delivered = p.Deliver(7, nil) })
		abandoned := p.Abandon()
		if !abandoned {
			got, _ := p.Take()
			assert.Equal(t, 7, got)
		}
		wg.Wait()
		assert.NotEqual(t, abandoned, delivered)
	}
}
