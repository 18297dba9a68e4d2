package arch

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the core's folder, seen from this one.
const root = "../.."

func TestTheHouseIsInOrder(t *testing.T) {
	packages := listCore(t)
	require.Contains(t, paths(packages), module+"/internal/arch", "go list did not see the core")

	for _, problem := range violations(packages) {
		t.Error(problem)
	}
}

// The linter shows a climbing arrow while it is typed, so it has to know the
// same packages.
func TestTheLinterKnowsEveryPlace(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	require.NoError(t, err)

	for _, p := range table {
		files := strings.Replace(p.pattern, "/...", "/**", 1) + "/*.go"
		files = "${config-path}/" + strings.TrimPrefix(files, "/")
		assert.True(t, strings.Contains(string(config), `"`+files+`"`), "depguard has no rule for %s", name(p.pattern))
	}
}

// The page for contributors has each package in the row of its layer, except for internal ones and test suites.
func TestThePageKnowsEveryPlace(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if layer, packages, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			rows[layer] = packages
		}
	}
	for _, p := range table {
		if p.pattern == "" || strings.HasPrefix(p.pattern, "internal/") || strings.HasSuffix(p.pattern, "test") {
			continue
		}
		row := rows[strconv.Itoa(p.layer)]
		known := strings.Contains(row, "`"+p.pattern+"`") || strings.Contains(row, "`"+strings.TrimSuffix(p.pattern, "/...")+"`")
		assert.True(t, known, "layer %d of CONTRIBUTING.md lacks %s", p.layer, p.pattern)
	}
}

