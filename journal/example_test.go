package journal_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/journal"
)

// What a run does with each of its items.
func Example() {
	ctx := journal.WithRun(context.Background(), "november")
	j := journal.NewMemory()
	defer func() { _ = j.Close() }()

	part := journal.Part{Run: journal.RunFrom(ctx), Node: "summarise"}
	if _, err := j.Open(ctx, part, "prompt 1", time.Now()); err != nil {
		fmt.Println(err)
		return
	}
	key := journal.Key{Part: part, Content: "article 7"}
	for range 2 {
		known, err := j.Begin(ctx, key, time.Now(), false)
		if err != nil {
			fmt.Println(err)
			return
		}
		if known.State == journal.Done {
			fmt.Printf("paid for already: %s\n", known.Value)
			continue
		}
		fmt.Println("call the provider")
		done := journal.Record{Key: key, State: journal.Done, Value: []byte(`"short"`), Attempts: 1, Ended: time.Now()}
		if _, err := j.Finish(ctx, part, "", done); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// call the provider
	// paid for already: "short"
}

func ExampleVersionError() {
	ctx, j := context.Background(), journal.NewMemory()
	defer func() { _ = j.Close() }()
	part := journal.Part{Run: "november", Node: "summarise"}
	_, _ = j.Open(ctx, part, "prompt 1", time.Now())
	_, err := j.Open(ctx, part, "prompt 2", time.Now())
	var mismatch *journal.VersionError
	fmt.Println(errors.As(err, &mismatch), mismatch.Recorded)
	// Output: true prompt 1
}

func ExampleForgetBefore() {
	ctx, j := context.Background(), journal.NewMemory()
	defer func() { _ = j.Close() }()
	october := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	_, _ = j.Open(ctx, journal.Part{Run: "october", Node: "n"}, "", october)
	_, _ = j.Open(ctx, journal.Part{Run: "november", Node: "n"}, "", october.AddDate(0, 1, 0))
	fmt.Println(journal.ForgetBefore(ctx, j, october.AddDate(0, 0, 15)))
	// Output: [october] <nil>
}
