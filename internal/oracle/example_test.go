package oracle_test

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/oracle"
)

func Example() {
	a := oracle.NewAuditor(
		oracle.Sliding(0, 2, time.Second),
		oracle.Bucket(1, 1, 3*time.Second, 100), // a third of a token per second
	)
	a.Add(oracle.Entry{At: 0, Weights: oracle.Weights{1, 50}})
	call := a.Add(oracle.Entry{At: 10 * time.Millisecond, Weights: oracle.Weights{1, 50}})
	a.Add(oracle.Entry{At: 20 * time.Millisecond, Kind: oracle.GiveBack, Of: call, Weights: oracle.Weights{0, 30}})
	a.Add(oracle.Entry{At: 900 * time.Millisecond, Weights: oracle.Weights{1, 30}})

	fmt.Println(a.Verdict().Err())
	// Output:
	// oracle: 1 violations in 4 entries
	// 2 requests in any 1s: 1 violations in 3 admissions, at worst 3 of 2 (1.5) at 900ms
	// bucket of 100 tokens, 1 per 3s: 0 violations in 3 admissions, at worst 99.9967 of 100 (1) at 10ms
	// entry 3 at 900ms: 3, allowed 2: 2 requests in any 1s
}

func ExampleJudge() {
	log := oracle.Timeline([]oracle.Call{
		{At: 0, Done: 3 * time.Second},
		{At: 2 * time.Second, Done: 4 * time.Second},
		{At: 3 * time.Second, Done: 5 * time.Second},
	})
	fmt.Println(oracle.Judge(log, oracle.Concurrency(2)).Err())
	fmt.Println(oracle.Judge(log, oracle.Concurrency(1)).Violations)
	// Output:
	// <nil>
	// [entry 1 at 2s: 2, allowed 1: 1 at once entry 3 at 3s: 2, allowed 1: 1 at once]
}
