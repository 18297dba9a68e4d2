package benchmarks

import (
	"fmt"
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
	if os.Getenv(loopEnv) != "" {
		if err := loopChild(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(serverEnv) != "" {
		os.Exit(serverChild(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
