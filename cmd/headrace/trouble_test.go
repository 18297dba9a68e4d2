//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

func TestAWrongKeyEndsTheRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: 401, Body: `{"error":{"message":"no such key: ` + r.Header.Get("Authorization") + `"}}`}
	}})
	p.requests(1000)
	status, _, errs := p.run()
	require.Equal(t, 1, status)
	assert.Contains(t, errs, "rejects the key in KEY (401): no such key: Bearer REDACTED. Set KEY to a valid key\n")
	assert.Contains(t, errs, "1,000 left")
	_, _, errs = p.do("run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL()+"/v1")
	assert.NotContains(t, errs, "level=", "why it has ended is said once")
	assert.Less(t, p.provider.Counts().Arrivals, 1000, "what was in flight by then, of 2,000 in two runs")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

// A key that --header sets is not a missing one.
func TestAWrongKeyInAHeader(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: 401, Body: `{"error":{"message":"No such key."}}`}
	}})
	p.requests(1)
	for want, args := range map[string][]string{
		"rejects the key in --header (401): No such key. Set the header to a valid key\n": {"--header", "Authorization: Bearer " + canary},
		"requires a key (401): No such key. Use --api-key-env":                            {"--header", "X-Team: a"},
	} {
		status, _, errs := p.do(append([]string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1"}, args...)...)
		require.Equal(t, 1, status)
		assert.Contains(t, errs, want)
	}
}

// Neither in an error that says the key again, nor in a result.
func TestTheKeyIsNowhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		return &providertest.Fault{
			Status: map[bool]int{true: 400, false: 200}[strings.Contains(r.Messages[0].Content, ">1<")],
			Body:   `{"echo":"` + r.Header.Get("Authorization") + ` ` + r.Header.Get("X-My-Token") + `"}`,
		}
	}})
	p.requests(2)
	status, _, errs := p.run("--header", "X-My-Token: "+canary+"-2", "--report", "report.json")
	require.Equal(t, 1, status)
	assert.Contains(t, p.read("r.results.jsonl"), "Bearer REDACTED")
	assert.Contains(t, p.read("r.errors.jsonl"), "Bearer REDACTED")
	assert.NotContains(t, errs, canary)
}

func TestTheKeyGoesToItsOwnHostOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	p.env = []string{"OPENAI_API_KEY=" + canary}
	status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1")
	require.Zero(t, status, errs)
	for _, args := range [][]string{{"r.jsonl", "--api-key-env", canary}, {"r.jsonl", canary}, {canary}} {
		status, _, errs = p.do(append([]string{"run"}, args...)...)
		require.Equal(t, 2, status)
		assert.NotContains(t, errs, canary)
	}
	p.env = nil
	status, _, errs = p.do("run", "r.jsonl")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "OPENAI_API_KEY is not set")
}

func TestADeadHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(100)
	began := time.Now()
	status, _, errs := p.do("run", "r.jsonl", "--base-url", "http://127.0.0.1:1/v1", "--log-level", "debug")
	require.Equal(t, 1, status)
	assert.NotContains(t, errs, "limiter.cut", "the next run would begin as slowly as this one has ended")
	assert.Contains(t, errs, "127.0.0.1:1 cannot be reached")
	assert.Contains(t, errs, "100 left")
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")
	assert.Less(t, time.Since(began), patience)
	assert.NoFileExists(t, p.path("r.errors.jsonl"))

	// Nothing is done yet, so that another URL needs no --fresh.
	status, _, errs = p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1")
	require.Zero(t, status, errs)
}

// A server without TLS is a mistake in the URL, and not a server that is down.
func TestAnHTTPSServerThatSpeaksHTTP(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.do("run", "r.jsonl", "--base-url", strings.Replace(p.provider.URL(), "http:", "https:", 1)+"/v1")
	require.Equal(t, 1, status)
	assert.Contains(t, errs, " cannot be reached: the response is not TLS: for a local server without TLS, use http:// in --base-url. Check --base-url")
}

