package riverguard_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertest"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	riverguard "github.com/headrace/headrace/engine/river"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
)

func TestProblemsOfAQueueAreJoined(t *testing.T) {
	err := riverguard.Queue[*sql.Tx](&river.Config{JobTimeout: 4 * time.Second, RescueStuckJobsAfter: 10 * time.Second}, "headrace",
		riverguard.Config{Hold: 4 * time.Second})
	require.EqualError(t, err, `riverguard: Guard: is required
riverguard: Hold: 4s must be between 0 and 3s
riverguard: name: "headrace" must be the name of a queue, and not headrace
riverguard: to.Workers: is required`)
}

// observed are events by kind, with their keys.
type observed struct {
	mu  sync.Mutex // guards got
	got []string
}

func (o *observed) Observe(e event.Event) {
	if e.Key == "acme" {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.got = append(o.got, string(e.Kind)+" "+e.Source+" "+e.Wait.String())
	}
}

// start starts a client as one of another process, with the guard g for the queue acme.
func start(t *testing.T, db *sql.DB, id string, g *guard.Guard, do func(context.Context, *river.Job[ask]) error) *river.Client[*sql.Tx] {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &asker{do: do})
	config := &river.Config{
		ID:      id,
		Queues:  map[string]river.QueueConfig{"acme": {MaxWorkers: 1}, "other": {MaxWorkers: 1}},
		Workers: workers,
		Logger:  slog.New(slog.DiscardHandler), Test: river.TestConfig{Time: goClock{}},
	}
	require.NoError(t, riverguard.Queue[*sql.Tx](config, "acme", riverguard.Config{Guard: g}))
	client, err := river.NewClient(seldom{riversqlite.New(db)}, config)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	return client
}

func insert(t *testing.T, client *river.Client[*sql.Tx], queue string, questions ...int) {
	t.Helper()
	for _, q := range questions {
		_, err := client.Insert(t.Context(), ask{q}, &river.InsertOpts{Queue: queue})
		require.NoError(t, err)
	}
}

// worked are the jobs that were worked, in order.
type worked struct {
	mu       sync.Mutex // guards the rest
	began    time.Time
	asked    []int
	attempts []int
	at       []time.Duration
}

func (w *worked) note(job *river.Job[ask]) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.attempts, w.at = append(w.asked, job.Args.Question), append(w.attempts, job.Attempt), append(w.at, time.Since(w.began))
	return len(w.asked)
}

func TestALongPauseHoldsForTheQueueAndJobsKeepTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := database(t)
		defer db.Close() //nolint:errcheck // of a test
		o, w := &observed{}, &worked{began: time.Now()}
		g := newGuard(t, guard.Policy{Name: "acme", Observer: o})
		client := start(t, db, "a", g, func(_ context.Context, job *river.Job[ask]) error {
			if w.note(job) == 1 {
				return &adaptive.RateLimitHit{RetryAfter: 2 * time.Minute}
			}
			return nil
		})
		insert(t, client, "acme", 1, 2)
		time.Sleep(7 * time.Second)
		queue, err := client.QueueGet(t.Context(), "acme")
		require.NoError(t, err)
		assert.NotNil(t, queue.PausedAt, "the queue is not paused")
		keepers, err := client.JobList(t.Context(), river.NewJobListParams().Kinds("headrace_resume").States(rivertype.JobStateScheduled))
		require.NoError(t, err)
		require.Len(t, keepers.Jobs, 1)
		assert.Contains(t, string(keepers.Jobs[0].EncodedArgs), `"reason":"adaptive: rate limit hit, retry after 2m0s"`)

		insert(t, client, "acme", 3, 4, 5, 6, 7, 8) // they are behind those that were refused
		insert(t, client, "other", 9)
		time.Sleep(125 * time.Second)
		require.NoError(t, client.Stop(t.Context()))

		assert.Equal(t, []int{1, 9, 1, 2, 3, 4, 5, 6, 7, 8}, w.asked) // 9 is in the queue without a guard
		for i, attempt := range w.attempts {
			assert.Equal(t, 1, attempt, w.asked[i])
		}
		for _, at := range w.at[2:] {
			assert.Greater(t, at, 2*time.Minute)
			assert.Less(t, at, 130*time.Second)
		}
		require.Len(t, o.got, 3)
		assert.Equal(t, "limiter.paused acme 1m0s", o.got[0])
		assert.Regexp(t, `^limiter\.paused acme [45]\d(\.\d+)?s$`, o.got[1])
		assert.Equal(t, "limiter.reopened acme 0s", o.got[2])
	})
}

