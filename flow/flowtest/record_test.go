package flowtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// tb is a test that may have failed.
type tb struct {
	ctx     context.Context //nolint:containedctx // it is what a test has
	failed  bool
	cleanup []func()
	logged  []string
}

func (t *tb) Helper()                  {}
func (t *tb) Context() context.Context { return t.ctx }
func (t *tb) Cleanup(f func())         { t.cleanup = append(t.cleanup, f) }
func (t *tb) Failed() bool             { return t.failed }
func (t *tb) Log(args ...any)          { t.logged = append(t.logged, fmt.Sprint(args...)) }

func (t *tb) end() {
	for _, f := range t.cleanup {
		f()
	}
}

func TestAFailedTestShowsTheTimeline(t *testing.T) {
	type key struct{}
	for _, failed := range []bool{false, true} {
		fake := &tb{ctx: context.WithValue(t.Context(), key{}, "mine"), failed: failed}
		rec := flowtest.New(fake)
		assert.Equal(t, "mine", rec.Context().Value(key{}))
		for i := range 300 {
			rec.Notef("note %03d.", i)
		}
		fake.end()
		if !failed {
			assert.Empty(t, fake.logged)
			continue
		}
		require.Len(t, fake.logged, 1)
		log := fake.logged[0]
		assert.Contains(t, log, "the timeline:\n+")
		assert.Contains(t, log, "note 000.")
		assert.Contains(t, log, "note 059.")
		assert.NotContains(t, log, "note 100.")
		assert.Contains(t, log, "note 299.")
		assert.Less(t, strings.Count(log, "\n"), 130)
		assert.Equal(t, 300, strings.Count(rec.String(), "\n"), "the whole is there for who asks")
		assert.Len(t, rec.Notes(), 300)
	}
}

func TestTheTimelineHasItAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api", flowtest.OK(), flowtest.Refuse(20*sec))
		tell := func(kind event.Kind, source string, change func(*event.Event)) {
			e := event.New(time.Now(), kind, source)
			change(&e)
			emit.Tell(rec.Context(), event.From(rec.Context()), e)
		}
		none := func(*event.Event) {}
		for _, kind := range []event.Kind{event.NodeStarted, event.NodeFinished, event.FlowStarted, event.FlowFinished, event.ItemDone} {
			tell(kind, "left out", none)
		}
		rec.Notef("note %d", 1)
		tell(event.FlowStep, "doc", func(e *event.Event) { e.Key, e.Attempt, e.Reason = "read", 2, "long" })
		tell(event.FlowStep, "doc", func(e *event.Event) { e.Key, e.Attempt = "load", 1 })
		tell(event.ItemFailed, "ask", func(e *event.Event) { e.Index, e.Attempt, e.Err = 3, 2, errors.New("first\nsecond") })
		tell(event.ItemRetry, "ask", func(e *event.Event) { e.Index, e.Attempt, e.Wait, e.Err = 1, 1, sec, errBoom })
		tell(event.LimiterCut, "key", func(e *event.Event) { e.From, e.To = 8, 5.6 })
		tell(event.LimiterHit, "key", func(e *event.Event) { e.Wait, e.Err = 20*sec+30, errBoom })
		tell(event.BreakerOpened, "fuse", func(e *event.Event) { e.Wait = sec })
		tell("other.thing", "somebody", none)
		go func() { _, _ = api.Call(rec.Context(), "b") }()
		_, err := api.Call(rec.Context(), "a")
		require.NoError(t, err)
		time.Sleep(sec)
		assert.Equal(t, `+0s  call api a: ok
+0s  call api b: refused, retry after 20s
+0s  limiter key: hit, for 20s: boom
+0s  breaker fuse: opened, for 1s
+0s  limiter key: cut from 8 to 5.6
+0s  item ask 1: retry, attempt 1, again in 1s: boom
+0s  item ask 3: failed, attempt 2: first
+0s  flow doc: step 1 load
+0s  flow doc: step 2 read, action "long"
+0s  other somebody: thing
+0s  note 1
`, rec.String())
		assert.Equal(t, []string{"read", "load"}, rec.Steps("doc"), "as they were told")
		assert.Len(t, rec.Events().Of("ask").Kinds(event.ItemRetry), 1)
		assert.Len(t, rec.Cuts("key"), 1)
		assert.Len(t, rec.Hits("key"), 1)
		assert.Empty(t, rec.Hits("another"))
		assert.Equal(t, []string{"note 1"}, rec.Notes())
	})
}