// A proxy that the environment sets is named wherever it may be the cause.
func TestAProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if r.Header.Get("Proxy-Authorization") == "" {
			return &providertest.Fault{Status: 407}
		}
		return nil
	}})
	p.requests(50)
	at := strings.TrimPrefix(p.provider.URL(), "http://")
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(denying.Close)
	denies := strings.TrimPrefix(denying.URL, "http://")
	for _, c := range []struct {
		proxy  string
		status int
		want   string
	}{
		{"HTTPS_PROXY=https://" + at, 1, "through the proxy " + at + " (HTTPS_PROXY): the proxy does not use TLS: its URL has to begin with http://. Check HTTPS_PROXY"},
		{"HTTPS_PROXY=" + denies, 1, "through the proxy " + denies + " (HTTPS_PROXY): the proxy refused to connect: status 407. Check the user and the password in HTTPS_PROXY\n"},
		{"HTTP_PROXY=ftp://me:" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: its scheme is not supported: use http, https, socks5 or socks5h\n"},
		{"HTTP_PROXY=http://me:" + canary + "@:3128", 2, "HTTP_PROXY: it is not the URL of a proxy: use one such as"},
		{"http_proxy=http://me:" + canary + "@127.0.0.1:1", 1, "service.invalid cannot be reached through the proxy 127.0.0.1:1 (http_proxy): "},
		{"http_proxy=http://me:" + canary + "@127.0.0.1:1", 1, "connection refused. Check http_proxy, --base-url, and whether the service is up"},
		{"HTTP_PROXY=http://me:" + canary + "@[", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://me:" + canary + "@", 2, "HTTP_PROXY: it is not the URL of a proxy: use one such as http://localhost:3128, with %2F for a / in its password, or set NO_PROXY for service.invalid"},
		{"HTTP_PROXY=http://u:/" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:9/" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:9?" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:9#" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:@9/" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:%zz" + canary + "@127.0.0.1:1", 2, "HTTP_PROXY: it is not the URL of a proxy"},
		{"HTTP_PROXY=http://u:" + canary + "%2F@127.0.0.1:1", 1, "service.invalid cannot be reached through the proxy 127.0.0.1:1 (HTTP_PROXY)"},
		{"HTTP_PROXY=" + at, 3, "/v1/chat/completions through the proxy " + at + " (HTTP_PROXY) all failed in the same way: 407: "},
		{"HTTP_PROXY=" + at, 3, "Check the user and the password in HTTP_PROXY"},
		{"HTTP_PROXY=http://me:" + canary + "@" + at, 0, "50 requests: 50 done"},
	} {
		p.env = []string{c.proxy}
		base := "http://service.invalid/v1"
		if strings.HasPrefix(c.proxy, "HTTPS") {
			base = "https://service.invalid/v1"
		}
		status, _, errs := p.do("run", "r.jsonl", "--base-url", base, "--fresh")
		assert.Equal(t, c.status, status, errs)
		assert.Contains(t, errs, c.want)
		assert.NotContains(t, errs, canary)
		if c.status == 2 {
			assert.NotContains(t, errs, "9", "no part of a password")
		}
	}
	p.env = []string{"HTTP_PROXY=http://u:%zz@127.0.0.1:1"} // addresses of this machine do not need it
	status, _, errs := p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--header", "Proxy-Authorization: x", "--fresh")
	assert.Zero(t, status, errs)
}

func TestAFolderOfRequests(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	require.NoError(t, os.Mkdir(p.path("folder"), 0o700))
	status, _, errs := p.do("run", "folder", "--base-url", p.provider.URL()+"/v1")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "the requests cannot be read: folder is a folder: name a file, or - for standard input")
	files, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing is left behind")
}

// Requests that are added while others are sent may come too late.
func TestRequestsThatAreAdded(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	added := make(chan struct{})
	add := sync.OnceFunc(func() { close(added) })
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		arrived.Add(1)
		<-added
		return nil
	}})
	t.Cleanup(add) // before the provider closes
	p.requests(3)
	cmd := p.command("run", "r.jsonl", "--fresh", "--base-url", p.provider.URL()+"/v1")
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		eventually(t, func() bool { return arrived.Load() == 3 })
		p.requests(5)
		add()
		return cmd.Wait()
	})
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "r.jsonl changed during the run: lines that were added may not have been sent\n")
	assert.Contains(t, errs, "\nresume with: headrace run r.jsonl --base-url "+p.provider.URL()+"/v1\n", "without --fresh")
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "5 requests: 2 done, 3 done before")
	assert.NotContains(t, errs, "changed during")
}

