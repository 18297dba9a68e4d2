package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
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
		if _, err := j.Open(ctx, part, "prompt 1", time.Now()); err != nil {
			fmt.Println(err)
		}
		known, err := j.Begin(ctx, key, time.Now(), false)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: %q\n", known.State, known.Value)
		if known.State != journal.Done {
			r := journal.Record{Key: key, State: journal.Done, Value: []byte(`"short"`), Attempts: 1, Ended: time.Now()}
			if _, err := j.Finish(ctx, part, "", r); err != nil {
				fmt.Println(err)
			}
		}
		if err := j.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// unknown: ""
	// done: "\"short\""
}
