package throttle

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a limiter keeps for calls grows with how many there are at once, not
// with how many there were.
func TestRecordsAndWaitersAreUsedAgain(t *testing.T) {
	l, err := New(Limits{})
	require.NoError(t, err)
	for range 100 {
		var open []Permit
		for range 5 {
			p, err := l.Acquire(context.Background(), Cost{})
			require.NoError(t, err)
			open = append(open, p)
		}
		for _, p := range open {
			p.Release()
			p.Release()
		}
	}
	assert.Len(t, l.records, 5)
	assert.Len(t, l.free, 5)

	var q queue
	a, b := &waiter{ready: make(chan struct{}, 1), permit: Permit{l: l}}, &waiter{err: assert.AnError}
	q.put(a)
	q.put(b)
	assert.Same(t, b, q.get())
	assert.Equal(t, &waiter{}, b, "nothing of its last call is left")
	ready := a.ready
	assert.Same(t, a, q.get())
	assert.Equal(t, &waiter{ready: ready}, a)
	for range 2 * maxSpares {
		q.put(&waiter{})
	}
	assert.Equal(t, maxSpares, q.spares, "a crowd leaves no more than this behind")
	for range maxSpares {
		q.get()
	}
	assert.Nil(t, q.spare)
	assert.Zero(t, q.spares)
	assert.NotNil(t, q.get().ready)
}
