package line_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestACallThatNeedNotWaitPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, p := range map[string]guard.Policy{"no limits": {}, "a slot is free": one()} {
			c := newCrowd(t, line.Config{})
			g := made(t, p)
			ticket := c.do(t.Context(), g, "a", interactive("x"), nothing)
			assert.Equal(t, []string{"a"}, c.admitted(), name)
			assert.Equal(t, 1, ticket.Attempts(), name)
			assert.Zero(t, ticket.Waited(), name)
		}
	})
}

// The call that asks the guard gives its turn up the moment that a better one comes.
func TestInteractiveTakesTheTurnOfBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, one())
		c.hold(g, time.Minute)
		for i := range 3 {
			c.do(t.Context(), g, fmt.Sprint("batch", i), batch("b"), sleeps(time.Second))
			assert.Equal(t, 1, g.Stats().Waiting, "only one asks")
		}
		time.Sleep(10 * time.Second)
		for i := range 2 {
			c.do(t.Context(), g, fmt.Sprint("inter", i), interactive("i"), sleeps(time.Second))
			assert.Equal(t, 1, g.Stats().Waiting, "only one asks")
		}
		assert.Equal(t, []line.Stats{{Line: "api", Waiting: 5, Oldest: 10 * time.Second, Clients: []line.Client{
			{Name: "b", Waiting: 3}, {Name: "holder", Admitted: 1}, {Name: "i", Waiting: 2},
		}}}, c.lines.Stats())
		assert.Equal(t, []string{"holder", "inter0", "inter1", "batch0", "batch1", "batch2"}, c.admitted())
		assert.Equal(t, 50*time.Second, c.wait("inter0"))
		assert.Equal(t, 64*time.Second, c.wait("batch2"))
		assert.Zero(t, g.Stats().Abandoned, "a call that was outranked has not given up")
		assert.Equal(t, []line.Client{{Name: "b", Admitted: 3}, {Name: "holder", Admitted: 1}, {Name: "i", Admitted: 2}}, c.lines.Stats()[0].Clients)
	})
}

func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, one())
		c.hold(g, time.Minute)
		for i := range 3 {
			c.do(t.Context(), g, fmt.Sprint("a", i), interactive("a"), nothing)
		}
		for i := range 2 {
			c.do(t.Context(), g, fmt.Sprint("b", i), interactive("b"), nothing)
		}
		assert.Equal(t, []string{"holder", "a0", "b0", "a1", "b1", "a2"}, c.admitted())
	})
}

// Calls that arrive at the same instant ask at the same time; the queue of the
// guard has one of them then.
func TestManyThatArriveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, guard.Policy{Limits: one().Limits, MaxQueue: 1})
		for range 100 {
			ctx, _ := c.lines.With(t.Context(), batch("b"))
			c.wg.Go(func() { assert.NoError(t, g.Do(ctx, throttle.Cost{}, sleeps(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, 1, g.Stats().Waiting)
		assert.Equal(t, 99, c.lines.Stats()[0].Waiting)
		began := time.Now()
		c.wg.Wait()
		assert.Equal(t, 100*time.Second, time.Since(began))
	})
}

func TestAFullLineRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxQueue: 3})
		g := made(t, perSecond(0.5))
		c.do(t.Context(), g, "first", interactive("x"), nothing)
		for i := range 3 {
			c.do(t.Context(), g, strconv.Itoa(i), interactive("x"), nothing)
		}
		ticket := c.do(t.Context(), g, "none", interactive("x"), nothing)
		assert.Equal(t, &line.FullError{Line: "api", Waiting: 3, RetryAfter: 2 * time.Second}, c.err("none"), "all were admitted at this instant, and the limit admits the next one then")
		assert.Zero(t, ticket.Attempts())
		assert.Zero(t, ticket.Waited())
		time.Sleep(3 * time.Second) // one was admitted
		c.do(t.Context(), g, "3", interactive("x"), nothing)
		c.do(t.Context(), g, "none again", interactive("x"), nothing)
		full, ok := errors.AsType[*line.FullError](c.err("none again"))
		require.True(t, ok)
		assert.Equal(t, 9*time.Second, full.RetryAfter, "two in 3 s, and 3 wait")
		assert.Equal(t, []string{"first", "0", "1", "2", "3"}, c.admitted())
	})
}