// A service that fails for everything uses up the attempts of 20 requests. All others wait until it works again.
func TestAnOutageFailsFewRequests(t *testing.T) {
	t.Parallel()
	const down = 24
	var calls atomic.Int64
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		switch n := calls.Add(1); {
		case n > down:
			return nil
		case n == 6:
			return &providertest.Fault{Status: 500, Header: http.Header{"X-Should-Retry": {"false"}}}
		case n == 12: // of a gateway before it
			return &providertest.Fault{Status: 429, Header: http.Header{"Retry-After-Ms": {"10"}}}
		}
		return &providertest.Fault{Status: 500}
	}})
	p.requests(100)
	status, _, errs := p.run("--concurrency", "1", "--max-attempts", "1")
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "79 done, 21 failed", "one must not be retried")
	assert.Regexp(t, `all calls to 127\.0\.0\.1:\d+ fail, 21 requests in a row: 500: .*\. All requests wait until it works again, for at most 15m0s \(--max-wait\)\n`, errs)

	calls.Store(-1 << 40)
	status, _, errs = p.run("--concurrency", "1", "--max-attempts", "1", "--max-wait", "3s", "--fresh")
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "20 failed, 80 left")
	assert.Regexp(t, `all calls to 127\.0\.0\.1:\d+ have failed for`, errs)
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")
}

// However many requests fail, there is no outage while others succeed.
func TestFailuresAmongSuccessesAreNoOutage(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if calls.Add(1)%4 == 0 {
			return &providertest.Fault{Status: 500}
		}
		return nil
	}})
	p.requests(100)
	status, _, errs := p.run("--concurrency", "1", "--max-attempts", "1", "--max-wait", "1m")
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "75 done, 25 failed")
}

func TestAUsedUpQuotaLeavesTheRest(t *testing.T) {
	t.Parallel()
	money := make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		select {
		case <-money:
			return nil
		default:
			if strings.Contains(r.Messages[0].Content, ">0<") {
				return nil
			}
			return providertest.QuotaExhausted()
		}
	}})
	p.requests(100)
	status, _, errs := p.run("--concurrency", "1")
	require.Equal(t, 1, status)
	assert.Contains(t, errs, "the quota or the credit of the account is used up")
	assert.Contains(t, errs, "100 requests: 1 done, 0 failed, 99 left")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	close(money)
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Equal(t, 100, unique(p.lines("r.results.jsonl")))
}

// What has failed counts in the next run too, so that the command that goes on tries it again.
func TestMaxFailures(t *testing.T) {
	t.Parallel()
	repaired := make(chan struct{})
	p := newPlace(t, missingUntil(repaired))
	p.requests(500)
	status, _, errs := p.run("--max-failures", "3", "--concurrency", "2", "--report", "report.json")
	require.Equal(t, 1, status)
	assert.Contains(t, errs, "stopped after 4 failures because of --max-failures")
	assert.Less(t, p.provider.Counts().Arrivals, 20)
	assert.Contains(t, p.read("report.json"), `"reason": "max_failures"`)
	assert.Contains(t, errs, "--report report.json --retry-failed\n")

	close(repaired)
	status, _, errs = p.run("--max-failures", "3", "--concurrency", "2", "--retry-failed")
	require.Zero(t, status, errs)
	assert.Equal(t, 500, unique(p.lines("r.results.jsonl")))
}

// A refused line waits, and does not fail for it.
func TestGivingUpToWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: 429}
	}})
	p.requests(3)
	status, _, errs := p.run("--max-wait", "300ms", "--max-attempts", "1")
	require.Equal(t, 75, status)
	assert.Contains(t, errs, "3 requests: 0 done, 0 failed, 3 left")
	assert.Contains(t, errs, "3 requests left for later; the first one because of: ")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

