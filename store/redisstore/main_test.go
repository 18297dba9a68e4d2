package redisstore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is a child process instead when a test has asked for one.
func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		os.Exit(beChild(url))
	}
	goleak.VerifyTestMain(m)
}
