package temporal_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var server = flag.Bool("server", false, "run the tests that need a Temporal server, and build it: see make test-engines")

var record = flag.Bool("record", false, "with -server: record the histories that later versions have to replay")

func TestMain(m *testing.M) {
	const environment = "go.temporal.io/sdk/internal.(*testWorkflowEnvironmentImpl)."
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction(environment+"startMainLoop"),                   // left behind for each child workflow that is started again
		goleak.IgnoreTopFunction(environment+"executeActivityWithRetryForTest"), // and for an activity that outlasts its workflow:
		goleak.IgnoreTopFunction(environment+"ExecuteActivity.func2"),           // nobody answers the timer of its next attempt
	)
}
