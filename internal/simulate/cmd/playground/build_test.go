package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../../.."

// The page is complete, below its bound, and names no file that is not there.
func TestBuild(t *testing.T) {
	var stdout, stderr bytes.Buffer
	dir := filepath.Join(t.TempDir(), "page")
	require.NoError(t, run(t.Context(), []string{"-root", root, "-out", dir}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), simulator)
	size, err := sizeOf(dir)
	require.NoError(t, err)
	assert.Less(t, size, int64(largest))
	t.Logf("%s", stdout.String())

	packed, err := os.Open(filepath.Join(dir, simulator))
	require.NoError(t, err)
	defer packed.Close() //nolint:errcheck // it was read
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	wasm, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	assert.Equal(t, "\x00asm", string(wasm[:4]))
	assert.NotContains(t, string(wasm), filepath.Dir(dir), "the file depends on no folder")

	named := regexp.MustCompile(`(?:src|href)="([^"#:]+)"|from "\./([^"]+)"|importScripts\("([^"]+)"\)|Worker\("([^"]+)"\)|file = "([^"]+)"`)
	var names []string
	for _, pattern := range []string{"*.html", "[^uw]*.js", "worker.js"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				name := strings.Join(match[1:], "")
				assert.FileExists(t, filepath.Join(dir, name), "named in %s", file)
				names = append(names, name)
			}
		}
	}
	for _, name := range []string{"page.js", "uplot.js", "uplot.css", "style.css", "worker.js", "wasm_exec.js", "chart.js", simulator, "uplot.LICENSE.txt", "go.LICENSE.txt"} {
		assert.Contains(t, names, name)
	}
}

// git has the page's own files, and none of those that are built.
func TestWhatIsBuiltIsIgnored(t *testing.T) {
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	for _, name := range []string{simulator, "wasm_exec.js", "go.LICENSE.txt", "uplot.js", "uplot.css", "uplot.LICENSE.txt"} {
		matched := false
		for line := range strings.Lines(string(ignored)) {
			ok, _ := filepath.Match(strings.TrimSpace(line), "/"+page+"/"+name)
			matched = matched || ok
		}
		assert.True(t, matched, "%s of the page is not in .gitignore", name)
	}
	for _, name := range []string{"index.html", "style.css", "page.js", "form.js", "chart.js", "simulator.js", "worker.js"} {
		assert.FileExists(t, filepath.Join(root, page, name))
	}
}

func TestThePageIsBounded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, largest-1), 0o600))
	require.NoError(t, bounded(dir, largest-1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), make([]byte, 1), 0o600))
	size, err := sizeOf(dir)
	require.NoError(t, err)
	assert.EqualValues(t, largest, size, "all files count")
	assert.EqualError(t, bounded(dir, size), dir+" has 3000000 bytes, and the bound is below 3000000")
}

// What does not compile is reported with what the compiler says.
func TestBuildFails(t *testing.T) {
	var stdout, stderr bytes.Buffer
	empty := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(empty, page), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(empty, "go.mod"), []byte("module a\n"), 0o600))
	t.Setenv("GOWORK", "off")
	err := run(t.Context(), []string{"-root", empty, "-out", t.TempDir()}, &stdout, &stderr)
	require.ErrorContains(t, err, "go build: exit status 1\n")
	assert.ErrorContains(t, err, "internal/simulate/playground/wasm")
	require.Error(t, run(t.Context(), []string{"-nothing"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-serve")
	require.NoError(t, run(t.Context(), []string{"-help"}, &stdout, &stderr))
}

func TestShow(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("the page"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- show(ctx, dir, "127.0.0.1:0", writer) }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	require.NoError(t, err)
	address := regexp.MustCompile(`http://\S+/`).FindString(string(line[:n]))

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, "the page", string(body))
	stop()
	require.NoError(t, <-ended)
	require.Error(t, show(t.Context(), dir, "127.0.0.1:no", io.Discard))
}