// A client that fills the line does not keep the others out.
func TestAFullLineHasRoomForOtherClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxQueue: 6})
		g := made(t, one())
		c.hold(g, time.Minute)
		for i := range 6 {
			c.do(t.Context(), g, fmt.Sprint("a", i), batch("a"), nothing)
		}
		for i := range 4 {
			c.do(t.Context(), g, fmt.Sprint("b", i), interactive("b"), nothing)
		}
		c.do(t.Context(), g, "c0", batch("c"), nothing)
		c.do(t.Context(), g, "c1", batch("c"), nothing)
		c.do(t.Context(), g, "c2", batch("c"), nothing)
		c.do(t.Context(), g, "c3", interactive("c"), nothing)
		c.do(t.Context(), g, "c4", interactive("c"), nothing)
		c.do(t.Context(), g, "c5", interactive("c"), nothing)
		assert.Equal(t, 6, c.lines.Stats()[0].Waiting)
		for _, name := range []string{"a2", "a3", "a4", "a5", "b2", "b3", "c0", "c1", "c2", "c5"} {
			assert.Equal(t, &line.FullError{Line: "api", Waiting: 6, RetryAfter: time.Second}, c.err(name), name)
		}
		assert.Equal(t, []string{"holder", "b0", "c3", "b1", "c4", "a0", "a1"}, c.admitted())
	})
}

// There is no room for another client that would only change places with one that
// has as little, nor where a call asks the guard or waits for another attempt.
func TestACallThatIsNotDisplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := new(*line.FullError)
		c := newCrowd(t, line.Config{MaxQueue: 20})
		g := made(t, one())
		c.hold(g, time.Minute)
		for i := range 21 {
			c.do(t.Context(), g, strconv.Itoa(i), batch(strconv.Itoa(i)), nothing)
		}
		assert.ErrorAs(t, c.err("20"), full)
		assert.Len(t, c.admitted(), 21)

		c = newCrowd(t, line.Config{MaxQueue: 1})
		c.hold(g, time.Minute)
		c.do(t.Context(), g, "asks", batch("a"), nothing)
		c.do(t.Context(), g, "better", interactive("a"), nothing)
		assert.ErrorAs(t, c.err("better"), full)
		assert.Equal(t, []string{"holder", "asks"}, c.admitted())

		c = newCrowd(t, line.Config{MaxQueue: 1})
		g = made(t, guard.Policy{Limits: one().Limits, Retry: &retry.Policy{Initial: time.Second, NoJitter: true}})
		failed := false
		c.do(t.Context(), g, "fails", batch("a"), func(context.Context) error {
			if failed {
				return nil
			}
			failed = true
			return io.EOF
		})
		c.hold(g, time.Minute)
		c.do(t.Context(), g, "asks", batch("a"), nothing)
		time.Sleep(2 * time.Second)
		c.do(t.Context(), g, "other", interactive("b"), nothing)
		assert.ErrorAs(t, c.err("other"), full)
		assert.Equal(t, []string{"fails", "holder", "asks", "fails"}, c.admitted())
	})
}

func TestTheWaitHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{MaxWait: time.Minute})
		g := made(t, one())
		c.hold(g, 61*time.Second)
		asks := c.do(t.Context(), g, "asks", batch("x"), nothing)
		time.Sleep(time.Second / 2)
		waits := c.do(t.Context(), g, "waits", batch("x"), nothing)
		time.Sleep(30 * time.Second)
		c.do(t.Context(), g, "later", batch("x"), nothing)
		assert.Equal(t, []string{"holder", "later"}, c.admitted())
		for name, ticket := range map[string]*line.Ticket{"asks": asks, "waits": waits} {
			late, ok := errors.AsType[*line.WaitError](c.err(name))
			require.True(t, ok, c.err(name))
			assert.Equal(t, line.WaitError{Line: "api", Waited: time.Minute, RetryAfter: time.Minute}, *late, name)
			assert.Equal(t, time.Minute, ticket.Waited(), name)
			assert.Zero(t, ticket.Attempts(), name)
		}
	})
}

