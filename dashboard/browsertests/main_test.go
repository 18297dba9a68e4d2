package browsertests_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// To look at the page: go test -pictures /tmp/pictures -after 60s.
var (
	pictures = flag.String("pictures", "", "a folder for pictures of the page")
	address  = flag.String("url", "", "a page to take a picture of, as docs/dashboard.png is of headrace run")
	after    = flag.Duration("after", 0*time.Second, "how old the timelines in them are, at least")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if groundDir != "" {
			_ = os.RemoveAll(groundDir)
		}
		os.Exit(code)
	}))
}
