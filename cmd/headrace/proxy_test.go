//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// chat asks through a proxy, and returns the status, the body and the headers.
func chat(ctx context.Context, t *testing.T, url string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions",
		strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+canary)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	return resp.StatusCode, string(text), resp.Header
}

// newSlowPlace has a provider that holds the first request back: arrived receives when it is there, and answer ends it.
func newSlowPlace(t *testing.T) (p *place, arrived <-chan struct{}, answer func()) {
	t.Helper()
	var first atomic.Bool
	came, end := make(chan struct{}, 1), make(chan struct{})
	p = newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if first.CompareAndSwap(false, true) {
			came <- struct{}{}
			<-end
		}
		return nil
	}})
	answer = sync.OnceFunc(func() { close(end) })
	t.Cleanup(answer) // before the provider closes
	return p, came, answer
}

// SIGTERM and Ctrl-C let requests in progress finish, and refuse new ones.
func TestProxyDrains(t *testing.T) {
	t.Parallel()
	p, arrived, answer := newSlowPlace(t)
	cmd, address, said := p.startProxy("--upstream", "local="+p.provider.URL(), "--log-level", "debug")
	slow := make(chan int, 1)
	go func() {
		status, _, _ := chat(t.Context(), t, "http://"+address+"/local/v1")
		slow <- status
	}()
	<-arrived
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, func() bool {
		status, _, header := chat(t.Context(), t, "http://"+address+"/local/v1")
		return status == http.StatusServiceUnavailable && header.Get("X-Headrace-Error") == "headrace_draining"
	})
	answer()
	assert.Equal(t, http.StatusOK, <-slow)
	text := <-said
	require.NoError(t, cmd.Wait(), text)
	assert.Contains(t, text, "draining; requests in progress have 30s")
	assert.Regexp(t, `headrace: \d+ calls?; (it|they) waited `, text)
	assert.NotContains(t, text, canary)
}

// A second signal ends it at once.
func TestProxyEndsAtOnce(t *testing.T) {
	t.Parallel()
	p, arrived, _ := newSlowPlace(t)
	cmd, address, said := p.startProxy("--upstream", "local="+p.provider.URL())
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		chat(t.Context(), t, "http://"+address+"/local/v1")
	}()
	<-arrived
	eventually(t, func() bool {
		_ = cmd.Process.Signal(os.Interrupt)
		return len(said) > 0
	})
	_ = cmd.Wait()
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
	<-slow
}

// It says in one line where it is and how it is used, and takes flags from the environment and from a file.
func TestProxySettings(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("c.yaml", "upstream:\n  - one="+p.provider.URL()+"\n  - two="+p.provider.URL()+"\nmax-wait: 1m\n")
	const token = "0123456789abcdef0123"
	p.env = []string{"HEADRACE_TOKEN=" + token, "HEADRACE_MAX_QUEUE=5"}
	cmd, address, said := p.startProxy("--config", "c.yaml", "--dashboard", "127.0.0.1:0")
	status, body, _ := chat(t.Context(), t, "http://"+address+"/two/v1")
	assert.Equal(t, http.StatusUnauthorized, status, body)
	status, body, header := chat(t.Context(), t, "http://"+address+"/t/"+token+"/one/v1")
	assert.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, "1", header.Get("X-Headrace-Attempts"))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	text := <-said
	require.NoError(t, cmd.Wait())
	first, _, _ := strings.Cut(text, "\n")
	assert.Regexp(t, regexp.MustCompile(`^headrace proxy on 127\.0\.0\.1:\d+: set OPENAI_BASE_URL=http://127\.0\.0\.1:\d+/t/TOKEN/openai/v1, `+
		`or ANTHROPIC_BASE_URL=http://127\.0\.0\.1:\d+/t/TOKEN/anthropic, and keep your key; dashboard: http://127\.0\.0\.1:\d+$`), first)
	assert.NotContains(t, text, token)
}

// What is wrong with a flag ends it before it listens.
func TestProxyUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	taken := strings.TrimPrefix(p.provider.URL(), "http://")
	for want, args := range map[string][]string{
		"in use: use another address, such as 127.0.0.1:0":   {"--addr", taken},
		"--addr: 0.0.0.0 can be reached from other machines": {"--addr", "0.0.0.0:0"},
		"--addr: \"8787\" is not a host and a port":          {"--addr", "8787"},
		"such as 127.0.0.1:8788\n":                           {"--addr", "8788"},
		"--token: not 16 to 256 letters":                     {"--token", "short"},
		"--tls-cert: TLS needs both":                         {"--tls-cert", "x.pem"},
		"--tls-cert: open x.pem":                             {"--tls-cert", "x.pem", "--tls-key", "y.pem"},
		"--host: \"a:1\" is not a host name":                 {"--host", "a:1"},
		"--origin: \"x\" is not an origin":                   {"--origin", "x"},
		"--grace: -1s is negative":                           {"--grace=-1s"},
		"--share: sqlite shares known limits":                {"--share", "sqlite:l.db"},
		"--share: sqlite:none/l.db: ":                        {"--share", "sqlite:none/l.db", "--preset", "openai/tier1"},
		"--share: \"nowhere\" is not an address":             {"--share", "nowhere"},
		"--share: \"etcd\" is not sqlite":                    {"--share", "etcd:x"},
	} {
		status, out, errs := p.do(append([]string{"proxy", "--addr", "127.0.0.1:0", "--dashboard", "off"}, args...)...)
		assert.Equal(t, 2, status, errs)
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
}

// Two proxies that share limits are one client to the provider.
func TestProxiesShare(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	var ends []func() (int, string)
	for range 2 {
		end, address := p.proxy("--upstream", "openai="+p.provider.URL(), "--share", "group:g.sock", "--log-level", "info")
		status, body, _ := chat(t.Context(), t, "http://"+address+"/openai/v1")
		assert.Equal(t, http.StatusOK, status, body)
		ends = append(ends, end)
	}
	var all strings.Builder
	for _, end := range ends {
		status, said := end()
		assert.Zero(t, status)
		all.WriteString(said)
	}
	assert.Contains(t, all.String(), "2 members")
}

// startProxy starts `headrace proxy` on a free port. said receives all that it said, when it has ended.
func (p *place) startProxy(args ...string) (cmd *exec.Cmd, address string, said chan string) {
	p.t.Helper()
	cmd = p.command(append([]string{"proxy", "--addr", "127.0.0.1:0", "--dashboard", "off"}, args...)...)
	read, err := cmd.StderrPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	lines, first := bufio.NewReader(read), ""
	var found []string
	for found == nil {
		line, err := lines.ReadString('\n')
		first += line
		require.NoError(p.t, err, first)
		found = regexp.MustCompile(`^headrace proxy on ([\d.]+:\d+): `).FindStringSubmatch(line)
	}
	said = make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(lines)
		said <- first + string(rest)
	}()
	return cmd, found[1], said
}
