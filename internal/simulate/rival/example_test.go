package rival_test

import (
	"fmt"

	"github.com/headrace/headrace/internal/simulate/rival"
)

func ExampleAll() {
	for _, c := range rival.All() {
		fmt.Println(c.Name)
	}
	fmt.Println(rival.Oracle().Name)
	// Output:
	// fixed pool 32 + SDK retry
	// AIMD x0.5 / x1.2
	// Netflix AIMD
	// Netflix Vegas
	// Netflix Gradient2
	// AWS adaptive (CUBIC)
	// inspect_ai
	// promptfoo
	// Nall
	// oracle
}
