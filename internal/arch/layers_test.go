package arch

// module is the core's path; every pattern below that names a package of headrace
// is relative to it.
const module = "github.com/headrace/headrace"

// place puts the packages that match a pattern in a layer. A pattern is a
// package, or a package and everything below it when it ends in "/...". The
// root package is "".
type place struct {
	pattern string
	layer   int
}

// arrow is an import of one package, or of several, by others.
type arrow struct{ from, to string }

// table is the one table of layers: a package imports packages of lower layers
// and no others. The first pattern that matches wins.
var table = []place{
	{"internal/simulate/...", 3},
	{"internal/presetgen", 4},
	{"internal/inflight", 3},
	{"internal/line", 3},
	{"internal/guardtest", 4},
	{"internal/tally", 2},
	{"internal/document", 2},
	{"internal/emit", 0},
	{"internal/...", 0},
	{"fault", 0},
	{"event", 0},

	{"throttle", 1},
	{"retry", 1},
	{"breaker", 1},
	{"journal", 1},
	{"journal/journaltest", 1},
	{"providertest", 1},

	{"quota", 2},
	{"quota/quotatest", 2},
	{"adaptive", 2},

	{"presets", 3},
	{"presets/dialect", 3},

	{"guard", 4},

	{"registry", 5},
	{"engine", 5},

	{"node", 6},
	{"httpclient/...", 6},

	{"flow", 7},
	{"flow/flowtest", 7},
	{"executor", 7},
	{"group", 7},
	{"examples/...", 7},

	{"telemetry", 8},
	{"", 8},
}

// level lists the only arrows that may stay on their layer: a conformance
// suite knows what it tests, and an example what it shows.
var level = []arrow{
	{"internal/emit", "event"},
	{"internal/...", "fault"},
	{"internal/...", "internal/..."},
	{"internal/simulate/...", "internal/simulate/..."},
	{"event", "fault"},
	{"event", "internal/..."},
	{"quota", "internal/tally"},
	{"quota/quotatest", "quota"},
	{"journal/journaltest", "journal"},
	{"internal/guardtest", "guard"},
	{"presets", "presets/dialect"},
	{"httpclient/...", "httpclient/..."},
	{"flow/flowtest", "flow"},
	{"examples/...", "flow"},
	{"examples/...", "executor"},
	{"examples/...", "examples/..."},
}

// leaves import nothing of ours, whatever their layer would allow.
var leaves = []string{"fault", "providertest", "internal/simulate/provider"}

// dependencies are the packages of others that the core may import; one more
// needs a decision in docs/adr. Of OpenTelemetry it is the API, never the SDK.
var dependencies = []string{
	"code.dny.dev/ssrf/...",
	"github.com/cenkalti/backoff/v5/...",
	"github.com/dunglas/httpsfv/...",
	"github.com/jonboulle/clockwork/...",
	"go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/attribute/...",
	"go.opentelemetry.io/otel/codes/...",
	"go.opentelemetry.io/otel/metric/...",
	"go.opentelemetry.io/otel/trace/...",
	"golang.org/x/sync/...",
}

// testDependencies are what tests may import besides.
var testDependencies = []string{
	"github.com/anishathalye/porcupine/...",
	"github.com/stretchr/testify/...",
	"go.uber.org/goleak/...",
	"pgregory.net/rapid/...",
}
