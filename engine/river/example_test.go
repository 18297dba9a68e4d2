package riverguard_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"

	riverguard "github.com/headrace/headrace/engine/river"
	"github.com/headrace/headrace/guard"
)

// Translate is a job that calls a provider with undisclosed limits.
type Translate struct {
	Text string `json:"text"`
}

// Kind implements river.JobArgs.
func (Translate) Kind() string { return "translate" }

// Here in a file of SQLite; with PostgreSQL, TTx is pgx.Tx and the driver riverpgxv5.New(pool).
func ExampleQueue() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of an example
	db, err := sql.Open("sqlite", filepath.Join(folder, "river.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close() //nolint:errcheck // of an example
	db.SetMaxOpenConns(1)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		panic(err)
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		panic(err)
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[Translate]) error {
		fmt.Println("calling the provider with", job.Args.Text)
		return nil
	}))
	acme, err := guard.New(guard.Policy{Name: "acme"})
	if err != nil {
		panic(err)
	}
	config := &river.Config{
		Queues:  map[string]river.QueueConfig{"acme": {MaxWorkers: 50}},
		Workers: workers,
		Logger:  quiet,
	}
	if err = riverguard.Queue[*sql.Tx](config, "acme", riverguard.Config{Guard: acme}); err != nil {
		panic(err)
	}
	client, err := river.NewClient(riversqlite.New(db), config)
	if err != nil {
		panic(err)
	}
	done, unsubscribe := client.Subscribe(river.EventKindJobCompleted)
	defer unsubscribe()
	if err = client.Start(ctx); err != nil {
		panic(err)
	}
	if _, err = client.Insert(ctx, Translate{"water"}, &river.InsertOpts{Queue: "acme"}); err != nil {
		panic(err)
	}
	<-done
	if err = client.Stop(ctx); err != nil {
		panic(err)
	}
	// Output: calling the provider with water
}
