//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/guide"
	"github.com/headrace/headrace/providertest"
)

// The commands of docs/cli.md run as they are printed, but for the build, which is this test's, the port, and the
// length of the demo. `make try` runs them without these exceptions.
func TestTheGuideRuns(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "gzip", "zcat", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool)
		}
	}
	file, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	page := string(file)
	for printed, typed := range map[string]string{
		"go build ./cmd/headrace\n": "mkdir bin; ln -s '" + self + "' bin/headrace; PATH=$PWD/bin:$PATH\n",
		"headrace demo\n":           "headrace demo --requests 40\n",
	} {
		require.Contains(t, page, "\n"+printed)
		page = strings.ReplaceAll(page, "\n"+printed, "\n"+typed)
	}
	steps, err := guide.Steps(page)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(steps), 11)
	edit, err := guide.FreePorts(t.Context(), page, true)
	require.NoError(t, err)

	p := newPlace(t, providertest.Config{})
	shell := guide.Shell{
		Dir: p.dir, Scratch: t.TempDir(), Edit: edit, Timeout: 2 * time.Minute,
		Env: []string{childEnv + "=1", "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "PATH=" + os.Getenv("PATH")},
	}
	var said strings.Builder
	err = shell.Run(t.Context(), steps, func(_ guide.Step, r guide.Result) { said.WriteString(r.Output) })
	text := said.String()
	require.NoError(t, err, text)
	assert.Contains(t, text, "of 40 have the right answer; 0 lost")
	assert.Contains(t, text, `"custom_id":"one"`)
	assert.Contains(t, text, "2 requests: 0 done, 2 done before")
	assert.Contains(t, text, `"Limit": "20/s"`)
	assert.FileExists(t, p.path("messages.results.jsonl"))
	assert.FileExists(t, p.path("report.json"))
}

// The same for the pages of the doctor and of the service.
func TestTheGuidesOfTheServiceRun(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool)
		}
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for name, want := range map[string][]string{
		"doctor.md":     {"openai", "250/min, 250000 tokens/min", "nothing is wrong", `"healthy": true`},
		"deployment.md": {"limits.yaml is valid: 3 limits in sqlite:limits.db", `"allowed":true`, "user/ann/search", "healthy, breaker closed", "nothing is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile("../../docs/" + name)
			require.NoError(t, err)
			const build = "go build ./cmd/headrace\n"
			require.Contains(t, string(file), "\n"+build)
			page := strings.Replace(string(file), build, "mkdir bin; ln -s '"+self+"' bin/headrace; PATH=$PWD/bin:$PATH\n", 1)
			steps, err := guide.Steps(page)
			require.NoError(t, err)
			edit, err := guide.FreePorts(t.Context(), page, true)
			require.NoError(t, err)
			p := newPlace(t, providertest.Config{})
			shell := guide.Shell{
				Dir: p.dir, Scratch: t.TempDir(), Edit: edit, Timeout: 2 * time.Minute,
				Env: []string{childEnv + "=1", "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "PATH=" + os.Getenv("PATH")},
			}
			var said strings.Builder
			err = shell.Run(t.Context(), steps, func(_ guide.Step, r guide.Result) { said.WriteString(r.Output) })
			require.NoError(t, err, said.String())
			for _, text := range want {
				assert.Contains(t, said.String(), text)
			}
		})
	}
}

// What docs/deployment.md prints for other programs is as they want it.
func TestFilesOfTheDeployment(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	here, err := filepath.Abs(filepath.Join("testdata", "deploy"))
	require.NoError(t, err)
	for name, want := range map[string]string{"redis.yaml": " in redis://limits.internal:6379/0", "tokens.yaml": " in memory"} {
		status, out, errs := p.do("serve", "--check", "--config", filepath.Join(here, name))
		assert.Zero(t, status, errs)
		assert.Contains(t, out, want)
	}
	unit, err := os.ReadFile(filepath.Join(here, "headrace.service"))
	require.NoError(t, err)
	image, err := os.ReadFile(filepath.Join(here, "Containerfile"))
	require.NoError(t, err)
	for _, text := range []string{string(unit), string(image)} { // the flags are those of serve
		assert.Contains(t, strings.NewReplacer(`", "`, " ", `["`, "").Replace(text), "serve --config /etc/headrace/limits.yaml")
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze")
	}
	p.write("headrace.service", strings.ReplaceAll(string(unit), "/usr/local/bin/headrace", "/bin/true"))
	said, err := exec.CommandContext(t.Context(), verify, "verify", p.path("headrace.service")).CombinedOutput()
	assert.NoError(t, err, string(said))
}
