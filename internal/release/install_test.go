package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	install = flag.Bool("install", false, "install every published module from a local proxy, in an empty environment (minutes)")
	first   = flag.Bool("first", false, "measure the first command of the README in an empty environment, with an empty build cache")
)

// stranger is an environment that has nothing but Go, and a proxy with the modules of the tree.
type stranger struct {
	clone, fresh string
	all          []*sibling
	env          []string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	root, err := git(t.Context(), ".", "rev-parse", "--show-toplevel")
	require.NoError(t, err)
	dir := t.TempDir()
	s := &stranger{clone: filepath.Join(dir, "tree"), fresh: filepath.Join(dir, "fresh")}
	_, err = git(t.Context(), root, "clone", "--quiet", root, s.clone)
	require.NoError(t, err)
	s.all, _, err = prepare(t.Context(), s.clone, filepath.Join(dir, "proxy"), "v0.1.0")
	require.NoError(t, err)

	b := builder{dir: filepath.Join(dir, "go"), proxy: filepath.Join(dir, "proxy")}
	s.env = []string{"HOME=" + dir, "GOCACHE=" + goEnv("GOCACHE"), "PATH=" + filepath.Join(goEnv("GOROOT"), "bin") + string(os.PathListSeparator) + "/usr/bin:/bin"}
	for _, set := range b.env() {
		if name, _, _ := strings.Cut(set, "="); slices.Contains([]string{"GOPATH", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOFLAGS"}, name) {
			s.env = append(s.env, set) // the last one counts
		}
	}
	require.NoError(t, os.Mkdir(s.fresh, 0o700))
	return s
}

// typed are the blocks of commands in the README that need this environment.
func (s *stranger) typed(t *testing.T) (blocks []string) {
	t.Helper()
	all := regexp.MustCompile("(?s)\n<!-- not run: make test-install .*? -->\n```sh\n(.*?)```").FindAllStringSubmatch(read(t, s.clone, "README.md"), -1)
	require.Len(t, all, 3)
	for i, want := range []string{"go run " + repository + "/examples/quickstart@latest\n", "go install " + command + "@latest && ", "go get " + repository + "\n"} {
		require.Contains(t, all[i][1], want)
		blocks = append(blocks, all[i][1])
	}
	return blocks
}

// run runs a program, and returns its output, how long it took, and how much processor time.
func (s *stranger) run(t *testing.T, name string, args ...string) (out string, took, used time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = s.fresh, s.env
	began := time.Now()
	text, err := cmd.CombinedOutput()
	took = time.Since(began)
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), text)
	return string(text), took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// The commands of the README and every published module install from a proxy, in an environment that has nothing but Go.
func TestInstall(t *testing.T) {
	if !*install {
		t.Skip("-install runs it")
	}
	s := newStranger(t)
	in := func(name string, args ...string) string {
		out, took, _ := s.run(t, name, args...)
		t.Logf("%s in %s", strings.TrimSpace(strings.Join(args, " ")), took.Round(time.Second))
		return out
	}
	sh, goCommand := "/bin/sh", filepath.Join(goEnv("GOROOT"), "bin", "go")
	blocks := s.typed(t)
	assert.Regexp(t, `0 lost, 0 done twice\n`, in(sh, "-euc", blocks[0]))
	assert.Regexp(t, `By custom_id: (\d+) of (\d+) have the right answer; 0 lost, 0 twice, 0 mixed up.\n`, in(sh, "-euc", blocks[1]))
	assert.Contains(t, in(sh, "-euc", `"$(go env GOPATH)/bin/headrace" version`), "headrace v0.1.0\n")

	in(goCommand, "mod", "init", "example.com/fresh")
	in(sh, "-euxc", blocks[2])
	var imports strings.Builder
	for _, m := range s.all {
		if published(m) {
			in(goCommand, "get", m.Path+"@latest")
			fmt.Fprintf(&imports, "\t_ %q\n", m.Path)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.fresh, "main.go"), []byte("package main\n\nimport (\n"+imports.String()+")\n\nfunc main() {}\n"), 0o600))
	in(goCommand, "mod", "tidy")
	in(goCommand, "build", "./...")
}

// It prints how long the README's first line takes until it succeeds, when the modules are there and nothing is built.
func TestFirstSuccess(t *testing.T) {
	if !*first {
		t.Skip("-first runs it")
	}
	s := newStranger(t)
	line := s.typed(t)[0]
	s.run(t, "/bin/sh", "-euc", line)
	s.env = append(s.env, "GOCACHE="+t.TempDir())
	_, took, used := s.run(t, "/bin/sh", "-euc", line)
	t.Logf("%.1f s, %.1f s of processor time: %s", took.Seconds(), used.Seconds(), strings.TrimSpace(line))
}

// published reports whether programs import a module's own package.
func published(s *sibling) bool {
	for _, not := range []string{"benchmarks", "examples", "faulttests", "browsertests", "internal", "cmd", "proto"} {
		if strings.Contains("/"+s.Dir+"/", "/"+not+"/") {
			return false
		}
	}
	return true
}
