package temporal_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var server = flag.Bool("server", false, "run the tests that need a Temporal server, and build it: see make test-engines")

var record = flag.Bool("record", false, "with -server: record the histories that later versions have to replay")

func TestMain(m *testing.M) {
	// the test suite leaves one behind for each child workflow that it starts again
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.temporal.io/sdk/internal.(*testWorkflowEnvironmentImpl).startMainLoop"))
}
