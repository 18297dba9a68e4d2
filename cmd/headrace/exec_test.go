//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/providertest"
)

// sh is `headrace exec` of a script.
func (p *place) sh(script string, flags ...string) *exec.Cmd {
	p.t.Helper()
	p.env = append(p.env, "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+p.dir, "OPENAI_API_KEY="+canary)
	return p.command(append(append([]string{"exec"}, flags...), "--", "sh", "-c", script)...)
}

func TestExecEndsAsItsCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("text", "not a program")
	for name, of := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"zero":           {[]string{"exec", "--", "true"}, 0, "no calls came through"},
		"status":         {[]string{"exec", "--", "sh", "-c", "exit 7"}, 7, "no calls came through"},
		"without dashes": {[]string{"exec", "sh", "-c", "exit 7"}, 7, "no calls came through"},
		"signal":         {[]string{"exec", "--", "sh", "-c", "kill -TERM $$"}, 143, "no calls came through"},
		"not found":      {[]string{"exec", "--", "no-such-command"}, 127, "headrace: no-such-command: command not found\n"},
		"no such path":   {[]string{"exec", "--", "./none"}, 127, "headrace: ./none: command not found\n"},
		"not executable": {[]string{"exec", "--", "./text"}, 126, "headrace: ./text: cannot be executed: permission denied\n"},
		"a folder":       {[]string{"exec", "--", "/"}, 126, "cannot be executed"},
		"nothing":        {[]string{"exec"}, 2, "missing: <command>"},
		"only dashes":    {[]string{"exec", "--"}, 2, "the command to run is missing"},
		"unknown flag":   {[]string{"exec", "--quite", "--", "true"}, 2, "headrace: unknown flag --quite (see headrace exec --help)\n"},
		"bad flag":       {[]string{"exec", "--max-queue", "0", "--", "true"}, 2, "--max-queue: 0 is below 1"},
		"taken":          {[]string{"exec", "--dashboard", "127.0.0.1:99999", "--", "true"}, 125, "--dashboard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &place{t: t, dir: p.dir, env: []string{"PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + p.dir}}
			status, out, errs := p.do(of.args...)
			assert.Equal(t, of.status, status, errs)
			assert.Contains(t, errs, of.says)
			assert.Empty(t, out)
		})
	}
}

// Streams are those of the command: nothing of headrace is between, and nothing of it is on standard output.
func TestExecHandsOverItsStreams(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.sh(`cat; echo wrong >&2; at=$(readlink /proc/$$/fd/1); echo "$at" >&2`, "--quiet")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = read.Close() }()
	cmd.Stdin, cmd.Stdout = strings.NewReader("given\n"), write
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Run())
	require.NoError(t, write.Close())
	var out bytes.Buffer
	_, err = out.ReadFrom(read)
	require.NoError(t, err)
	assert.Equal(t, "given\n", out.String())
	said, link, _ := strings.Cut(errs.String(), "\n")
	assert.Equal(t, "wrong", said)
	if link != "\n" && link != "" { // there is no /proc
		var of unix.Stat_t
		require.NoError(t, unix.Fstat(int(read.Fd()), &of))
		assert.Equal(t, fmt.Sprintf("pipe:[%d]\n", of.Ino), link)
	}
}

// A pipe that is closed ends the command as a shell would see it.
func TestExecLeavesSIGPIPEToTheCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.sh(`sh -c 'kill -PIPE $$'; echo "status $?"`, "--quiet")
	_, out, _ := p.end(cmd, cmd.Run)
	assert.Equal(t, "status 141\n", out)
}

// Signals that only headrace gets are passed on, each once.
func TestExecPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			cmd := p.sh(`trap 'echo `+name+` >> got' `+name+`; touch ready; while [ ! -e done ]; do sleep 0.02; done; exit 3`, "-q")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
			status, _, errs := p.end(cmd, func() error {
				require.NoError(t, cmd.Start())
				eventually(t, func() bool { return p.exists("ready") })
				require.NoError(t, cmd.Process.Signal(sig))
				eventually(t, func() bool { return p.exists("got") })
				p.write("done", "")
				return cmd.Wait()
			})
			assert.Equal(t, 3, status, errs)
			assert.Equal(t, name+"\n", p.read("got"))
		})
	}
}

// A command that a signal ends is not outlived.
func TestExecInterrupted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.sh(`touch ready; exec sleep 60`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		eventually(t, func() bool { return p.exists("ready") })
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		return cmd.Wait()
	})
	assert.Equal(t, 130, status)
	assert.Contains(t, errs, "no calls came through")
}

// Ctrl-C of a terminal reaches the command once, because headrace leaves it to the terminal.
func TestExecInATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.sh(`[ -t 0 ] && [ -t 1 ] && trap 'echo INT >> got' INT; touch ready; while [ ! -e done ]; do sleep 0.02; done; exit 3`)
	screen := p.terminal(cmd)
	eventually(t, func() bool { return p.exists("ready") })
	_, err := screen.Write([]byte{3})
	require.NoError(t, err)
	eventually(t, func() bool { return p.exists("got") })
	p.write("done", "")
	_ = cmd.Wait()
	assert.Equal(t, 3, cmd.ProcessState.ExitCode())
	assert.Equal(t, "INT\n", p.read("got"))
}

