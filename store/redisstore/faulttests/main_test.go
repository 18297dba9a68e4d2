package faulttests_test

import (
	"flag"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

// make verify sets them.
var (
	rounds = flag.Int("rounds", 1, "how often each fault comes")
	lasts  = flag.Duration("lasts", 300*time.Millisecond, "how long each fault of the network lasts")
	storms = flag.Int("storms", 40, "how many calls each of the 64 callers of a storm makes")
)

func TestMain(m *testing.M) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics write to standard error otherwise
	// Some links of toxiproxy never end after a connection was cut while they carried something.
	redistest.Main(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicCollection).ResetToxics"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicCollection).StartLink"), // waits for it
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*Proxy).freeBlocker"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).RemoveToxic"))
}
