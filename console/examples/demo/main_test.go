package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheDemoEnds(t *testing.T) {
	var out bytes.Buffer
	page := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, run(t.Context(), []string{"-items", "79", "-log", "-html", page}, &out))
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "<h2>Limiter ask</h2>")
	require.Contains(t, string(html), `<polyline class="waiting"`)
	require.Contains(t, out.String(), "demo: first failure: ask, item 77, after 2 attempts: the provider said 500")
	require.Contains(t, out.String(), "level=WARN")
	require.Contains(t, out.String(), "79 of 79 (100%), 1 failed")
	require.Error(t, run(t.Context(), []string{"-progress", "loud"}, &out))
}
