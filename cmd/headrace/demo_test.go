//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/picture"
	"github.com/headrace/headrace/providertest"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.env = []string{"HEADRACE_LIMIT=1/h", "HEADRACE_PROGRESS=json", "HEADRACE_FRESH=true", "TMPDIR=" + p.path("")}
	status, out, errs := p.do("demo", "--requests", "150", "--keep", "kept/it", "--picture", "it.svg", "--seed", "9")
	require.Zero(t, status, out+errs)
	assert.Contains(t, errs, `"final":true`)
	assert.Contains(t, out, "150 requests: 150 done, 0 failed, in ")
	assert.Contains(t, out, "By custom_id: 150 of 150 have the right answer; 0 lost, 0 twice, 0 mixed up.")
	assert.Regexp(t, `Goodput: 150 answers in [\d.]+ s, of \d+ possible: [\d.]+ %\.`, out)
	assert.Regexp(t, `0\.0 s +[\d.]+ s +\d+/s +\d+ +\d+ `, out)
	for one := range strings.Lines(out) {
		assert.LessOrEqual(t, len(one), 81, one)
	}
	assert.Len(t, p.lines("kept/it/requests.results.jsonl"), 150)
	assert.Len(t, parse(t, p.read("kept/it/requests.jsonl")), 150)
	assert.Contains(t, out, "The picture is in it.svg\n")

	drawn := p.read("it.svg")
	assert.NotContains(t, drawn, p.dir, "it is shown to others")
	_, data, _ := strings.Cut(drawn, "<metadata>")
	data, _, _ = strings.Cut(data, "</metadata>")
	var run picture.Run
	require.NoError(t, json.Unmarshal([]byte(data), &run))
	assert.Equal(t, "headrace demo --seed 9", run.Command)
	assert.Len(t, run.Said, 2)
	require.Len(t, run.Told, 4)
	for _, line := range slices.Concat(run.Said, run.Told) {
		assert.Contains(t, out, line+"\n")
	}
	assert.Contains(t, run.Told[0], "Goodput: 150 answers")
	assert.Contains(t, strings.Join(run.Display, "\n"), "/150  ", "as it was in the middle")
	assert.Less(t, run.At, run.Ledger.Seconds+1)
	assert.Equal(t, 150, run.Ledger.Served)
	served := 0
	for _, n := range run.Ledger.Series.Served {
		served += n
	}
	assert.Equal(t, 150, served)
}

// What is known to go wrong before anything is sent says what it is, and leaves nothing behind.
func TestADemoDoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args   []string
		temp   string
		status int
		says   string
	}{
		"no picture":    {[]string{"--picture", "nowhere/it.svg"}, ".", 2, "the picture cannot be written: open nowhere/it.svg: "},
		"a folder":      {[]string{"--picture", "."}, ".", 2, "--picture: . is a folder: name a file"},
		"not a request": {[]string{"--requests", "0"}, ".", 2, "--requests: 0 is below 1"},
		"kept before":   {[]string{"--keep", ".", "--picture", "it.svg"}, ".", 2, "the folder must not exist yet"},
		"not possible":  {[]string{"--keep", strings.Repeat("x", 300)}, ".", 2, "name another folder"},
		"no folder":     {nil, "nowhere", 2, "set TMPDIR or --keep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.env = []string{"TMPDIR=" + p.path(tc.temp)}
			status, out, errs := p.do(append([]string{"demo"}, tc.args...)...)
			assert.Equal(t, tc.status, status)
			assert.Empty(t, out)
			assert.Contains(t, errs, tc.says)
			left, err := os.ReadDir(p.dir)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// A program that was replaced or deleted while it was started cannot be the provider too.
func TestTheProviderDoesNotStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a deleted program is run by /proc/self/fd")
	}
	p := newPlace(t, providertest.Config{})
	p.env = []string{"TMPDIR=" + p.dir}
	cmd := p.command("demo")
	text, err := os.ReadFile(cmd.Path)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "headrace")
	require.NoError(t, os.WriteFile(copied, text, 0o700))
	program, err := os.Open(copied)
	require.NoError(t, err)
	defer func() { _ = program.Close() }()
	require.NoError(t, os.Remove(copied))
	cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{program}
	status, out, errs := p.end(cmd, cmd.Run)
	assert.Equal(t, 1, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "headrace: the provider (a second process of this program) did not start: ")
	left, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// started waits until a demo runs, and returns what has its provider.
