package flowtest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// A batch of flows, branches and a stream, as in the examples, with providers in
// the place of their stubs.

type account struct {
	Posts []string
	Score int
}

func TestABatchOfFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").At(3, flowtest.Refuse(5*sec)).Otherwise(flowtest.OK().Taking(sec))
		posts := node.BatchFunc("posts",
			func(_ context.Context, a *account) (iter.Seq2[string, error], error) { return node.Slice(a.Posts), nil },
			api.Call,
			func(_ context.Context, a *account, r *node.Report[string, string]) (node.Action, error) {
				a.Posts = r.Values()
				return node.Next, r.Err()
			}).WithParallel(4).With(guard.Policy{Law: adaptive.AIMD{Initial: 8, Max: 16}, Propagate: true})
		score := node.Do("score", func(_ context.Context, a *account) error {
			a.Score = 10 * len(a.Posts)
			return nil
		})
		var scores []int
		users := flow.Batch("users",
			func(context.Context, int) (iter.Seq2[account, error], error) {
				return node.Slice([]account{
					{Posts: []string{"a1"}}, {Posts: []string{"b1", "b2"}}, {Posts: []string{"c1", "c2", "c3"}},
				}), nil
			},
			flow.New("user", posts).Then(score),
			func(_ context.Context, _ int, r *node.Report[account, account]) (node.Action, error) {
				for _, a := range r.Values() {
					scores = append(scores, a.Score)
				}
				return node.Next, r.Err()
			}).WithParallel(10).With(guard.Policy{Law: adaptive.AIMD{Initial: 8, Max: 10}})

		_, err := flow.Run(rec.Context(), users, 0)

		require.NoError(t, err)
		assert.Equal(t, []int{10, 20, 30}, scores)
		require.NoError(t, api.Calls().OnceEach("a1", "b1", "b2", "c1", "c2", "c3"))
		require.NoError(t, api.Calls().HeedRetryAfter())
		assert.Len(t, rec.Hits("posts"), 1)
		assert.Len(t, rec.Cuts("posts"), 1)
		assert.Len(t, rec.Cuts("users"), 1, "it went up")
		assert.ElementsMatch(t, []string{"posts", "posts", "posts", "score", "score", "score"}, rec.Steps("user"))
		for i := range int64(3) {
			assert.Equal(t, []string{"posts", "score"}, rec.StepsOf("user", i))
		}
		assert.Empty(t, rec.StepsOf("user", event.NoIndex))
		assert.Contains(t, rec.String(), "flow user 2: step 2 score")
		assert.Equal(t, []string{"b2"}, api.Calls().With(flowtest.Refused).Keys(), "the third by key, whoever was first")
	})
}

func TestBranchesAndALoop(t *testing.T) {
	const approve, revise, reject node.Action = "approve", "revise", "reject"
	for _, c := range []struct {
		verdicts []string
		steps    []string
	}{
		{[]string{"approve"}, []string{"review", "pay"}},
		{[]string{"revise", "approve"}, []string{"review", "cut", "review", "pay"}},
		{[]string{"revise", "revise", "reject"}, []string{"review", "cut", "review", "cut", "review"}},
	} {
		t.Run(strings.Join(c.verdicts, ", "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := flowtest.New(t)
				model, bank := rec.NewProvider("model"), rec.NewProvider("bank")
				for _, verdict := range c.verdicts {
					model.For("expense", flowtest.OK().Body(verdict))
				}
				reviewing := node.Decide("review", func(ctx context.Context, id string) (node.Action, error) {
					verdict, err := model.Call(ctx, id)
					return node.Action(verdict), err
				})
				cutting := node.Do("cut", func(context.Context, string) error { return nil })
				paying := node.Do("pay", func(ctx context.Context, id string) error {
					_, err := bank.Call(ctx, id)
					return err
				})
				expense := flow.New("expense", reviewing).
					On(reviewing, approve, paying).On(reviewing, revise, cutting).
					On(cutting, node.Next, reviewing).End(reviewing, reject)

				_, err := flow.Run(rec.Context(), expense, "expense")

				require.NoError(t, err)
				assert.Equal(t, c.steps, rec.Steps("expense"))
				require.NoError(t, model.Played())
				paid := strings.HasSuffix(strings.Join(c.steps, " "), "pay")
				assert.Equal(t, paid, bank.Calls().OnceEach("expense") == nil)
			})
		})
	}
}

func TestAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").For("c", flowtest.Fail(400)).
			Otherwise(flowtest.OK().TakingBetween(sec, 4*sec))
		ask := node.Map("ask", api.Call).WithParallel(16).WithLimits(throttle.Limits{Concurrency: 4})
		var done, failed []string
		lines := strings.NewReader("\"a\"\n\"b\"\n\"c\"\n{}\n\"d\"\n\"e\"\n\"f\"\n\"g\"\n")
		for r, err := range ask.Stream(rec.Context(), node.JSONL[string](lines)) {
			require.NoError(t, err)
			if r.Err != nil {
				failed = append(failed, r.In)
				continue
			}
			done = append(done, r.Out)
		}
		assert.Equal(t, []string{"a", "b", "d", "e", "f", "g"}, done, "in the order of the input")
		assert.Equal(t, []string{"c", ""}, failed)
		assert.Equal(t, 4, api.Calls().MaxInFlight())
		assert.Len(t, api.Calls().Of("c"), 1, "a 400 is not tried again")
	})
}

// Nothing goes on calling when the loop over a stream is left.
func TestAStreamThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").At(2, flowtest.Hang())
		for r, err := range node.Map("ask", api.Call).WithParallel(2).Unordered().
			Stream(rec.Context(), flowtest.InOrder("a", "b", "c", "d")) {
			require.NoError(t, errors.Join(err, r.Err))
			break
		}
		synctest.Wait()
		assert.Empty(t, api.Calls().With(flowtest.Running))
		assert.Len(t, api.Calls().With(flowtest.Canceled), 1)
	})
}
