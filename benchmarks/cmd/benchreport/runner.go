package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/benchmarks/internal/report"
)

const (
	everything  = "."
	leastPasses = 10

	// roundEnv is read by the benchmarks, which begin each pass with another
	// contender.
	roundEnv = "HEADRACE_BENCH_ROUND"
)

type runner struct {
	bench     string
	count     int
	benchtime time.Duration
	page, raw string
	date      time.Time
	out       io.Writer
}

// full says whether the run may replace the page.
func (r *runner) full() bool { return r.bench == everything && r.count >= leastPasses }

func (r *runner) run(ctx context.Context) (err error) {
	if r.count < 1 {
		return errors.New("-count has to be at least 1")
	}
	dir, err := os.MkdirTemp("", "benchreport")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	// Built once, so that all passes measure the same code.
	binary := filepath.Join(dir, "bench.test")
	if err := command(ctx, os.Stderr, nil, "go", "test", "-c", "-o", binary, ".").Run(); err != nil {
		return fmt.Errorf("building the benchmarks: %w", err)
	}
	var raw bytes.Buffer
	var passes []report.Pass
	for n := range r.count {
		start := time.Now()
		out, err := r.pass(ctx, binary, n)
		raw.Write(out)
		if err != nil {
			return fmt.Errorf("pass %d: %w\n%s", n+1, err, out)
		}
		p, err := report.Parse(out)
		if err != nil {
			return err
		}
		passes = append(passes, p)
		fmt.Fprintf(os.Stderr, "pass %d of %d took %v\n", n+1, r.count, time.Since(start).Round(time.Second))
	}
	if r.raw != "" {
		if err := os.WriteFile(r.raw, forBenchstat(raw.Bytes()), 0o644); err != nil { //nolint:gosec // a baseline, for everybody to read
			return err
		}
	}
	modules, err := peers(ctx)
	if err != nil {
		return err
	}
	return r.write(report.Machine{
		Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Date: r.date, Modules: modules,
	}, passes)
}

// forBenchstat leaves out what the tests have printed.
func forBenchstat(raw []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(raw) {
		name, _, found := bytes.Cut(line, []byte(":"))
		if bytes.HasPrefix(line, []byte("Benchmark")) || found && slices.Contains([]string{"goos", "goarch", "cpu", "pkg"}, string(name)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// pass is the behaviour, in virtual time and therefore quick, and the speed.
func (r *runner) pass(ctx context.Context, binary string, n int) ([]byte, error) {
	var out bytes.Buffer
	env := append(os.Environ(), roundEnv+"="+strconv.Itoa(n))
	tests := command(ctx, &out, env, binary, "-test.run="+r.bench, "-test.v")
	if err := tests.Run(); err != nil {
		return out.Bytes(), err
	}
	speed := command(ctx, &out, env, binary, "-test.run=^$", "-test.bench="+r.bench,
		"-test.benchmem", "-test.benchtime="+r.benchtime.String(), "-test.timeout=1h")
	err := speed.Run()
	return out.Bytes(), err
}

func (r *runner) write(m report.Machine, passes []report.Pass) error {
	if r.page == "" || !r.full() {
		return report.Write(r.out, m, passes)
	}
	var page bytes.Buffer
	if err := report.Write(&page, m, passes); err != nil {
		return err
	}
	return os.WriteFile(r.page, page.Bytes(), 0o644) //nolint:gosec // documentation, readable by all users
}

// peers are the modules that the benchmarks are linked with, with versions.
func peers(ctx context.Context) ([]string, error) {
	var out bytes.Buffer
	list := command(ctx, &out, nil, "go", "list", "-test", "-deps",
		"-f", "{{with .Module}}{{if not (or .Main .Indirect)}}{{.Path}} {{.Version}}{{end}}{{end}}", ".")
	if err := list.Run(); err != nil {
		return nil, fmt.Errorf("listing the peers: %w", err)
	}
	lines := strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
	return slices.Compact(slices.Sorted(slices.Values(lines))), nil
}

func command(ctx context.Context, out io.Writer, env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // the go command, and what it built
	c.Stdout, c.Stderr, c.Env = out, os.Stderr, env
	return c
}
