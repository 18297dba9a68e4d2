package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var withPostgres = flag.Bool("postgres", false, "run the tests that need PostgreSQL (make test-engines)")

// TestMain is a worker instead when a test has started it as one.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A short run says nothing about speed, so it may fail for that alone.
func TestNoResultIsLostOrThereTwice(t *testing.T) {
	if !*withPostgres {
		t.Skip("make test-engines runs this")
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"-jobs", "300", "-rate", "100", "-kill", "2s", "-halves", "2s", "-warm", "1s"}, &out)
	if err != nil {
		assert.Regexp(t, "^(too many 429s|too slow)$", err.Error(), out.String())
	}
	assert.Contains(t, out.String(), "results: 300, 300 of them right, for 300 of 300 jobs\n")
	assert.Contains(t, out.String(), " 0 lost, ")
	assert.NotContains(t, out.String(), " 0 workers killed", "the run says nothing about workers that are killed")
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	assert.Contains(t, out.String(), "-halves")
	require.ErrorContains(t, run(t.Context(), []string{"-jobs", "0"}, &out), "must be positive")
}
