package throttle_test

import (
	"flag"
	"log"
	"testing"

	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/throttle"
)

// All that is tested holds with and without the fast path of Allow.
var fastClocks = flag.String("fast", "any", "on which clocks Allow goes without the lock: any, real or none")

func TestMain(m *testing.M) {
	flag.Parse()
	on, ok := map[string]func(c clockwork.Clock, isReal bool) bool{
		"any":  func(clockwork.Clock, bool) bool { return true },
		"real": func(_ clockwork.Clock, isReal bool) bool { return isReal },
		"none": func(clockwork.Clock, bool) bool { return false },
	}[*fastClocks]
	if !ok {
		log.Fatalf("-fast=%s is not one of any, real and none", *fastClocks)
	}
	throttle.SetFast(on)
	goleak.VerifyTestMain(m)
}