// Calls of two providers are distinguished, and sorted together.
func TestSeveralProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		z, y := rec.NewProvider("z").At(2, flowtest.Refuse(0)), rec.NewProvider("y")
		for _, key := range []string{"c", "b", "a"} {
			go func() { _, _ = z.Call(rec.Context(), key) }()
			go func() { _, _ = y.Call(rec.Context(), key) }()
		}
		time.Sleep(sec)
		assert.Equal(t, `+0s  call y a: ok
+0s  call y b: ok
+0s  call y c: ok
+0s  call z a: ok
+0s  call z b: refused
+0s  call z c: ok
`, rec.Calls().String())
		assert.Len(t, z.Calls(), 3)
	})
}

// From the kill on nothing reaches the journal, by whatever method.
func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		kept := journal.NewMemory()
		process := rec.NewProcess(kept)
		j, ok := process.Journal().(interface {
			journal.Journal
			journal.LawKeeper
		})
		require.True(t, ok)
		part := journal.Part{Run: "run", Node: "node"}
		key := journal.Key{Part: part, Content: "a"}
		ctx, now, owner := t.Context(), time.Now(), journal.NewOwner()
		use := func() (errs []error) {
			_, open := j.Open(ctx, part, owner, "", now)
			renew := j.Renew(ctx, part, owner, now)
			record, begin := j.Begin(ctx, key, now, false)
			record.Key, record.State = key, journal.Done
			_, finish := j.Finish(ctx, part, owner, "", record)
			save := j.SaveLaw(ctx, "key", journal.Law{State: []byte("{}"), At: now})
			_, load := j.LoadLaw(ctx, "key")
			var all error
			for _, err := range j.All(ctx, part) {
				all = errors.Join(all, err)
			}
			return []error{open, renew, begin, finish, save, load, all}
		}
		for _, err := range use() {
			require.NoError(t, err)
		}
		second := rec.NewProcess(kept)
		_, err := second.Journal().Open(ctx, part, journal.NewOwner(), "", now)
		require.ErrorAs(t, err, new(*journal.HeldError), "while the first one lives")
		require.NoError(t, process.Context().Err())
		process.Kill()
		for i, err := range use() {
			require.ErrorIs(t, err, flowtest.ErrKilled, i)
		}
		require.ErrorIs(t, context.Cause(process.Context()), flowtest.ErrKilled)
		require.ErrorIs(t, j.Release(ctx, part, owner), flowtest.ErrKilled)
		next := journal.NewOwner()
		_, err = second.Journal().Open(ctx, part, next, "", now)
		require.NoError(t, err, "its claim has ended with it")
		require.NoError(t, second.Journal().Release(ctx, part, next))
		second.Kill()
		require.NoError(t, j.Close())
		law, err := kept.LoadLaw(ctx, "key")
		require.NoError(t, err, "it is open for the next")
		assert.NotEmpty(t, law.State)
		plain := rec.NewProcess(struct{ journal.Journal }{kept}).Journal().(journal.LawKeeper)
		require.NoError(t, plain.SaveLaw(ctx, "key", journal.Law{}))
		law, err = plain.LoadLaw(ctx, "key")
		require.NoError(t, err)
		assert.Empty(t, law.State, "a journal that keeps no laws")
	})
}

func TestUsedUpQuotaFailsTheRestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").At(3, flowtest.QuotaExhausted())
		_, err := node.Map("ask", api.Call).All(rec.Context(), []string{"a", "b", "c", "d", "e"})
		require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
		assert.Equal(t, []string{"a", "b", "c"}, api.Calls().Keys())
		assert.Len(t, rec.Events().Of("ask").Kinds(event.LimiterClosed), 1)
	})
}

// 300 calls at 60 a minute, and a client over HTTP.
func TestNeverMoreThanSixtyAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").Limit(60, time.Minute).Otherwise(flowtest.OK().TakingBetween(100*time.Millisecond, 3*sec))
		client := &http.Client{Transport: api}
		ask := node.Map("ask", func(ctx context.Context, id int) (int, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://example.com/%d", id), nil)
			if err != nil {
				return 0, err
			}
			res, err := client.Do(req)
			if err != nil {
				return 0, err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				return 0, &flowtest.StatusError{StatusCode: res.StatusCode, Header: res.Header}
			}
			return res.StatusCode, nil
		}).WithParallel(20).WithLimits(throttle.Limits{Concurrency: 10, Windows: []throttle.Window{throttle.Sliding(60, time.Minute)}})
		items := make([]int, 300)
		var keys []string
		for i := range items {
			items[i] = i
			keys = append(keys, fmt.Sprintf("GET /%d", i))
		}
		_, err := ask.All(rec.Context(), items)
		require.NoError(t, err)
		require.NoError(t, api.Calls().AtMost(60, time.Minute))
		require.NoError(t, api.Calls().AtMostInFlight(10))
		require.NoError(t, api.Calls().OnceEach(keys...))
		assert.Empty(t, api.Calls().With(flowtest.Refused))
		assert.Equal(t, 60, api.Calls().MaxIn(time.Minute), "and it uses what it may")
	})
}
