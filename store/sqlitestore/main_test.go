package sqlitestore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is a child process instead when a test has asked for one.
func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(beChild(child))
	}
	if child := os.Getenv(quotaChildEnv); child != "" {
		os.Exit(beQuotaChild(child))
	}
	goleak.VerifyTestMain(m)
}
