package flowtest_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// What is between the marks stands in docs/testing.md too.

// guide: begin

func TestTheThirdCallIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").
			At(3, flowtest.Refuse(20*time.Second)).
			Otherwise(flowtest.OK().Taking(time.Second))
		ask := node.Map("ask", api.Call).WithParallel(2)

		_, err := ask.All(rec.Context(), []string{"a", "b", "c", "d", "e"})

		require.NoError(t, err)
		require.NoError(t, api.Calls().HeedRetryAfter())
		require.NoError(t, api.Calls().OnceEach("a", "b", "c", "d", "e"))
		require.NoError(t, api.Played())
		require.NotEmpty(t, rec.Cuts("ask"))
	})
}

// guide: end

// guide: begin

type ticket struct{ Text, Answer string }

func TestLongTicketsAreSummarisedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		model := rec.NewProvider("model").
			For("b", flowtest.Fail(http.StatusInternalServerError), flowtest.Fail(http.StatusBadGateway))
		summaries := rec.NewProvider("summaries").
			Otherwise(flowtest.OK().Body("short").Taking(2 * time.Second))

		measure := node.Decide("measure", func(_ context.Context, t *ticket) (node.Action, error) {
			if len(t.Text) > 5 {
				return "long", nil
			}
			return node.Next, nil
		})
		shorten := node.Do("shorten", func(ctx context.Context, t *ticket) (err error) {
			t.Text, err = summaries.Call(ctx, t.Text)
			return err
		})
		answer := node.Do("answer", func(ctx context.Context, t *ticket) (err error) {
			t.Answer, err = model.Call(ctx, t.Text)
			return err
		}).WithRetry(retry.Policy{Initial: time.Second, NoJitter: true})
		one := flow.New("ticket", measure).Then(answer).
			On(measure, "long", shorten).On(shorten, node.Next, answer)
		all := flow.Batch("tickets",
			func(_ context.Context, tickets []ticket) (iter.Seq2[ticket, error], error) {
				return flowtest.InOrder(tickets...), nil
			}, one, nil).WithParallel(3)

		_, err := flow.Run(rec.Context(), all, []ticket{{Text: "a"}, {Text: "b"}, {Text: "a long one"}})

		require.NoError(t, err)
		require.Equal(t, []string{"a long one"}, summaries.Calls().Keys())
		require.Equal(t, `
+0s      call model a: ok
+0s      call model b: failed with 500
+0s      call summaries a long one: ok, took 2s
+1.001s  call model b, attempt 2 after 1s: failed with 502
+2s      call model short: ok
+3.002s  call model b, attempt 3 after 2s: ok
`, "\n"+rec.Calls().String())
	})
}

// guide: end

// guide: begin

func TestAKilledProcessLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		kept := journal.NewMemory()
		process := rec.NewProcess(kept)
		api := rec.NewProvider("api").
			At(90, flowtest.OK().Do(process.Kill)).
			Otherwise(flowtest.OK().TakingBetween(time.Second, 3*time.Second))
		items := make([]string, 150)
		for i := range items {
			items[i] = fmt.Sprintf("item %03d", i)
		}
		work := func(p *flowtest.Process) error {
			_, err := node.Map("ask", api.Call).WithParallel(8).WithJournal(p.Journal()).
				WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(60, time.Minute)}}).
				All(p.Context(), items)
			return err
		}

		require.ErrorIs(t, work(process), flowtest.ErrKilled)
		killed := rec.Elapsed()
		require.NoError(t, api.Calls().AtMost(60, time.Minute))
		require.NoError(t, api.Calls().AtMostInFlight(8))

		require.NoError(t, work(rec.NewProcess(kept)))

		require.ElementsMatch(t, items, api.Calls().Keys(), "nothing is lost")
		twice := len(api.Calls().With(flowtest.Answered)) - len(items)
		require.LessOrEqual(t, twice, 16, "what was in flight, or just answered, when the process died")
		require.NoError(t, api.Calls().Between(killed, rec.Elapsed()).AtMost(60, time.Minute))
	})
}

// guide: end

func TestTheGuideShowsTheseTests(t *testing.T) {
	source, err := os.ReadFile("guide_test.go")
	require.NoError(t, err)
	guide, err := os.ReadFile("../../docs/testing.md")
	require.NoError(t, err)
	parts := strings.Split(string(source), "// guide: "+"begin\n")[1:]
	require.Len(t, parts, 3)
	for _, part := range parts {
		code, _, closed := strings.Cut(part, "// guide: "+"end\n")
		require.True(t, closed)
		require.Contains(t, string(guide), "```go\n"+strings.TrimSpace(code)+"\n```\n", "copy the test into docs/testing.md")
	}
}