// A loop of a shell ends with the command that Ctrl-C ends.
func TestExecEndsALoop(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	p := newPlace(t, providertest.Config{})
	self, err := os.Executable()
	require.NoError(t, err)
	p.write("loop.sh", `for i in 1 2 3; do '`+self+`' exec -- sh -c 'echo $0 >> began; exec sleep 60' $i; done`)
	p.env = append(p.env, "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+p.dir)
	cmd := p.command()
	cmd.Path, err = exec.LookPath("bash")
	require.NoError(t, err)
	cmd.Args = []string{"bash", "loop.sh"}
	screen := p.terminal(cmd)
	eventually(t, func() bool { return p.exists("began") && p.read("began") != "" }) // the file is there before its line
	_, err = screen.Write([]byte{3})
	require.NoError(t, err)
	_ = cmd.Wait()
	assert.Equal(t, "1\n", p.read("began"))
}

// terminal starts cmd in a terminal of its own, and returns its keyboard.
func (p *place) terminal(cmd *exec.Cmd) *os.File {
	p.t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Skip("there are no terminals: ", err)
	}
	p.t.Cleanup(func() { _ = main.Close() })
	require.NoError(p.t, unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	require.NoError(p.t, err)
	end, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(p.t, err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	// A command inherits which signals are ignored, as SIGINT is in the background of a script. What is caught here it gets.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	defer signal.Stop(caught)
	require.NoError(p.t, cmd.Start())
	require.NoError(p.t, end.Close())
	return main
}

// A run that waits for requests from a keyboard says so.
func TestRequestsFromATerminal(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"run": {"--progress", "plain"}, "live": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.env = append(p.env, "TERM=xterm")
			cmd := p.command(append([]string{"run", "-", "--out", "out.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1"}, args...)...)
			screen := p.terminal(cmd)
			_, err := screen.WriteString(request(1) + "\x04")
			require.NoError(t, err)
			seen, _ := io.ReadAll(screen) // to an error: there is no other end any more
			assert.Contains(t, string(seen), "reading requests from the terminal, one JSON object per line; press Ctrl-D to finish")
			require.NoError(t, cmd.Wait())
			assert.Len(t, p.lines("out.jsonl"), 1)
		})
	}
	p := newPlace(t, providertest.Config{})
	cmd := p.command("run", "-", "--base-url", p.provider.URL()+"/v1")
	cmd.Stdin = strings.NewReader(request(1))
	status, _, errs := p.end(cmd, cmd.Run)
	assert.Zero(t, status)
	assert.NotContains(t, errs, "terminal")
}

func (p *place) exists(name string) bool {
	_, err := os.Stat(p.path(name))
	return err == nil
}

// ask calls the provider by curl as clients do: by the variable, and with a key.
const ask = `curl -s --retry 0 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' ` +
	`-d '{"model":"m","messages":[{"role":"user","content":"hi"}]}' $OPENAI_BASE_URL/chat/completions`

// refuses is a provider that answers its first n requests with a 429.
func refuses(n int64) providertest.Config {
	var arrived atomic.Int64
	return providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if arrived.Add(1) > n {
			return nil
		}
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"10"}}}
	}}
}

// A variable that the user has set leads where it led, by way of the proxy; 429s do not reach the command.
func TestExecWaitsFor429s(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	p := newPlace(t, refuses(3))
	p.env = []string{"OPENAI_BASE_URL=" + p.provider.URL() + "/v1"}
	cmd := p.sh(`for i in 1 2 3 4 5 6 7 8; do ` + ask + ` & done; wait`)
	status, out, errs := p.end(cmd, cmd.Run)
	assert.Zero(t, status, errs)
	assert.Equal(t, strings.Repeat("200\n", 8), out)
	assert.Contains(t, errs, "headrace: 8 calls, 3 429")
	assert.Contains(t, errs, "hidden from the command")
	assert.Contains(t, errs, "OPENAI_BASE_URL was set: its calls are forwarded to "+p.provider.URL()+"\n")
}

// An HTTP proxy of the environment is for the way to the provider, and not for that to headrace.
func TestExecBehindAnHTTPProxy(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	p := newPlace(t, providertest.Config{})
	p.env = []string{"OPENAI_BASE_URL=" + p.provider.URL() + "/v1", "http_proxy=http://127.0.0.1:1", "no_proxy=example.com"}
	cmd := p.sh(ask + `; echo "$no_proxy $NO_PROXY"`)
	_, out, errs := p.end(cmd, cmd.Run)
	assert.Equal(t, "200\nexample.com,127.0.0.1 127.0.0.1\n", out, errs)
}

// Commands of one user share what is learned; one that cannot goes on alone and says so.
func TestExecsShare(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	p := newPlace(t, providertest.Config{
		Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 20, Burst: 2}}, RetryAfter: providertest.RetryAfterSeconds,
	})
	p.env = []string{"OPENAI_BASE_URL=" + p.provider.URL() + "/v1"}
	first := p.sh(`touch first; while [ ! -e second ]; do sleep 0.02; done; `+ask, "-q")
	second := p.sh(`while [ ! -e first ]; do sleep 0.02; done; touch second; `+ask, "--log-level", "info")
	var said bytes.Buffer
	first.Stderr = &said
	require.NoError(t, first.Start())
	eventually(t, func() bool { return p.exists("first") })
	_, out, errs := p.end(second, second.Run)
	assert.Equal(t, "200\n", out)
	require.NoError(t, first.Wait())
	assert.Contains(t, errs+said.String(), "2 members")
}

func TestExecAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.env = []string{"TMPDIR=" + p.dir}
	p.write("headrace", "in the way")
	cmd := p.sh("exit 4")
	status, _, errs := p.end(cmd, cmd.Run)
	assert.Equal(t, 4, status)
	assert.Equal(t, 1, strings.Count(errs, "limits are not shared"), errs)
}

func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
}
