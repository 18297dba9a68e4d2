package benchmarks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// loopEnv has a test binary be the loop that people write in place of headrace run, with the arguments of loopChild.
const loopEnv = "HEADRACE_BENCH_LOOP"

const commandLines = 20_000

type requestLine struct {
	ID   string          `json:"custom_id"`
	URL  string          `json:"url"`
	Body json.RawMessage `json:"body"`
}

type resultLine struct {
	ID       string       `json:"custom_id"`
	Response answerOfLine `json:"response"`
}

type answerOfLine struct {
	Status int             `json:"status_code"`
	Body   json.RawMessage `json:"body"`
}

// loopChild sends each request of a file to a server, sixteen at once, and writes the answers to another file. It has no
// limits, no retries and no journal.
func loopChild(server, requests, results string) (err error) {
	in, err := os.Open(requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(results)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var mu sync.Mutex // guards w
	w := bufio.NewWriter(out)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: batchAtOnce}}
	defer client.CloseIdleConnections()
	var g errgroup.Group
	g.SetLimit(batchAtOnce)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := bytes.Clone(lines.Bytes())
		g.Go(func() error {
			answer, err := loopLine(client, server, line)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			_, err = w.Write(append(answer, '\n'))
			return err
		})
	}
	return errors.Join(g.Wait(), w.Flush())
}

func loopLine(client *http.Client, server string, line []byte) (answer []byte, err error) {
	var r requestLine
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	resp, err := client.Post(server+r.URL, "application/json", bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resultLine{r.ID, answerOfLine{resp.StatusCode, body}})
}

// BenchmarkCommand is a file of requests done by headrace run, with its journal, and by that loop: the processor's time of
// each process, for a line.
func BenchmarkCommand(b *testing.B) {
	s, _ := serve(b)
	dir := b.TempDir()
	requests, program := filepath.Join(dir, "requests.jsonl"), filepath.Join(dir, "headrace")
	var lines bytes.Buffer
	for i := range commandLines {
		fmt.Fprintf(&lines, `{"custom_id":"r%d","method":"POST","url":"/v1/chat/completions","body":%s}`+"\n", i, chatRequest)
	}
	require.NoError(b, os.WriteFile(requests, lines.Bytes(), 0o600))
	build := exec.CommandContext(b.Context(), "go", "build", "-o", program, "github.com/headrace/headrace/cmd/headrace")
	said, err := build.CombinedOutput()
	require.NoError(b, err, string(said))

	contend(b, []contender{
		{"headrace", func(b *testing.B) {
			b.Helper()
			processorTime(b, func(results string) *exec.Cmd {
				return exec.CommandContext(b.Context(), program, "run", requests, "--base-url", s.HTTP1+"/v1", "--out", results,
					"--concurrency", strconv.Itoa(batchAtOnce), "--law", "fixed", "--progress", "off")
			})
		}},
		{"plain-loop", func(b *testing.B) {
			b.Helper()
			processorTime(b, func(results string) *exec.Cmd {
				child := exec.CommandContext(b.Context(), os.Args[0], s.HTTP1, requests, results)
				child.Env = append(os.Environ(), loopEnv+"=1")
				return child
			})
		}},
	})
}

// processorTime reports what a line costs a process that writes results.
func processorTime(b *testing.B, start func(results string) *exec.Cmd) {
	b.Helper()
	var spent float64
	n := 0
	for b.Loop() {
		results := filepath.Join(b.TempDir(), "results.jsonl")
		child := start(results)
		said, err := child.CombinedOutput()
		require.NoError(b, err, string(said))
		written, err := os.ReadFile(results)
		require.NoError(b, err)
		require.Equal(b, commandLines, bytes.Count(written, []byte("\n")))
		spent += float64((child.ProcessState.UserTime() + child.ProcessState.SystemTime()).Nanoseconds())
		n++
	}
	b.ReportMetric(spent/float64(n*commandLines), "cpu-ns/line")
	b.ReportMetric(0, "ns/op")
}

func TestTheLoopDoesALine(t *testing.T) {
	s, _ := serve(t)
	client := &http.Client{Transport: wire(t, nil)}
	answer, err := loopLine(client, s.HTTP1, []byte(`{"custom_id":"r1","url":"/v1","body":{}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"custom_id":"r1","response":{"status_code":200,"body":`+chatAnswer+`}}`, string(answer))
}
