package faulttests_test

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

// make verify sets them.
var (
	running = flag.Duration("running", 3*time.Second, "how long 64 clients share limits through two servers")
	rounds  = flag.Int("rounds", 1, "how often each fault comes")
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // they wait more than they compute
	flag.Parse()
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics write to standard error otherwise
	// Some links of toxiproxy never end after a connection was cut while they carried something.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"))
}
