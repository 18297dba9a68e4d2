//go:build linux

package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

var memoryMost = flag.Int("memory", 0, "how many lines the peak memory is compared for, with that for 10,000; 0: it is not")

// The most that was resident (VmHWM), for 10,000 lines and for -memory lines, from a file and from standard input.
func TestMemoryIsFlat(t *testing.T) {
	if *memoryMost == 0 {
		t.Skip("needs -memory 1000000, some minutes, and a build without the race detector")
	}
	p := newPlace(t, providertest.Config{})
	url := instant(t)
	for _, stdin := range []bool{false, true} {
		few := p.peak(url, 10_000, stdin)
		many := p.peak(url, *memoryMost, stdin)
		t.Logf("standard input %v: %d kB for 10,000 lines, %d kB for %d (%+.1f %%)", stdin, few, many, *memoryMost, 100*(float64(many)/float64(few)-1))
		assert.LessOrEqual(t, float64(many), 1.1*float64(few))
	}
}

// peak is the most memory that a run of n requests took, in kB.
func (p *place) peak(url string, n int, stdin bool) (most int) {
	p.t.Helper()
	in, err := os.Create(p.path("r.jsonl"))
	require.NoError(p.t, err)
	defer func() { _ = in.Close() }()
	lines := bufio.NewWriter(in)
	for i := range n {
		_, _ = lines.WriteString(request(i)) // Flush says what went wrong
	}
	require.NoError(p.t, lines.Flush())
	_, err = in.Seek(0, io.SeekStart)
	require.NoError(p.t, err)
	cmd := p.command("run", "r.jsonl", "--base-url", url, "--fresh", "--concurrency", "32")
	if stdin {
		cmd.Args[2], cmd.Stdin = "-", in
	}
	began := time.Now()
	status, _, errs := p.end(cmd, func() error {
		require.NoError(p.t, cmd.Start())
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		for {
			select {
			case err := <-over:
				return err
			case <-time.After(20 * time.Millisecond):
				most = max(most, peakOf(cmd.Process.Pid))
			}
		}
	})
	require.Zero(p.t, status, errs)
	p.t.Logf("%d lines in %s", n, time.Since(began).Round(time.Second))
	return most
}

// peakOf reads VmHWM of a process, in kB; 0 if it is over. What the system tells at a process's end may be
// the memory of the one that has started it.
func peakOf(pid int) (kB int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(rest, &kB)
	return kB
}

// instant is a service that answers everything the same, in as little time as possible: the run is
// what is measured.
func instant(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return "http://" + listener.Addr().String()
}

func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	const body = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}`
	in, text := bufio.NewReader(conn), fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return // the run is over
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := conn.Write(text); err != nil {
			return
		}
	}
}
