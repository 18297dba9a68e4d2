//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/providertest"
)

// A second Ctrl-C also ends it if its output is not read, as with a pager.
func TestCtrlCWhileNobodyReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	read, full, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = read.Close(), full.Close() }()
	require.NoError(t, full.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = full.Write(bytes.Repeat([]byte("x"), 4<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	cmd := p.command("run", "-", "--out", "o.jsonl", "--base-url", p.provider.URL()+"/v1")
	cmd.Stdin, cmd.Stderr = strings.NewReader(request(0)), full
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { // it hears by then
		_, err := os.Stat(p.path("o.jsonl.journal"))
		return err == nil
	})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	eventually(t, func() bool { // until it is received
		_ = cmd.Process.Signal(syscall.SIGINT)
		return len(ended) > 0
	})
	require.Error(t, <-ended)
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
}

// A pipe that no other process opens is waited for until the first Ctrl-C. The run says so.
func TestCtrlCWhileAPipeHasNoOtherEnd(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"requests": {"pipe", "--out", "o.jsonl"},
		"results":  {"r.jsonl", "--out", "pipe"},
		"failures": {"r.jsonl", "--errors", "pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.requests(1)
			require.NoError(t, syscall.Mkfifo(p.path("pipe"), 0o600))
			cmd := p.command(append([]string{"run", "--base-url", p.provider.URL() + "/v1", "--progress", "off"}, args...)...)
			read, write, err := os.Pipe()
			require.NoError(t, err)
			cmd.Stderr = write
			require.NoError(t, cmd.Start())
			require.NoError(t, write.Close())
			said := bufio.NewReader(read)
			want := "headrace: waiting for another program to read pipe\n"
			if args[0] == "pipe" {
				want = "headrace: waiting for another program to write to pipe\n"
			}
			for line := ""; line != want; {
				line, err = said.ReadString('\n')
				require.NoError(t, err)
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			assert.Equal(t, 130, cmd.ProcessState.ExitCode())
			rest, err := io.ReadAll(said)
			require.NoError(t, err)
			assert.Regexp(t, "resume with: headrace run|nothing was recorded", string(rest))
			assert.Zero(t, p.provider.Counts().Arrivals)
		})
	}
}

// Of two pipes, the one without a reader is named, and not the other one.
func TestThePipeWithoutAReaderIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	require.NoError(t, syscall.Mkfifo(p.path("out"), 0o600))
	require.NoError(t, syscall.Mkfifo(p.path("errs"), 0o600))
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--progress", "off", "--out", "out", "--errors", "errs")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = read.Close() }()
	cmd.Stderr = write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	said := bufio.NewReader(read)
	next := func(want string) {
		for {
			line, err := said.ReadString('\n')
			require.NoError(t, err)
			if strings.HasPrefix(line, "headrace: waiting for another program") {
				assert.Equal(t, "headrace: waiting for another program to read "+want+"\n", line)
				return
			}
		}
	}
	next("out")
	out, err := os.Open(p.path("out"))
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	next("errs")
	errs, err := os.Open(p.path("errs"))
	require.NoError(t, err)
	defer func() { _ = errs.Close() }()
	got, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Contains(t, string(got), `"custom_id":"r0"`)
	_, err = io.Copy(io.Discard, said)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
}

func TestAPipeAsReportIsNotOpenedAhead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	require.NoError(t, syscall.Mkfifo(p.path("pipe"), 0o600))
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--report", "pipe")
	require.NoError(t, cmd.Start())
	report, err := os.ReadFile(p.path("pipe")) // there is one writer
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	assert.Contains(t, string(report), `"done": 1`)
	assert.Len(t, p.lines("r.results.jsonl"), 1)
}

// The first signal stops the program, and the second one ends it at once, unless it is a copy of the first: timeout sends its signal to
// the process and to its group. A program that does not end after the first one is ended when its patience is over.
func TestTheSecondSignal(t *testing.T) {
	t.Parallel()
	p := &command.Program{}
	for name, c := range map[string]struct {
		after []time.Duration // the first signal
		ends  time.Duration
	}{
		"none":                 {nil, p.Patience()},
		"copies":               {[]time.Duration{0, repeated - 1}, p.Patience()},
		"another":              {[]time.Duration{repeated}, repeated},
		"another after copies": {[]time.Duration{0, repeated - 1, time.Second}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				signals := make(chan os.Signal, 2)
				ended := make(chan time.Time, 1)
				go func() {
					listen(signals, p, stop)
					ended <- time.Now()
				}()
				synctest.Wait()
				require.NoError(t, context.Cause(ctx))
				began := time.Now()
				signals <- syscall.SIGTERM
				for _, after := range c.after {
					time.AfterFunc(after, func() { signals <- syscall.SIGTERM })
				}
				synctest.Wait()
				require.ErrorIs(t, context.Cause(ctx), run.ErrInterrupted)
				assert.Equal(t, c.ends, (<-ended).Sub(began))
			})
		})
	}
}

// Calls in flight survive the first signal.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	arrived, stopping := make(chan struct{}, 1000), make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		arrived <- struct{}{}
		<-stopping
		return nil
	}})
	answer := sync.OnceFunc(func() { close(stopping) })
	t.Cleanup(answer)
	p.requests(1000)
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--concurrency", "4", "--progress", "off")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stderr = write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	eventually(t, func() bool { return len(arrived) == 4 })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	said := bufio.NewReader(read)
	for line := ""; !strings.Contains(line, "headrace: stopping"); { // it stops right after it has said so: a few more calls may begin
		line, err = said.ReadString('\n')
		require.NoError(t, err)
	}
	answer()
	require.Error(t, cmd.Wait())
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	done := len(p.lines("r.results.jsonl"))
	assert.GreaterOrEqual(t, done, 4)
	assert.Contains(t, string(rest), fmt.Sprintf("1,000 requests: %d done, 0 failed, %d left", done, 1000-done))
	assert.Contains(t, string(rest), "resume with: headrace run r.jsonl")
	assert.Zero(t, p.provider.Counts().Aborted)
}
