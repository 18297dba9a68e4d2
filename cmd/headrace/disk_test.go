//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// Whatever is on the disk that is full: the run says which file, once, and goes on when there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "unshare", inNamespace(), "sh", "-c", `mount -t tmpfs none "$0"`, t.TempDir()).Run(); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	const full = "no space left on device"
	const lines = 2000 // more than may wait for the disk
	for name, c := range map[string]struct {
		size string // of the disk
		args []string
		want string
		left bool // there is something left to be done
	}{
		"results":  {"64k", []string{"--out", "full/o.jsonl", "--journal", "j"}, "headrace: the results cannot be written: write full/o.jsonl: " + full + "\nresume", true},
		"failures": {"4k", []string{"--out", "o.jsonl", "--errors", "full/e.jsonl"}, "headrace: the results cannot be written: write full/e.jsonl: " + full + "\nresume", true},
		"ordered":  {"64k", []string{"--out", "full/o.jsonl", "--ordered", "--journal", "j"}, "headrace: the results cannot be written: write full/o.jsonl: " + full + "\nresume", true},
		"journal":  {"256k", []string{"--out", "o.jsonl", "--journal", "full/j"}, "the disk is full: free some space, and run again", true},
		"report":   {"8k", []string{"--out", "o.jsonl", "--errors", "e.jsonl", "--report", "full/r.json"}, "headrace: the report cannot be written: full/r.json: " + full + "\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
				if strings.Contains(r.Messages[0].Content, "5<") {
					return &providertest.Fault{Status: 400}
				}
				return nil
			}})
			p.requests(lines)
			require.NoError(t, os.Mkdir(p.path("full"), 0o700))
			require.NoError(t, os.Mkdir(p.path("kept"), 0o700))
			args := append([]string{"run", "r.jsonl", "--errors", "e.jsonl", "--concurrency", "16", "--base-url", p.provider.URL() + "/v1"}, c.args...)
			cmd, fill := p.command(args...), ""
			if !c.left {
				fill = "echo older >full/r.json && head -c 4096 /dev/zero >full/zeros && "
			}
			shell := exec.CommandContext(t.Context(), "unshare", inNamespace(), "sh", "-c",
				`mount -t tmpfs -o size=`+c.size+` none full && `+fill+`"$0" "$@"; s=$?; cp full/* kept && umount full && cp kept/* full; exit $s`)
			shell.Args, shell.Dir, shell.Env = append(shell.Args, cmd.Args...), cmd.Dir, cmd.Env
			shell.Env = append(shell.Env, "PATH="+os.Getenv("PATH"))
			status, _, errs := p.end(shell, shell.Run)
			require.Equal(t, 1, status, errs)
			assert.Contains(t, errs, c.want)
			assert.LessOrEqual(t, strings.Count(errs, full), 1, errs)
			assert.Equal(t, c.left, strings.Contains(errs, " left, in "), errs)
			if !c.left {
				assert.Equal(t, "older\n", p.read("kept/r.json"), "a report that cannot be written leaves the older one")
				files, err := os.ReadDir(p.path("kept"))
				require.NoError(t, err)
				assert.Len(t, files, 2, "and no part of the new one")
			}

			status, _, errs = p.do(args...)
			require.Equal(t, 1, status, errs)
			assert.Contains(t, errs, fmt.Sprint(lines/10, " failed"))
			out, failed := "o.jsonl", "e.jsonl"
			for i, at := range c.args {
				switch at {
				case "--out":
					out = c.args[i+1]
				case "--errors":
					failed = c.args[i+1]
				}
			}
			assert.Len(t, p.lines(failed), lines/10)
			assert.Len(t, p.lines(out), lines-lines/10)
			assert.Equal(t, lines, unique(append(p.lines(out), p.lines(failed)...)))
		})
	}
}

// inNamespace has the arguments of unshare to mount a file system that is invisible to other processes.
func inNamespace() string {
	if os.Geteuid() == 0 {
		return "-m"
	}
	return "-rm"
}

// Where nothing can be mounted a file that may not grow is the nearest to it: the journal here, or the results.
func TestFilesThatMayNotGrow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(200)
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1")
	shell := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 100; exec "$0" "$@"`)
	shell.Args, shell.Dir, shell.Env = append(shell.Args, cmd.Args...), cmd.Dir, cmd.Env
	status, _, errs := p.end(shell, shell.Run)
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")

	status, _, errs = p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1")
	require.Zero(t, status, errs)
	assert.Equal(t, 200, unique(p.lines("r.results.jsonl")))
	assert.Len(t, p.lines("r.results.jsonl"), 200)
}

func TestStandardOutputIsFull(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(200)
	for _, args := range [][]string{{"--out", "/dev/full", "--journal", "j"}, {"--out", "-"}, {"--out", "-", "--errors", "/dev/full", "--strict"}} {
		cmd := p.command(append([]string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1"}, args...)...)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		cmd.Stdout = full
		status, _, errs := p.end(cmd, cmd.Run)
		require.NoError(t, full.Close())
		require.Equal(t, 1, status, errs)
		assert.Equal(t, 1, strings.Count(errs, "no space left on device"), errs)
		assert.Contains(t, errs, "headrace: the results cannot be written: write /dev/")
		if args[len(args)-1] != "j" {
			assert.Contains(t, errs, "200 requests: 0 done, 0 failed, 200 left, ")
			assert.NotContains(t, errs, "results: ")
		}
	}
}

// The Go runtime opens the null device in the place of a closed file, so that all results would be lost without an error.
func TestStandardOutputIsClosed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(2)
	run := func(script string, args ...string) (status int, errs string) {
		cmd := p.command(append([]string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1"}, args...)...)
		shell := exec.CommandContext(t.Context(), "sh", "-c", script)
		shell.Args, shell.Dir, shell.Env = append(shell.Args, cmd.Args...), cmd.Dir, cmd.Env
		status, _, errs = p.end(shell, shell.Run)
		return status, errs
	}
	for _, args := range [][]string{{"--out", "-"}, {"--out", "-", "--journal", "j"}} {
		status, errs := run(`exec "$0" "$@" >&-`, args...)
		require.Equal(t, 2, status, errs)
		assert.Equal(t, "headrace: --out: standard output is closed, or is the null device: name a file (/dev/null discards the results)\n", errs)
	}
	assert.Zero(t, p.provider.Counts().Arrivals, "nothing is paid for")
	for script, args := range map[string][]string{
		`exec "$0" "$@" >/dev/null`: {"--out", "-"},
		`exec "$0" "$@" >&- `:       {"--out", "/dev/null"},
		`exec "$0" "$@" >&-`:        {},
	} {
		status, errs := run(script, args...)
		require.Zero(t, status, errs)
	}
}

// What is printed is the result of these commands.
func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	for _, args := range [][]string{{"version"}, {"presets", "list"}, {"completion", "bash"}, {"run", "r.jsonl", "--dry-run", "--base-url", p.provider.URL()}} {
		cmd := p.command(args...)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		cmd.Stdout = full
		status, _, errs := p.end(cmd, cmd.Run)
		require.NoError(t, full.Close())
		assert.Equal(t, 1, status, args)
		assert.Equal(t, 1, strings.Count(errs, "no space left on device"), errs)
	}
}