func TestAQueueIsResumedAlsoIfTheProcessThatPausedItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := database(t)
		defer db.Close() //nolint:errcheck // of a test
		gone, w := &worked{began: time.Now()}, &worked{began: time.Now()}
		exhausted := guard.Policy{Name: "acme", Detector: func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal} }}
		first := start(t, db, "a", newGuard(t, exhausted), func(_ context.Context, job *river.Job[ask]) error {
			gone.note(job)
			return context.DeadlineExceeded
		})
		insert(t, first, "acme", 1, 2, 3)
		time.Sleep(3 * time.Second)
		require.NoError(t, first.Stop(t.Context()))
		assert.Equal(t, []int{1}, gone.asked)

		second := start(t, db, "b", newGuard(t, guard.Policy{Name: "acme"}), func(_ context.Context, job *river.Job[ask]) error {
			w.note(job)
			return nil
		})
		time.Sleep(20 * time.Second)
		w.mu.Lock()
		assert.Empty(t, w.asked, "the queue is not paused for another process")
		w.mu.Unlock()
		time.Sleep(45 * time.Second)
		require.NoError(t, second.Stop(t.Context()))
		assert.Equal(t, []int{1, 2, 3}, w.asked)
		assert.Equal(t, []int{1, 1, 1}, w.attempts)
	})
}

func TestAQueueThatWasResumedByHandIsNotAskedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := database(t)
		defer db.Close() //nolint:errcheck // of a test
		g := newGuard(t, guard.Policy{Name: "acme"})
		w := &worked{began: time.Now()}
		client := start(t, db, "a", g, func(_ context.Context, job *river.Job[ask]) error { w.note(job); return nil })
		g.Pause(time.Now().Add(30 * time.Second))
		insert(t, client, "acme", 1, 2)
		time.Sleep(8 * time.Second)
		require.NoError(t, client.QueueResume(t.Context(), "acme", nil))
		time.Sleep(15 * time.Second)
		jobs, err := client.JobList(t.Context(), river.NewJobListParams().Kinds("ask"))
		require.NoError(t, err)
		for _, job := range jobs.Jobs {
			assert.Less(t, len(job.AttemptedBy), 5, string(job.Metadata))
		}
		time.Sleep(15 * time.Second)
		require.NoError(t, client.Stop(t.Context()))
		assert.Len(t, w.asked, 2)
	})
}

// If only the statement that pauses the queue fails, the job that would resume it is there already, and is no sign of a pause.
func TestAQueueThatCouldNotBePausedIsNotAskedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := database(t)
		defer db.Close() //nolint:errcheck // of a test
		_, err := db.ExecContext(t.Context(), `CREATE TRIGGER broken BEFORE UPDATE OF paused_at ON river_queue WHEN NEW.paused_at IS NOT NULL
			BEGIN SELECT RAISE(ABORT, 'broken'); END`)
		require.NoError(t, err)
		o, w := &observed{}, &worked{began: time.Now()}
		g := newGuard(t, guard.Policy{Name: "acme", Observer: o})
		client := start(t, db, "a", g, func(_ context.Context, job *river.Job[ask]) error { w.note(job); return nil })
		g.Pause(time.Now().Add(50 * time.Second))
		insert(t, client, "acme", 1, 2)
		time.Sleep(3 * time.Second)
		insert(t, client, "acme", 3)
		time.Sleep(10 * time.Second)
		jobs, err := client.JobList(t.Context(), river.NewJobListParams().Kinds("ask"))
		require.NoError(t, err)
		require.Len(t, jobs.Jobs, 3)
		for _, job := range jobs.Jobs {
			assert.Equal(t, rivertype.JobStateScheduled, job.State)
			assert.Len(t, job.AttemptedBy, 1, string(job.Metadata))
			assert.Zero(t, job.Attempt)
		}

		_, err = db.ExecContext(t.Context(), "DROP TRIGGER broken")
		require.NoError(t, err)
		insert(t, client, "acme", 4)
		time.Sleep(3 * time.Second)
		queue, err := client.QueueGet(t.Context(), "acme")
		require.NoError(t, err)
		assert.NotNil(t, queue.PausedAt, "another job has paused it")
		time.Sleep(50 * time.Second)
		require.NoError(t, client.Stop(t.Context()))
		assert.ElementsMatch(t, []int{1, 2, 3, 4}, w.asked)
		assert.Equal(t, []int{1, 1, 1, 1}, w.attempts)
		assert.Contains(t, o.got[len(o.got)-1], "limiter.reopened")
	})
}

