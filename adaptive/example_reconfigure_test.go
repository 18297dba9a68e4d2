package adaptive_test

import (
	"fmt"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Other limits do not make the law forget what it has learnt.
func ExampleLimiter_Reconfigure() {
	law := adaptive.AIMD{Initial: 8}
	lim, _ := adaptive.New(adaptive.Config{Name: "openai", Law: law})

	err := lim.Reconfigure(adaptive.Config{Law: law, Limits: throttle.Limits{Concurrency: 4}})
	fmt.Println(lim.Throttle().Limits(), err)
	err = lim.Reconfigure(adaptive.Config{Law: adaptive.AIMD{Backoff: 2}})
	fmt.Println(err)
	// Output:
	// 4 concurrent <nil>
	// adaptive: openai: Law: adaptive: AIMD: Backoff: 2 is not between 0 and 1
}
