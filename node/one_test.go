package node_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// opaque is a state that has no JSON: no exported field that JSON can hold, and one that it cannot.
type opaque struct {
	Wake   chan struct{}
	Call   func()
	secret string
	got    []int
}

// one counts its calls.
func one(calls *int) *node.Batch[*opaque, *opaque, int] {
	return node.One("plan",
		func(_ context.Context, s *opaque) (int, error) { *calls++; return 10 * len(s.secret), nil },
		func(s *opaque, out int) { s.got = append(s.got, out) })
}

func TestOneIsAStep(t *testing.T) {
	calls, s := 0, &opaque{secret: "abc"}
	action, err := one(&calls).Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, node.Next, action)
	assert.Equal(t, []int{30}, s.got)

	s = &opaque{}
	_, err = node.One("plan", func(context.Context, *opaque) (int, error) { return 1, errBoom },
		func(s *opaque, out int) { s.got = append(s.got, out) }).Run(t.Context(), s)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, errBoom)
	assert.Empty(t, s.got)
}

func TestAResumedOnePutsAndDoesNotCall(t *testing.T) {
	j, calls := journal.NewMemory(), 0
	for _, secret := range []string{"abc", "another state"} {
		s := &opaque{Wake: make(chan struct{}), Call: func() {}, secret: secret}
		_, err := one(&calls).WithJournal(j).Run(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, []int{30}, s.got, "the first process has paid for it")
	}
	assert.Equal(t, 1, calls)
	assert.Equal(t, []string{"plan"}, contents(t, j))

	other := one(&calls).WithJournal(j).WithKey(func(s *opaque) string { return s.secret })
	s := &opaque{secret: "abcd"}
	_, err := other.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []int{40}, s.got)
	assert.ElementsMatch(t, []string{"plan", "abcd"}, contents(t, j))
}

func TestOneWithoutAStateIsJournaled(t *testing.T) {
	j, calls := journal.NewMemory(), 0
	for range 2 {
		_, err := node.One("plan", func(context.Context, *opaque) (int, error) { calls++; return 1, nil },
			func(*opaque, int) {}).WithJournal(j).Run(t.Context(), nil)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, calls)
}

// contents lists the keys of what is done in j.
func contents(t *testing.T, j journal.Journal) (all []string) {
	t.Helper()
	for r, err := range j.All(t.Context(), journal.Part{Run: journal.DefaultRun, Node: "plan"}) {
		require.NoError(t, err)
		require.Equal(t, journal.Done, r.State)
		all = append(all, r.Key.Content)
	}
	return all
}