func TestASnoozeIsNoAttempt(t *testing.T) {
	db := database(t)
	defer db.Close() //nolint:errcheck // of a test
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // of a test
	worker := &asker{do: func(context.Context, *river.Job[ask]) error { return &adaptive.RateLimitHit{RetryAfter: time.Minute} }}
	m := middleware(t, riverguard.Config{Guard: newGuard(t, guard.Policy{})})
	config := &river.Config{Middleware: []rivertype.Middleware{m}, Logger: slog.New(slog.DiscardHandler)}
	result, err := rivertest.NewWorker(t, riversqlite.New(nil), config, worker).Work(t.Context(), t, tx, ask{}, nil)
	require.NoError(t, err)
	assert.Equal(t, river.EventKindJobSnoozed, result.EventKind)
	assert.Zero(t, result.Job.Attempt)
	assert.Empty(t, result.Job.Errors)
	assert.Contains(t, string(result.Job.Metadata), "rate limit hit")
}

func TestAPanicIsAnAttempt(t *testing.T) {
	db := database(t)
	defer db.Close() //nolint:errcheck // of a test
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // of a test
	g := newGuard(t, guard.Policy{})
	m := middleware(t, riverguard.Config{Guard: g})
	config := &river.Config{Middleware: []rivertype.Middleware{m}, Logger: slog.New(slog.DiscardHandler)}
	worker := &asker{do: func(context.Context, *river.Job[ask]) error { panic("worker") }}
	result, err := rivertest.NewWorker(t, riversqlite.New(nil), config, worker).Work(t.Context(), t, tx, ask{}, nil)
	var panicked *rivertest.PanicError
	require.ErrorAs(t, err, &panicked)
	assert.Contains(t, panicked.Trace, "queue_test.go", "River does not see where it panicked")
	assert.Equal(t, 1, result.Job.Attempt)
	assert.Zero(t, g.Stats().InFlight)
}

func TestWordsOfTheProviderAreNotStored(t *testing.T) {
	db := database(t)
	defer db.Close() //nolint:errcheck // of a test
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // of a test
	m := middleware(t, riverguard.Config{Guard: newGuard(t, guard.Policy{
		Detector: func(error) adaptive.Feedback { return adaptive.Feedback{Verdict: adaptive.Terminal} },
	})})
	config := &river.Config{Middleware: []rivertype.Middleware{m}, Logger: slog.New(slog.DiscardHandler)}
	worker := &asker{do: func(context.Context, *river.Job[ask]) error { return errors.New("no credit for sk-secret") }}
	result, err := rivertest.NewWorker(t, riversqlite.New(nil), config, worker).Work(t.Context(), t, tx, ask{}, nil)
	require.NoError(t, err)
	assert.Equal(t, river.EventKindJobSnoozed, result.EventKind)
	assert.Contains(t, string(result.Job.Metadata), adaptive.ErrQuotaExhausted.Error())
	assert.NotContains(t, string(result.Job.Metadata), "sk-secret")
}
