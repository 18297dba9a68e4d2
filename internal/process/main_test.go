package process_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv has the test binary print its identity and wait for the end of its input.
const childEnv = "HEADRACE_PROCESS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		beChild()
		return
	}
	goleak.VerifyTestMain(m)
}
