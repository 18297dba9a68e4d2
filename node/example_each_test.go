package node_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// The items come from the state, and the results go back into it.
func ExampleEach() {
	batch := node.Each("score",
		func(r *Review) []string { return r.Texts },
		score,
		func(r *Review, scores []int) { r.Scores = scores }).WithParallel(8)

	review := &Review{Texts: []string{"good", "better"}}
	_, err := batch.Run(context.Background(), review)
	fmt.Println(review.Scores, err)

	review = &Review{Texts: []string{"good", ""}}
	_, err = batch.Run(context.Background(), review)
	fmt.Println(review.Scores, err)
	// Output:
	// [4 6] <nil>
	// [] node "score": 1 of 2 items failed; first: item 1: nothing to score
}

// A step with a result that was paid for: the second run of the same journal stores
// it again without a call.
func ExampleOne() {
	j := journal.NewMemory() // store/sqlitestore keeps one in a file
	plan := node.One("plan",
		func(_ context.Context, r *Review) (string, error) {
			fmt.Println("call")
			return fmt.Sprintf("score %d texts", len(r.Texts)), nil
		},
		func(r *Review, note string) { r.Notes = append(r.Notes, note) }).WithJournal(j)
	for range 2 {
		review := &Review{Texts: []string{"good", "better"}}
		_, err := plan.Run(context.Background(), review)
		fmt.Printf("%q %v\n", review.Notes, err)
	}
	// Output:
	// call
	// ["score 2 texts"] <nil>
	// ["score 2 texts"] <nil>
}
