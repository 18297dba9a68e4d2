package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// A second process finds what the first one has paid for.
func Example() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	part := journal.Part{Run: "november", Node: "summarise"}
	key := journal.Key{Part: part, Content: "article 7"}

	for range 2 { // two processes, one after the other
		j, err := sqlitestore.OpenJournal(filepath.Join(dir, "journal.db"))
		if err != nil {
			fmt.Println(err)
			return
		}
		owner := journal.NewOwner()
		if _, err := j.Open(ctx, part, owner, "prompt 1", time.Now()); err != nil {
			fmt.Println(err)
		}
		known, err := j.Begin(ctx, key, time.Now(), false)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: %q\n", known.State, known.Value)
		if known.State != journal.Done {
			r := journal.Record{Key: key, State: journal.Done, Value: []byte(`"short"`), Attempts: 1, Ended: time.Now()}
			if _, err := j.Finish(ctx, part, owner, "", r); err != nil {
				fmt.Println(err)
			}
		}
		if err := errors.Join(j.Release(ctx, part, owner), j.Close()); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// unknown: ""
	// done: "\"short\""
}

// What a job does once a day. The file shrinks.
func ExampleJournal_Runs() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	j, err := sqlitestore.OpenJournal(filepath.Join(dir, "journal.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = j.Close() }()
	ctx, now := context.Background(), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for run, days := range map[string]int{"september": 60, "november": 3} {
		at, part := now.AddDate(0, 0, -days), journal.Part{Run: run, Node: "summarise"}
		key, owner := journal.Key{Part: part, Content: "article 7"}, journal.NewOwner()
		_, _ = j.Open(ctx, part, owner, "prompt 1", at)
		_, _ = j.Begin(ctx, key, at, false)
		_, _ = j.Finish(ctx, part, owner, "", journal.Record{Key: key, State: journal.Done, Value: []byte(`"short"`), Attempts: 1, Ended: at})
		_ = j.Release(ctx, part, owner)
	}

	for run, err := range j.Runs(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.0f days old, %d of %d done, %d bytes\n", run.Name, now.Sub(run.Changed).Hours()/24, run.Done, run.Total(), run.Bytes)
	}
	forgotten, err := journal.ForgetBefore(ctx, j, now.AddDate(0, 0, -30))
	fmt.Println("forgotten:", forgotten, err)
	// Output:
	// november: 3 days old, 1 of 1 done, 7 bytes
	// september: 60 days old, 1 of 1 done, 7 bytes
	// forgotten: [september] <nil>
}

// Two processes keep one limit together.
func ExampleOpenQuota() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	limits := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(3, time.Hour)}}

	for process := range 2 {
		store, err := sqlitestore.OpenQuota(filepath.Join(dir, "limits.db"))
		if err != nil {
			fmt.Println(err)
			return
		}
		api, err := guard.New(guard.Policy{Name: "api", Limits: limits, Store: store})
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 2 {
			err := api.Try(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
			fmt.Println(process, errors.Is(err, throttle.ErrLimited))
		}
		if err := store.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 0 false
	// 0 false
	// 1 false
	// 1 true
}
