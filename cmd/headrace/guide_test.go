//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// The commands of docs/cli.md run as they are printed, one block after the other, but for the port, and for
// the length of the demo.
func TestTheGuideRuns(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "gzip", "zcat"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool)
		}
	}
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	p := newPlace(t, providertest.Config{})
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(p.path("bin"), 0o700))
	require.NoError(t, os.Symlink(self, p.path("bin/headrace")))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	script := &strings.Builder{}
	blocks := 0
	for _, part := range strings.Split(string(page), "\n```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "```\n")
		require.True(t, closed)
		blocks++
		block = strings.ReplaceAll(block, "127.0.0.1:8080", address)
		block = strings.ReplaceAll(block, "headrace demo\n", "headrace demo --requests 40\n")
		if before, line, found := strings.Cut(block, " &\n"); found { // as the next command is typed later
			block = before + " &\nfor i in $(seq 200); do curl -s -o /dev/null http://" + address + "/_ledger && break; sleep 0.05; done\n" + line
		}
		script.WriteString(block)
	}
	assert.GreaterOrEqual(t, blocks, 10)
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-u", "-c", script.String())
	cmd.Dir = p.dir
	cmd.Env = []string{childEnv + "=1", "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "PATH=" + p.path("bin") + ":" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // the provider goes on
	said, err := os.Create(p.path("said"))
	require.NoError(t, err)
	defer func() { _ = said.Close() }()
	cmd.Stdout, cmd.Stderr = said, said
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	text := p.read("said")
	require.NoError(t, err, text)
	assert.Contains(t, text, "of 40 have their own answer; 0 lost")
	assert.Contains(t, text, `"custom_id":"one"`)
	assert.Contains(t, text, "2 requests: 0 done, 2 done before")
	assert.Contains(t, text, `"Limit": "20/s"`)
	assert.FileExists(t, p.path("messages.results.jsonl"))
	assert.FileExists(t, p.path("report.json"))
}