func TestViolations(t *testing.T) {
	const foreign = "example.com/left/pad"
	ours := func(rel string) string { return module + "/" + rel }

	for about, c := range map[string]struct {
		of   pkg
		want []string
	}{
		"down one layer": {
			of: pkg{ImportPath: ours("adaptive"), Imports: []string{ours("throttle"), "context", "C"}},
		},
		"from the roof to the cellar": {
			of: pkg{ImportPath: module, Imports: []string{ours("internal/clock"), ours("event"), ours("flow")}},
		},
		"a listed dependency and its parts": {
			of: pkg{ImportPath: ours("retry"), Imports: []string{
				"github.com/cenkalti/backoff/v5", "golang.org/x/sync/errgroup", "go.opentelemetry.io/otel/metric/noop",
			}},
		},
		"up one layer": {
			of:   pkg{ImportPath: ours("throttle"), Imports: []string{ours("adaptive")}},
			want: []string{"throttle (F1) imports adaptive (F2): the arrow climbs"},
		},
		"the root from below": {
			of:   pkg{ImportPath: ours("node"), Imports: []string{module}},
			want: []string{"node (F6) imports the root package (F8): the arrow climbs"},
		},
		"every wrong arrow is told": {
			of: pkg{ImportPath: ours("retry"), Imports: []string{ours("event"), ours("throttle"), ours("node")}},
			want: []string{
				"retry (F1) imports throttle (F1): the arrow stays on its layer",
				"retry (F1) imports node (F6): the arrow climbs",
			},
		},
		"event stands on internal": {
			of: pkg{ImportPath: ours("event"), Imports: []string{ours("internal/invalid")}},
		},
		"internal does not stand on event": {
			of:   pkg{ImportPath: ours("internal/clock"), Imports: []string{ours("internal/invalid"), ours("event")}},
			want: []string{"internal/clock (F0) imports event (F0): the arrow stays on its layer"},
		},
		"a suite knows what it tests": {
			of: pkg{ImportPath: ours("quota/quotatest"), Imports: []string{ours("quota")}},
		},
		"and only that": {
			of:   pkg{ImportPath: ours("quota/quotatest"), Imports: []string{ours("adaptive")}},
			want: []string{"quota/quotatest (F2) imports adaptive (F2): the arrow stays on its layer"},
		},
		"and is not known by it": {
			of:   pkg{ImportPath: ours("quota"), Imports: []string{ours("quota/quotatest")}},
			want: []string{"quota (F2) imports quota/quotatest (F2): the arrow stays on its layer"},
		},
		"an example shows flows": {
			of: pkg{ImportPath: ours("examples/quickstart"), Imports: []string{ours("flow"), ours("providertest")}},
		},
		"a leaf imports nothing of ours": {
			of:   pkg{ImportPath: ours("providertest"), Imports: []string{"net/http", ours("internal/clock")}},
			want: []string{"providertest imports internal/clock, and a leaf imports nothing of ours"},
		},
		"a package without a layer": {
			of:   pkg{ImportPath: ours("util"), Imports: []string{ours("flow")}},
			want: []string{"util has no layer: place it in internal/arch/layers_test.go and in .golangci.yml"},
		},
		"a name that only begins like a place": {
			of:   pkg{ImportPath: ours("eventual")},
			want: []string{"eventual has no layer: place it in internal/arch/layers_test.go and in .golangci.yml"},
		},
		"another module of this repository": {
			of:   pkg{ImportPath: ours("flow"), Imports: []string{ours("store/redisstore")}},
			want: []string{"flow (F7) imports store/redisstore, which stands on no layer of the core"},
		},
		"a dependency nobody decided on": {
			of:   pkg{ImportPath: ours("node"), Imports: []string{foreign}},
			want: []string{"node imports example.com/left/pad, which is on no list of dependencies"},
		},
		"the SDK of OpenTelemetry": {
			of:   pkg{ImportPath: ours("node"), Imports: []string{"go.opentelemetry.io/otel/sdk/trace"}},
			want: []string{"node imports go.opentelemetry.io/otel/sdk/trace, which is on no list of dependencies"},
		},
		"a test tool in a binary": {
			of:   pkg{ImportPath: ours("flow/flowtest"), Imports: []string{"pgregory.net/rapid"}},
			want: []string{"flow/flowtest imports pgregory.net/rapid, which is for tests only"},
		},
		"tests climb, with the tools of tests": {
			of: pkg{
				ImportPath:   ours("throttle"),
				TestImports:  []string{"testing", "github.com/stretchr/testify/require", "pgregory.net/rapid"},
				XTestImports: []string{ours("node"), "go.uber.org/goleak"},
			},
		},
		"tests have their list too": {
			of: pkg{ImportPath: ours("throttle"), TestImports: []string{foreign}, XTestImports: []string{foreign}},
			want: []string{
				"the tests of throttle import example.com/left/pad, which is on no list of dependencies",
				"the tests of throttle import example.com/left/pad, which is on no list of dependencies",
			},
		},
		"a package of somebody else": {
			of:   pkg{ImportPath: module + "-fork/throttle"},
			want: []string{module + "-fork/throttle is not a package of " + module},
		},
	} {
		t.Run(about, func(t *testing.T) {
			assert.Equal(t, c.want, violations([]pkg{c.of}))
		})
	}
}

func TestViolationsJudgesEveryPackage(t *testing.T) {
	got := violations([]pkg{
		{ImportPath: module + "/flow", Imports: []string{module}},
		{ImportPath: module + "/node", Imports: []string{module + "/flow"}},
	})
	assert.Equal(t, []string{
		"flow (F7) imports the root package (F8): the arrow climbs",
		"node (F6) imports flow (F7): the arrow climbs",
	}, got)
}

// listCore asks the go command for the packages of the core; nested modules
// are not among them.
func listCore(t *testing.T) []pkg {
	t.Helper()
	dependOnTree(t)

	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, "go list: %s", stderr.String())

	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p pkg
		require.NoError(t, decoder.Decode(&p))
		packages = append(packages, p)
	}
	return packages
}

// dependOnTree visits every folder of the core. The go command caches a test's
// result by the files that the test itself opened, and cannot see what the
// `go list` within reads: without this a climbing import would pass from the
// cache.
func dependOnTree(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		return err
	}))
}

func paths(packages []pkg) []string {
	all := make([]string, len(packages))
	for i, p := range packages {
		all[i] = p.ImportPath
	}
	return all
}