// One that leaves gives up its place at once, whether it asks or waits.
func TestACallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, perSecond(0.1))
		began := time.Now()
		var at []time.Duration
		note := func(context.Context) error {
			at = append(at, time.Since(began))
			return nil
		}
		c.do(t.Context(), g, "first", batch("x"), note)
		leaving, leave := context.WithCancelCause(t.Context())
		asks := c.do(leaving, g, "asks", batch("x"), note)
		c.do(t.Context(), g, "second", batch("x"), note)
		c.do(leaving, g, "waits", batch("x"), note)
		c.do(t.Context(), g, "third", batch("x"), note)
		time.Sleep(9 * time.Second)
		leave(io.EOF)
		synctest.Wait()
		assert.Equal(t, 2, c.lines.Stats()[0].Waiting)
		assert.Equal(t, []string{"first", "second", "third"}, c.admitted())
		assert.Equal(t, io.EOF, c.err("asks"))
		assert.Equal(t, io.EOF, c.err("waits"))
		assert.Equal(t, 9*time.Second, asks.Waited())
		assert.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, at)
		c.do(leaving, g, "late", batch("x"), note)
		assert.Equal(t, io.EOF, c.err("late"))
	})
}

func TestAGuardThatIsClosedOrPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, one())
		c.hold(g, time.Minute)
		for i := range 10 {
			c.do(t.Context(), g, strconv.Itoa(i), batch("x"), nothing)
		}
		g.Close(io.ErrClosedPipe)
		synctest.Wait()
		for i := range 10 {
			require.ErrorIs(t, c.err(strconv.Itoa(i)), io.ErrClosedPipe)
		}
		assert.Zero(t, c.lines.Stats()[0].Waiting)
		g.Reopen()
		g.Pause(time.Now().Add(2 * time.Minute))
		c.do(t.Context(), g, "a", batch("x"), nothing)
		c.do(t.Context(), g, "b", interactive("x"), nothing)
		assert.Equal(t, []string{"holder", "b", "a"}, c.admitted())
		assert.Equal(t, 2*time.Minute, c.wait("b"))
	})
}

// The guard's own bound counts the time in the line.
func TestTheBoundOfTheGuardCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, guard.Policy{Limits: one().Limits, MaxWait: 20 * time.Second})
		c.hold(g, time.Minute)
		for i := range 2 {
			c.do(t.Context(), g, strconv.Itoa(i), batch("x"), nothing)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		assert.ErrorIs(t, c.err("0"), throttle.ErrLimited)
		assert.ErrorIs(t, c.err("1"), throttle.ErrLimited)
		assert.Equal(t, []string{"holder"}, c.admitted())
	})
}

func TestLinesAndClientsThatAreIdleAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, guard.Policy{})
		held := made(t, guard.Policy{Name: "held", Limits: one().Limits})
		c.hold(held, time.Hour)
		c.do(t.Context(), held, "waits", interactive("waits"), nothing)
		call := func(g *guard.Guard, client string) {
			ctx, _ := c.lines.With(t.Context(), interactive(client))
			call := g.Begin(throttle.Cost{})
			_, err := call.Admit(ctx)
			require.NoError(t, err)
			_, _ = call.End(adaptiveOK)
		}
		for i := range 5000 {
			call(g, strconv.Itoa(i))
			time.Sleep(time.Millisecond)
		}
		for i := range 5000 {
			call(made(t, guard.Policy{Name: fmt.Sprint("guard", i)}), "x")
			time.Sleep(time.Millisecond)
		}
		stats := c.lines.Stats()
		assert.LessOrEqual(t, len(stats), 513)
		assert.Equal(t, "held", stats[len(stats)-1].Line)
		assert.Equal(t, 1, stats[len(stats)-1].Waiting)
		lines := map[string]bool{}
		for _, s := range stats {
			lines[s.Line] = true
		}
		for i := range 256 {
			assert.True(t, lines[fmt.Sprint("guard", 4999-i)], "the last ones are remembered")
		}
		for i := range 1000 {
			call(g, strconv.Itoa(i))
			time.Sleep(time.Millisecond)
		}
		clients := map[string]bool{}
		for _, s := range c.lines.Stats() {
			if s.Line == g.Name() {
				for _, c := range s.Clients {
					clients[c.Name] = true
				}
			}
		}
		for i := range 256 {
			assert.True(t, clients[strconv.Itoa(999-i)], "the last ones are remembered")
		}
		for i := range 5000 { // that leave
			ctx, cancel := context.WithCancel(t.Context())
			c.do(ctx, held, strconv.Itoa(i), interactive(strconv.Itoa(i)), nothing)
			cancel()
			synctest.Wait()
		}
		for _, s := range c.lines.Stats() {
			assert.LessOrEqual(t, len(s.Clients), 512)
		}
		c.wg.Wait()
	})
}
