package flow_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// club is a state with users.
type club struct{ members, done []user }

func eachMember(n node.Node[*user]) *node.Batch[*club, user, user] {
	return flow.Each("members",
		func(c *club) []user { return c.members },
		n,
		func(c *club, done []user) { c.done = done })
}

func TestEachRunsTheFlowOnACopyOfEveryItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := node.Do("slow", func(_ context.Context, u *user) error {
			time.Sleep(time.Duration(3-u.ID) * time.Second) // the last is done first
			u.Notes = fmt.Sprint("done ", u.ID)
			return nil
		})
		c := &club{members: users(3)}
		action, err := eachMember(flow.New("member", slow).Then(note("!"))).WithParallel(3).Run(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, node.Next, action)
		assert.Equal(t, []user{{0, "done 0!"}, {1, "done 1!"}, {2, "done 2!"}}, c.done)
		assert.Equal(t, users(3), c.members, "the input is left alone")
	})
}

func TestEachPutsNothingUnlessEveryInstanceIsDone(t *testing.T) {
	c := &club{members: users(3)}
	odd := node.Do("odd", func(_ context.Context, u *user) error {
		if u.ID == 1 {
			return errBoom
		}
		return nil
	})
	_, err := eachMember(odd).Run(t.Context(), c)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, node.Counts{Total: 3, Done: 2, Failed: 1}, failed.Counts)
	assert.Nil(t, c.done)
}

// What fails in both forms of a batch of flows is the same.
func TestEachIsABatchOfFlows(t *testing.T) {
	err := flow.Each[*club, user]("members", nil, nil, nil).WithParallel(-1).Validate()
	require.Equal(t, []string{"WithParallel", "items", "put", "n"}, fields(err))

	broken := flow.New("member", note("a")).On(note("lost"), "x", note("b"))
	require.Equal(t, []string{`node "lost"`}, fields(eachMember(broken).Validate()))

	sink := node.SinkFunc(func(context.Context, node.Result[user, user]) error { return nil })
	require.Equal(t, []string{"WithSink"}, fields(eachMember(note("a")).WithSink(sink).Validate()))

	members := eachMember(flow.New("member", note("a")))
	same := flow.Batch("members", of[*club](users(1)...), flow.New("member", note("a")), nil)
	require.Equal(t, flow.Mermaid(same), flow.Mermaid(members))
}

// A loop pays for each round once, whatever process goes through it.
func TestOneInALoopIsResumedRoundByRound(t *testing.T) {
	j, calls := journal.NewMemory(), 0
	type state struct {
		drafts []string
		wake   chan int // no JSON
	}
	run := func(rounds int) []string {
		draft := node.One("draft",
			func(_ context.Context, s *state) (string, error) {
				calls++
				return fmt.Sprint("after ", len(s.drafts)), nil
			},
			func(s *state, text string) { s.drafts = append(s.drafts, text) }).WithJournal(j)
		judge := node.Decide("judge", func(_ context.Context, s *state) (node.Action, error) {
			if len(s.drafts) < rounds {
				return "again", nil
			}
			return node.Next, nil
		})
		s := &state{wake: make(chan int)}
		_, err := flow.Run(t.Context(), flow.New[*state]("f", draft).Then(judge).On(judge, "again", draft).End(judge, node.Next), s)
		require.NoError(t, err)
		return s.drafts
	}
	assert.Equal(t, []string{"after 0", "after 1"}, run(2))
	assert.Equal(t, 2, calls)
	assert.Equal(t, []string{"after 0", "after 1", "after 2"}, run(3))
	assert.Equal(t, 3, calls)
}

// A step with a result hides no items of what other steps call, as a batch does.
func TestProgressOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := node.One("plan", func(context.Context, *trail) (int, error) { return 1, nil }, func(*trail, int) {})
		m := node.Map("m", func(_ context.Context, i int) (int, error) { return i, nil })
		p := final(t, flow.New[*trail]("f", one).Then(node.Do("all", func(ctx context.Context, _ *trail) error {
			_, err := m.All(ctx, make([]int, 3))
			return err
		})))
		assert.Equal(t, event.Items{Total: 4, Done: 4}, p.Items)
	})
}
