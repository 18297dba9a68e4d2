package riverguard_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	riverguard "github.com/headrace/headrace/engine/river"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/postgresserver"
)

var withPostgres = flag.Bool("postgres", false, "run the tests that need PostgreSQL (make test-engines)")

func TestOnPostgreSQL(t *testing.T) {
	if !*withPostgres {
		t.Skip("make test-engines runs this")
	}
	server, err := postgresserver.Start(t.Context(), "fsync=off")
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	pool, err := pgxpool.New(t.Context(), server.URL)
	require.NoError(t, err)
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)

	first, second := &worked{began: time.Now()}, &worked{began: time.Now()}
	refuse := func(_ context.Context, job *river.Job[ask]) error {
		if first.note(job) == 1 {
			return &adaptive.RateLimitHit{RetryAfter: 12 * time.Second}
		}
		return nil
	}
	a := onPostgres(t, pool, "a", newGuard(t, guard.Policy{Name: "acme"}), refuse)
	_, err = a.Insert(t.Context(), ask{0}, &river.InsertOpts{Queue: "acme"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		queue, err := a.QueueGet(t.Context(), "acme")
		return err == nil && queue.PausedAt != nil
	}, 20*time.Second, 50*time.Millisecond, "the queue is not paused")
	// Another process does not work the queue either, although its guard is not paused.
	b := onPostgres(t, pool, "b", newGuard(t, guard.Policy{Name: "acme"}), func(_ context.Context, job *river.Job[ask]) error {
		second.note(job)
		return nil
	})
	done, unsubscribe := b.Subscribe(river.EventKindJobCompleted)
	defer unsubscribe()
	alsoDone, unsubscribeToo := a.Subscribe(river.EventKindJobCompleted)
	defer unsubscribeToo()
	for i := range 9 {
		_, err = b.Insert(t.Context(), ask{i}, &river.InsertOpts{Queue: "acme"})
		require.NoError(t, err)
	}
	for asks, end := 0, time.NewTimer(time.Minute).C; asks < 10; {
		var e *river.Event
		select {
		case e = <-done:
		case e = <-alsoDone:
		case <-end:
			require.FailNow(t, "the queue was not resumed")
		}
		if e.Job.Kind == "ask" {
			asks++
			assert.Equal(t, 1, e.Job.Attempt)
		}
	}
	require.NoError(t, a.Stop(t.Context()))
	require.NoError(t, b.Stop(t.Context()))
	all := append(append([]time.Duration{}, first.at[1:]...), second.at...)
	assert.Len(t, all, 10)
	for _, at := range all {
		assert.Greater(t, at, 11*time.Second)
	}
}

func TestACancelledJobOnPostgreSQL(t *testing.T) {
	if !*withPostgres {
		t.Skip("make test-engines runs this")
	}
	server, err := postgresserver.Start(t.Context(), "fsync=off")
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	pool, err := pgxpool.New(t.Context(), server.URL)
	require.NoError(t, err)
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)

	g := newGuard(t, guard.Policy{Name: "acme"})
	running := make(chan struct{})
	var once sync.Once
	client := onPostgres(t, pool, "a", g, func(ctx context.Context, _ *river.Job[ask]) error {
		once.Do(func() { close(running) })
		<-ctx.Done()
		return errors.Join(ctx.Err(), context.Cause(ctx))
	})
	cancelled, unsubscribe := client.Subscribe(river.EventKindJobCancelled)
	defer unsubscribe()
	inserted, err := client.Insert(t.Context(), ask{}, &river.InsertOpts{Queue: "acme"})
	require.NoError(t, err)
	<-running
	_, err = client.JobCancel(t.Context(), inserted.Job.ID)
	require.NoError(t, err)
	<-cancelled
	assert.Eventually(t, func() bool { return g.Stats().InFlight == 0 }, 10*time.Second, 10*time.Millisecond)

	g.Pause(time.Now().Add(9 * time.Second)) // a job that waits for admission
	inserted, err = client.Insert(t.Context(), ask{}, &river.InsertOpts{Queue: "acme"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return g.Stats().Waiting == 1 }, 8*time.Second, 10*time.Millisecond)
	_, err = client.JobCancel(t.Context(), inserted.Job.ID)
	require.NoError(t, err)
	<-cancelled
	assert.Eventually(t, func() bool { return g.Stats().Waiting == 0 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, client.Stop(t.Context()))
}

// onPostgres starts a client as one of another process.
func onPostgres(t *testing.T, pool *pgxpool.Pool, id string, g *guard.Guard, do func(context.Context, *river.Job[ask]) error) *river.Client[pgx.Tx] {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &asker{do: do})
	config := &river.Config{
		ID: id, Queues: map[string]river.QueueConfig{"acme": {MaxWorkers: 4}}, Workers: workers, Logger: slog.New(slog.DiscardHandler),
	}
	require.NoError(t, riverguard.Queue[pgx.Tx](config, "acme", riverguard.Config{Guard: g}))
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	return client
}
