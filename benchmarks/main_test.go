package benchmarks

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(streamEnv); name != "" {
		os.Exit(streamChild(name))
	}
	if items := os.Getenv(memoryEnv); items != "" {
		os.Exit(memoryChild(items))
	}
	if os.Getenv(serverEnv) != "" {
		os.Exit(serverChild(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
