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

	part, owner := journal.Part{Run: journal.RunFrom(ctx), Node: "summarise"}, journal.NewOwner()
	if _, err := j.Open(ctx, part, owner, "prompt 1", time.Now()); err != nil {
		fmt.Println(err) // a *journal.HeldError while another run has the part
		return
	}
	defer func() { _ = j.Release(ctx, part, owner) }()
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
		if _, err := j.Finish(ctx, part, owner, "", done); err != nil {
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
	owner := journal.NewOwner()
	_, _ = j.Open(ctx, part, owner, "prompt 1", time.Now())
	_, err := j.Open(ctx, part, owner, "prompt 2", time.Now())
	var mismatch *journal.VersionError
	fmt.Println(errors.As(err, &mismatch), mismatch.Recorded)
	// Output: true prompt 1
}

func ExampleHeldError() {
	ctx, j := context.Background(), journal.NewMemory()
	defer func() { _ = j.Close() }()
	part := journal.Part{Run: "november", Node: "summarise"}
	first, second := journal.NewOwner(), journal.NewOwner()
	_, _ = j.Open(ctx, part, first, "prompt 1", time.Now())
	_, err := j.Open(ctx, part, second, "prompt 1", time.Now())
	var held *journal.HeldError
	fmt.Println(errors.As(err, &held), held.Lease.Owner == first)

	_ = j.Release(ctx, part, first)
	_, err = j.Open(ctx, part, second, "prompt 1", time.Now())
	fmt.Println(err)
	// Output:
	// true true
	// <nil>
}

func ExampleForgetBefore() {
	ctx, j := context.Background(), journal.NewMemory()
	defer func() { _ = j.Close() }()
	october, owner := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), journal.NewOwner()
	for i, run := range []string{"october", "november"} {
		part := journal.Part{Run: run, Node: "n"}
		_, _ = j.Open(ctx, part, owner, "", october.AddDate(0, i, 0))
		_ = j.Release(ctx, part, owner)
	}
	fmt.Println(journal.ForgetBefore(ctx, j, october.AddDate(0, 0, 15)))
	// Output: [october] <nil>
}
