package report_test

import (
	"fmt"
	"os"

	"github.com/headrace/headrace/internal/simulate/report"
)

func ExamplePlan() {
	plan := report.Plan{Seeds: 1, Only: "fixed pool", Scenario: "refusals count", ColdOnly: true, Plain: true}
	if err := plan.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ## Cold start: goodput in % of the oracle / 429s in % of attempts
	//
	// scenario        fixed pool 32 + SDK retry
	// refusals count  0.8 / 99
}
