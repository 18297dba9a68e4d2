package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/benchmarks/internal/report"
)

func TestOnlyAFullRunReplacesThePage(t *testing.T) {
	for about, c := range map[string]struct {
		bench    string
		count    int
		replaced bool
	}{
		"full":           {everything, leastPasses, true},
		"more than that": {everything, leastPasses + 1, true},
		"narrowed down":  {"Allow", leastPasses, false},
		"too short":      {everything, leastPasses - 1, false},
	} {
		t.Run(about, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "page.md")
			require.NoError(t, os.WriteFile(page, []byte("old"), 0o600))
			var printed bytes.Buffer
			r := runner{bench: c.bench, count: c.count, page: page, out: &printed}
			require.NoError(t, r.write(report.Machine{}, nil))
			got, err := os.ReadFile(page)
			require.NoError(t, err)
			assert.Equal(t, c.replaced, string(got) != "old")
			assert.Equal(t, c.replaced, printed.Len() == 0)
		})
	}
}

// The binary's place is taken by a script that prints its arguments.
func TestAPassIsTheTestsAndTheBenchmarks(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bench.test")
	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho $"+roundEnv+" $@\n"), 0o700))
	r := runner{bench: "Allow", benchtime: time.Second}
	out, err := r.pass(t.Context(), binary, 3)
	require.NoError(t, err)
	assert.Equal(t, "3 -test.run=Allow -test.v\n"+
		"3 -test.run=^$ -test.bench=Allow -test.benchmem -test.benchtime=1s -test.timeout=1h\n", string(out))
}

func TestNoPassesIsAnError(t *testing.T) {
	require.Error(t, (&runner{bench: everything}).run(t.Context()))
}

func TestABaselineHasOnlyWhatBenchstatReads(t *testing.T) {
	const kept = "goos: linux\ncpu: x\nBenchmarkAllow/headrace-2 \t 10\t 5 ns/op\n"
	assert.Equal(t, kept, string(forBenchstat([]byte("=== RUN TestX\nPASS\n"+kept+"ok: all\nPASS\n"))))
}