func TestTargets(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	for want, args := range map[string][]string{
		"is a directory: use another --out":            {"--out", "."},
		"is a directory: use another --errors":         {"--errors", "."},
		"--out: there is no folder nowhere":            {"--out", "nowhere/o.jsonl"},
		"--journal: there is no folder":                {"--journal", "nowhere/j"},
		"--report: there is no folder":                 {"--report", "nowhere/r.json"},
		"is also used for REQUESTS":                    {"--out", "r.jsonl"},
		"is also used for --out":                       {"--out", "o.jsonl", "--errors", "./o.jsonl"},
		"--errors: only --out can be standard output":  {"--errors", "-"},
		"--journal: only --out can be standard output": {"--journal", "-"},
		"--report: only --out can be standard output":  {"--report", "-"},
		"--out: o.gz: files are written uncompressed":  {"--out", "o.gz"},
	} {
		status, _, errs := p.run(args...)
		require.Equal(t, 2, status, errs)
		assert.Contains(t, errs, want)
	}
	status, _, errs := p.do("run", "none.jsonl", "--base-url", p.provider.URL())
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "none.jsonl does not exist")

	p.write("text", "mine\n")
	status, _, errs = p.run("--journal", "text")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "headrace: --journal: text: the file does not belong to headrace: use another path")
	assert.Zero(t, p.provider.Counts().Arrivals)
	files, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	assert.Len(t, files, 2, "nothing is left behind")
}

// seen closes a channel when a text was written to it.
type seen struct {
	mu   sync.Mutex
	text strings.Builder
	want string
	done chan struct{} // nil once it is closed
}

// Write implements io.Writer.
func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Write(p); s.done != nil && strings.Contains(s.text.String(), s.want) {
		close(s.done)
		s.done = nil
	}
	return len(p), nil
}