func demoStarted(t *testing.T, p *place, cmd *exec.Cmd) (address string, pid int, rest *bufio.Scanner) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	rest = bufio.NewScanner(out)
	require.True(t, rest.Scan())
	found := regexp.MustCompile(`http://(\S+)/v1 \(process (\d+)\)\.`).FindStringSubmatch(rest.Text())
	require.NotNil(t, found, rest.Text())
	pid, err = strconv.Atoi(found[2])
	require.NoError(t, err)
	require.NotEqual(t, cmd.Process.Pid, pid)
	eventually(t, func() bool { // the journal is opened first of all
		dials, err := exec.CommandContext(t.Context(), "sh", "-c", "ls "+p.dir+"/headrace-demo-*/requests.results.jsonl").Output()
		return err == nil && len(dials) > 0
	})
	return found[1], pid, rest
}

// gone waits until the address is closed.
func gone(t *testing.T, address string) {
	t.Helper()
	eventually(t, func() bool {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// However a demo ends, its provider does, and nothing stays behind.
func TestEndsOfADemo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(cmd *exec.Cmd, pid int) error
		status int
		says   string
		errs   string
		left   int
	}{
		"Ctrl-C": {func(cmd *exec.Cmd, pid int) error { // both get it from a terminal
			return errorsOf(syscall.Kill(pid, syscall.SIGINT), cmd.Process.Signal(syscall.SIGINT))
		}, 130, " left, 0 twice", "stopping", 0},
		"Ctrl-C twice": {func(cmd *exec.Cmd, pid int) error { // as nothing ends by itself
			if err := errorsOf(syscall.Kill(pid, syscall.SIGSTOP), cmd.Process.Signal(syscall.SIGINT)); err != nil {
				return err
			}
			eventually(t, func() bool { return strings.Contains(errorsSaid(cmd), "Ctrl-C again: stop at once") })
			eventually(t, func() bool { // until one is not a copy of the first
				_ = cmd.Process.Signal(syscall.SIGINT)
				left, err := filepath.Glob(filepath.Join(cmd.Dir, "headrace-demo-*"))
				return err == nil && len(left) == 0
			})
			return nil
		}, 130, "", "stopping", 0},
		"hang up":         {func(cmd *exec.Cmd, _ int) error { return cmd.Process.Signal(syscall.SIGHUP) }, 130, " left, 0 twice", "", 0},
		"provider killed": {func(_ *exec.Cmd, pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, 1, " left, 0 twice", "the provider's process exited before the run was over (signal: killed): start the demo again", 0},
		"killed":          {func(cmd *exec.Cmd, _ int) error { return cmd.Process.Kill() }, -1, "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.env = []string{"TMPDIR=" + p.dir}
			cmd := p.command("demo", "--progress", "off", "--picture", "it.svg")
			errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			require.NoError(t, err)
			defer func() { _ = errs.Close() }()
			cmd.Stderr = errs
			address, pid, rest := demoStarted(t, p, cmd)
			require.NoError(t, tc.end(cmd, pid))
			var all []string
			for rest.Scan() {
				all = append(all, rest.Text())
			}
			said := strings.Join(all, "\n")
			_ = cmd.Wait()
			_ = syscall.Kill(pid, syscall.SIGCONT) // if it still runs, it has no parent
			assert.Equal(t, tc.status, cmd.ProcessState.ExitCode(), said+errorsSaid(cmd))
			assert.Contains(t, said, tc.says)
			if tc.says == "" {
				assert.NotContains(t, said, "By custom_id", "at once")
			}
			assert.Contains(t, errorsSaid(cmd), tc.errs)
			gone(t, address)
			left, err := exec.CommandContext(t.Context(), "ls", p.dir).Output()
			require.NoError(t, err)
			assert.Len(t, strings.Fields(string(left)), tc.left)
		})
	}
}

// errorsSaid is what is in the file that is its standard error.
func errorsSaid(cmd *exec.Cmd) string {
	f, ok := cmd.Stderr.(*os.File)
	if !ok {
		return ""
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
