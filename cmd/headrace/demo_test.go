//go:build unix

package main

import (
	"bufio"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.env = []string{"HEADRACE_LIMIT=1/h", "HEADRACE_PROGRESS=json", "HEADRACE_FRESH=true", "TMPDIR=" + p.path("")}
	status, out, errs := p.do("demo", "--requests", "150", "--keep", "kept/it")
	require.Zero(t, status, out+errs)
	assert.Contains(t, errs, `"final":true`)
	assert.Contains(t, out, "150 requests: 150 done, 0 failed, in ")
	assert.Contains(t, out, "By custom_id: 150 of 150 have their own answer; 0 lost, 0 twice, 0 mixed up.")
	assert.Regexp(t, `Goodput: 150 answers in [\d.]+ s, where \d+ were possible: [\d.]+ %\.`, out)
	assert.Regexp(t, `0\.0 s +[\d.]+ s +\d+/s +\d+ +150? `, out)
	for one := range strings.Lines(out) {
		assert.LessOrEqual(t, len(one), 81, one)
	}
	assert.Len(t, p.lines("kept/it/requests.results.jsonl"), 150)
	assert.Len(t, parse(t, p.read("kept/it/requests.jsonl")), 150)
}

// started waits until a demo runs, and returns what has its provider.
func demoStarted(t *testing.T, p *place, cmd *exec.Cmd) (address string, pid int, rest *bufio.Scanner) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	rest = bufio.NewScanner(out)
	require.True(t, rest.Scan())
	found := regexp.MustCompile(`http://(\S+)/v1, which is process (\d+)\.`).FindStringSubmatch(rest.Text())
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

// gone waits until nobody listens any more.
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
		left   int
	}{
		"Ctrl-C": {func(cmd *exec.Cmd, pid int) error { // both get it from a terminal
			return errorsOf(syscall.Kill(pid, syscall.SIGINT), cmd.Process.Signal(syscall.SIGINT))
		}, 130, "not done", 0},
		"hang up":         {func(cmd *exec.Cmd, _ int) error { return cmd.Process.Signal(syscall.SIGHUP) }, 130, "Goodput", 0},
		"provider killed": {func(_ *exec.Cmd, pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, 1, "", 0},
		"killed":          {func(cmd *exec.Cmd, _ int) error { return cmd.Process.Kill() }, -1, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.env = []string{"TMPDIR=" + p.dir}
			cmd := p.command("demo", "--progress", "off")
			var errs strings.Builder
			cmd.Stderr = &errs
			address, pid, rest := demoStarted(t, p, cmd)
			require.NoError(t, tc.end(cmd, pid))
			var all []string
			for rest.Scan() {
				all = append(all, rest.Text())
			}
			said := strings.Join(all, "\n")
			_ = cmd.Wait()
			assert.Equal(t, tc.status, cmd.ProcessState.ExitCode(), said+errs.String())
			assert.Contains(t, said, tc.says)
			if name == "provider killed" {
				assert.Contains(t, errs.String(), "the provider's process has ended before the run")
			}
			gone(t, address)
			left, err := exec.CommandContext(t.Context(), "ls", p.dir).Output()
			require.NoError(t, err)
			assert.Len(t, strings.Fields(string(left)), tc.left)
		})
	}
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