// A limit on open files says nothing about the service: the run continues with as many connections as there may be.
func TestTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	short := make(chan struct{})
	p := newPlace(t, providertest.Config{Reply: func(providertest.Request) string {
		select {
		case <-short:
		case <-t.Context().Done(): // the run has failed
		}
		return "done"
	}})
	p.requests(100)
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--progress", "off")
	shell := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 40; exec "$0" "$@"`)
	errs := &seen{want: "too many open files: calls wait until connections are closed. Raise the limit on open files (ulimit -n), or set a lower --concurrency\n", done: short}
	shell.Args, shell.Dir, shell.Env, shell.Stderr = append(shell.Args, cmd.Args...), cmd.Dir, cmd.Env, errs
	require.NoError(t, shell.Run(), "%s", &errs.text)
	assert.Equal(t, 1, strings.Count(errs.text.String(), "too many open files"))
	assert.Len(t, p.lines("r.results.jsonl"), 100)
	assert.Equal(t, 100, p.provider.Counts().Arrivals)
}

// Files of other programs are neither emptied nor cut, whatever the journal contains.
func TestFilesOfSomebodyElse(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	p.write("notes", "mine\n")
	refused := func(want string, args ...string) {
		t.Helper()
		status, _, errs := p.run(args...)
		require.Equal(t, 2, status, errs)
		assert.Contains(t, errs, want)
		assert.Equal(t, "mine\n", p.read("notes"))
	}
	all := func() {
		refused("use --fresh to overwrite it, or another --out", "--out", "notes")
		refused("another --errors", "--errors", "notes")
		refused("another --errors", "--errors", "notes", "--ordered")
		refused("another --errors", "--errors", "notes", "--out", "-")
	}
	all()
	require.Zero(t, p.provider.Counts().Arrivals)
	status, _, errs := p.run()
	require.Zero(t, status, errs)
	all()

	require.NoError(t, os.Rename(p.path("r.results.jsonl"), p.path("old.jsonl")))
	old := p.read("old.jsonl")
	refused("is not recorded in the journal old.jsonl.journal: use --fresh to overwrite it", "--out", "old.jsonl")
	refused("is not recorded in the journal r.results.jsonl.journal", "--out", "old.jsonl", "--journal", "r.results.jsonl.journal")
	refused("or another --errors", "--out", "new.jsonl", "--errors", "old.jsonl")
	assert.Equal(t, old, p.read("old.jsonl"))
}

// A link to a file of failures stays, also where there are none.
func TestALinkStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	require.NoError(t, os.Symlink("elsewhere", p.path("link")))
	status, _, errs := p.run("--errors", "link")
	require.Zero(t, status, errs)
	assert.Empty(t, p.read("link"))
}

// Runs that share a journal are distinguished by the path of their results relative to the journal, so that all files can be moved.
func TestOneJournalForMany(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	for _, folder := range []string{"a", "b", "c/d"} {
		require.NoError(t, os.MkdirAll(p.path(folder), 0o700))
	}
	for _, folder := range []string{"a", "b"} {
		status, _, errs := p.run("--journal", "j", "--out", folder+"/o.jsonl", "--errors", folder+"/e.jsonl")
		require.Zero(t, status, errs)
	}
	assert.Equal(t, 6, p.provider.Counts().Served)
	for _, name := range []string{"j", "a", "r.jsonl"} {
		require.NoError(t, os.Rename(p.path(name), p.path("c/d/"+name)))
	}
	cmd := p.command("run", "r.jsonl", "--journal", "j", "--out", p.path("c/d/a/o.jsonl"), "--base-url", p.provider.URL()+"/v1")
	cmd.Dir = p.path("c/d")
	status, _, errs := p.end(cmd, cmd.Run)
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "3 done before")
	assert.Len(t, p.lines("c/d/a/o.jsonl"), 3)
}

func TestAClosedPipe(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(500)
	cmd := p.command("run", "r.jsonl", "--out", "-", "--base-url", p.provider.URL()+"/v1")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = write
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		_ = write.Close()
		_, err := bufio.NewReader(read).ReadString('\n')
		require.NoError(t, err)
		_ = read.Close()
		return cmd.Wait()
	})
	assert.Equal(t, 1, status)
	assert.Contains(t, errs, "the reader of the results has closed the pipe")
	assert.Less(t, p.provider.Counts().Served, 500)
}

// started starts a run, and waits until it has sent something.
func (p *place) started(args ...string) (*exec.Cmd, func() error) {
	p.t.Helper()
	cmd := p.command(append([]string{"run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1"}, args...)...)
	return cmd, func() error {
		require.NoError(p.t, cmd.Start())
		eventually(p.t, func() bool { return p.provider.Counts().Served > 5 })
		return nil
	}
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Latency: providertest.Fixed(50 * time.Millisecond)})
	p.requests(3000)
	cmd, start := p.started("--header", "Cookie: "+canary, "--concurrency", "4")
	status, _, errs := p.end(cmd, func() error {
		_ = start()
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		return cmd.Wait()
	})
	require.Equal(t, 130, status, errs)
	assert.Contains(t, errs, "calls in flight have 10s to finish")
	assert.Contains(t, errs, "--header 'Cookie: ...' --concurrency 4")
	assert.Len(t, p.lines("r.results.jsonl"), p.provider.Counts().Served, "what was in flight has finished")
}

func TestASecondCtrlC(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Latency: providertest.Fixed(time.Minute)})
	p.requests(3)
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1", "--grace", "1m")
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		eventually(t, func() bool { return p.provider.Counts().InFlight == 3 })
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		eventually(t, func() bool { // two at the same time count as one, so it is sent until it is received
			_ = cmd.Process.Signal(syscall.SIGINT)
			return len(ended) > 0
		})
		return <-ended
	})
	require.Equal(t, 130, status, errs)
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")
}

// Standard input that never ends is no reason to stay.
func TestCtrlCWhileNobodyTypes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.command("run", "-", "--out", "o.jsonl", "--base-url", p.provider.URL())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		_, err := in.Write([]byte(request(0)))
		require.NoError(t, err)
		eventually(t, func() bool { return len(p.lines("o.jsonl")) == 1 })
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		return cmd.Wait()
	})
	assert.Equal(t, 130, status, errs)
}

func TestTwoProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	over := make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if arrived.Add(1) > 10 { // so that the run does not end before the others begin
			<-over
		}
		return nil
	}})
	t.Cleanup(func() { close(over) }) // before the provider closes
	p.requests(100)
	cmd, start := p.started()
	p.end(cmd, func() error {
		_ = start()
		for _, more := range [][]string{{}, {"--fresh"}, {"--fresh", "--ordered"}} {
			status, _, errs := p.run(more...)
			assert.Equal(t, 2, status)
			assert.Contains(t, errs, fmt.Sprintf("the results in r.results.jsonl are being written by another process: process %d on ", cmd.Process.Pid))
		}
		status, _, errs := p.run("--journal", "another")
		assert.Equal(t, 2, status)
		assert.Contains(t, errs, "r.results.jsonl is being written by another process: wait for it, or use another --out")
		require.NoError(t, cmd.Process.Kill())
		return cmd.Wait()
	})
}
