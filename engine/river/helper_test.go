package riverguard_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/headrace/headrace/guard"
)

// ask is a job that calls a provider.
type ask struct {
	Question int `json:"question"`
}

func (ask) Kind() string { return "ask" }

// asker is a worker with a function as its Work.
type asker struct {
	river.WorkerDefaults[ask]
	do func(ctx context.Context, job *river.Job[ask]) error
}

func (a *asker) Work(ctx context.Context, job *river.Job[ask]) error { return a.do(ctx, job) }

// goClock has River use the time of the program, and not that of SQLite.
type goClock struct{}

func (goClock) Now() time.Time       { return time.Now() }
func (goClock) NowOrNil() *time.Time { return new(time.Now()) }

// seldom is SQLite's driver. Its listener polls twice a second, and not twenty times, so that
// minutes of virtual time take little of the real one.
type seldom struct{ *riversqlite.Driver }

func (s seldom) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	return seldomListener{s.Driver.GetListener(params)}
}

type seldomListener struct{ riverdriver.Listener }

func (s seldomListener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	timer := time.NewTimer(450 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.Listener.WaitForNotification(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// database returns a file with the tables of River, which is closed at the end of the test.
func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "river.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	return db
}

func newGuard(t *testing.T, p guard.Policy) *guard.Guard {
	t.Helper()
	g, err := guard.New(p)
	require.NoError(t, err)
	return g
}
