package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/providertest"
)

// childEnv has the test binary be the program.
const childEnv = "BE_HEADRACE"

func TestMain(m *testing.M) {
	if base := os.Getenv(programEnv); base != "" {
		program(base)
	}
	if os.Getenv(childEnv) != "" {
		main()
	}
	// Children inherit an ignored signal, such as that of nohup, but not a handled one.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// The tests wait for programs, and those for providers, more than either computes. -parallel comes before this.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	goleak.VerifyTestMain(m)
}

// missingUntil is a provider that answers 404 until repaired is closed.
func missingUntil(repaired <-chan struct{}) providertest.Config {
	return providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		select {
		case <-repaired:
			return nil
		default:
			return &providertest.Fault{Status: 404}
		}
	}}
}

// canary is the key. It may be in no output.
const canary = "sk-canary-7f3a9c51d2"

// place is a folder with a provider.
type place struct {
	t        *testing.T
	dir      string
	provider *providertest.Server
	env      []string
}

func newPlace(t *testing.T, c providertest.Config) *place {
	t.Helper()
	provider, err := providertest.New(c)
	require.NoError(t, err)
	t.Cleanup(provider.Close)
	p := &place{t: t, dir: t.TempDir(), provider: provider}
	t.Cleanup(func() { p.noCanary() })
	return p
}

// noCanary looks for the key in all that was left behind.
func (p *place) noCanary() {
	files, err := filepath.Glob(filepath.Join(p.dir, "*"))
	require.NoError(p.t, err)
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(f)
		require.NoError(p.t, err)
		assert.NotContains(p.t, string(text), canary, f)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(text), 0o600))
}

func (p *place) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(p.path(name))
	require.NoError(p.t, err)
	return string(text)
}

func request(i int) string {
	return fmt.Sprintf(`{"custom_id":"r%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"Tell <b>%d</b>."}]}}`+"\n", i, i)
}

// requests writes n of them to a file.
func (p *place) requests(n int) {
	p.t.Helper()
	var all strings.Builder
	for i := range n {
		all.WriteString(request(i))
	}
	p.write("r.jsonl", all.String())
}

// command is the program, to be started.
func (p *place) command(args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	require.NoError(p.t, err)
	cmd := exec.CommandContext(p.t.Context(), self, args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{childEnv + "=1", "KEY=" + canary, "HOME=" + p.dir, "TMPDIR=" + os.TempDir()}, p.env...)
	return cmd
}

// run is `headrace run r.jsonl` against the provider, to its end.
func (p *place) run(args ...string) (status int, stdout, stderr string) {
	p.t.Helper()
	return p.do(append([]string{"run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1", "--log-level", "debug"}, args...)...)
}

func (p *place) do(args ...string) (status int, stdout, stderr string) {
	p.t.Helper()
	cmd := p.command(args...)
	return p.end(cmd, cmd.Run)
}

// end runs f, which ends cmd.
func (p *place) end(cmd *exec.Cmd, f func() error) (status int, stdout, stderr string) {
	p.t.Helper()
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errs
	_ = f()
	assert.NotContains(p.t, out.String()+errs.String(), canary)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// line is one of the results, or of the failures.
type line struct {
	ID       string `json:"id"`
	CustomID string `json:"custom_id"`
	Response *struct {
		StatusCode int             `json:"status_code"`
		Location   string          `json:"location"`
		Body       json.RawMessage `json:"body"`
	} `json:"response"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Line    int    `json:"line"`
	} `json:"error"`
}

// lines reads a file of results, or an empty one that is not there.
func (p *place) lines(name string) (all []line) {
	p.t.Helper()
	text, err := os.ReadFile(p.path(name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(p.t, err)
	return parse(p.t, string(text))
}

func parse(t *testing.T, text string) (all []line) {
	t.Helper()
	for one := range strings.Lines(text) {
		var l line
		require.NoError(t, json.Unmarshal([]byte(one), &l), one)
		all = append(all, l)
	}
	return all
}

// unique counts the custom_ids.
func unique(all []line) int {
	ids := map[string]bool{}
	for _, l := range all {
		ids[l.CustomID] = true
	}
	return len(ids)
}

// patience is how long another process may take, which a busy machine holds up.
const patience = 2 * time.Minute

// eventually waits for another process.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, patience, 2*time.Millisecond)
}
