package law_test

import (
	"fmt"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func ExampleDrive() {
	three := law.Drive("AIMD up to 3", adaptive.AIMD{Max: 3}, false)
	results, err := client.Run(scenario.Twelve()[0].Setting, three, 1, client.Watch{})
	fmt.Println(results[0].Measured.Refused, err)
	// Output: 0 <nil>
}
