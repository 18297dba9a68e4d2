package download

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}
