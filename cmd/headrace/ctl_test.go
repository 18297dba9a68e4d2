package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

const ctlToken = "tok-canary-51c09ab7"

// controlled is a dashboard with these limiters, and ctl that knows its token.
func controlled(t *testing.T, c dashboard.Config, names ...string) (ctl func(args ...string) (status int, out, errs string), guards map[string]*guard.Guard) {
	t.Helper()
	guards = map[string]*guard.Guard{}
	for _, name := range names {
		g, err := guard.New(guard.Policy{Name: name, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(600, time.Minute)}}})
		require.NoError(t, err)
		c.Guards, guards[name] = append(c.Guards, g), g
	}
	c.Token = ctlToken
	d, err := dashboard.New(c)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	at, err := d.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	p := newPlace(t, providertest.Config{})
	p.env = []string{"HEADRACE_TOKEN=" + ctlToken}
	return func(args ...string) (int, string, string) {
		status, out, errs := p.do(append([]string{"ctl", "--addr", at.String()}, args...)...)
		assert.NotContains(t, out+errs, ctlToken)
		return status, out, errs
	}, guards
}

func TestCtl(t *testing.T) {
	t.Parallel()
	drained := make(chan struct{})
	ctl, guards := controlled(t, dashboard.Config{
		Drain:   func(context.Context) error { close(drained); return nil },
		Clients: func() []dashboard.Client { return []dashboard.Client{{Name: "chat\x1b[31m", Admitted: 3, Waiting: 2}} },
	}, "api.openai.com#key1", "api.openai.com#key2", "local/gpt/oss")
	require.NoError(t, guards["local/gpt/oss"].Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))

	status, out, errs := ctl("status")
	assert.Zero(t, status, errs)
	for _, want := range []string{
		"LIMITER              STATE  ALLOWED  ADMITTED  IN FLIGHT  WAITING  CALLS  429s\n",
		"api.openai.com#key1  open   10/s     0/s       0          0        0      0\n",
		"local/gpt/oss        open   10/s",
		`chat\u001b[31m  0/s       2        3`,
	} {
		assert.Contains(t, out, want)
	}

	status, out, errs = ctl("pause", "local", "--for", "2h")
	assert.Zero(t, status, errs)
	const another = `Paused for another (2h0m0|1h59m[\d.]+)s`
	assert.Regexp(t, `^local/gpt/oss is paused: `+another+`\.\nlimits: 600/min\n.*What was learned is kept\.\n$`, out)
	assert.False(t, guards["local/gpt/oss"].Stats().PausedUntil.IsZero())
	_, out, _ = ctl("status")
	assert.Regexp(t, `\n\nlocal/gpt/oss: `+another, out)
	status, out, errs = ctl("resume", "local/gpt/oss")
	assert.Zero(t, status, errs)
	assert.Equal(t, "local/gpt/oss is open: Nothing holds it back.\nlimits: 600/min\n", out)

	status, out, errs = ctl("limit", "api.openai.com#key2", "20/s, 8 concurrent")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "limits: 20/s, 8 concurrent\n")
	assert.Equal(t, "20/s, 8 concurrent", guards["api.openai.com#key2"].Policy().Limits.String())

	status, out, errs = ctl("--json", "limit", "api.openai.com#key2", "unlimited")
	assert.Zero(t, status, errs)
	var l dashboard.Limiter
	require.NoError(t, json.Unmarshal([]byte(out), &l))
	assert.Equal(t, "api.openai.com#key2", l.Name)

	status, out, errs = ctl("drain")
	assert.Zero(t, status, errs)
	assert.Equal(t, "draining: no new calls are accepted, 0 in flight, 0 waiting\n", out)
	<-drained
	status, out, errs = ctl("status", "--json")
	assert.Zero(t, status, errs)
	var s dashboard.Status
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	assert.True(t, s.Draining)
}

func TestCtlSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ctl, _ := controlled(t, dashboard.Config{}, "api.openai.com#key1", "api.openai.com#key2")
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	odd := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(odd.Close)
	api, err := providertest.New(providertest.Config{}) // its 404 has a message in JSON
	require.NoError(t, err)
	t.Cleanup(api.Close)
	at, err := freeport.Address(t.Context())
	require.NoError(t, err)
	for want, c := range map[string]struct {
		args   []string
		status int
	}{
		`2 limiters match "api": api.openai.com#key1, api.openai.com#key2`:                         {[]string{"pause", "api"}, 1},
		`there is no limiter "api.openai.com#key3", did you mean "api.openai.com#key1"? there are`: {[]string{"pause", "api.openai.com#key3"}, 1},
		`limits: "fast": it does not begin a limit: write one such as 5/s`:                         {[]string{"limit", "api.openai.com#key1", "fast"}, 1},
		`for: 25h0m0s is not between 0 and 24h0m0s`:                                                {[]string{"pause", "api.openai.com#key1", "--for", "25h"}, 1},
		`this program cannot be drained`:                                                           {[]string{"drain"}, 1},
		`the token is wrong: set HEADRACE_TOKEN`:                                                   {[]string{"--token", "x", "resume", "api.openai.com#key1"}, 1},
		`nothing listens at ` + at + `: start headrace proxy`:                                      {[]string{"--addr", at, "status"}, 1},
		` is not a headrace dashboard: set --addr to the address of one`:                           {[]string{"--addr", other.Listener.Addr().String(), "status"}, 1},
		strings.TrimPrefix(api.URL(), "http://") + ` is not a headrace dashboard`:                  {[]string{"--addr", strings.TrimPrefix(api.URL(), "http://"), "status"}, 1},
		`is not a headrace dashboard`:                                                              {[]string{"--addr", odd.Listener.Addr().String(), "status"}, 1},
		`--addr: "8788" is not a host and port, such as 127.0.0.1:8788`:                            {[]string{"--addr", "8788", "status"}, 2},
		`missing: <name> (see headrace ctl pause --help)`:                                          {[]string{"pause"}, 2},
	} {
		status, out, errs := ctl(c.args...)
		assert.Equal(t, c.status, status, c.args)
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
	p := newPlace(t, providertest.Config{})
	d, err := dashboard.New(dashboard.Config{Token: ctlToken})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	empty, err := d.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	_, out, _ := p.do("ctl", "--addr", empty.String(), "status")
	assert.Equal(t, "no calls yet: a limiter is listed from its first call on\n", out)
	_, _, errs := p.do("ctl", "--addr", empty.String(), "pause", "x")
	assert.Contains(t, errs, `there is no limiter "x": a limiter exists from its first call on, and no call has been made yet`)
	_, _, errs = p.do("ctl", "--addr", empty.String(), "drain")
	assert.Contains(t, errs, "the token is missing: set HEADRACE_TOKEN")
}

// shown is a run with a dashboard.
type shown struct {
	at   string // the dashboard
	wait func() (status int, errs string)
}

// watched starts a run, and returns when its dashboard is up.
func (p *place) watched(args ...string) shown {
	p.t.Helper()
	cmd := p.command(append(args, "--dashboard", "127.0.0.1:0")...)
	read, write, err := os.Pipe()
	require.NoError(p.t, err)
	cmd.Stderr = write
	require.NoError(p.t, cmd.Start())
	require.NoError(p.t, write.Close())
	var said strings.Builder
	lines, at, found := bufio.NewScanner(read), "", false
	for !found && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		at, found = strings.CutPrefix(lines.Text(), "dashboard: http://")
	}
	require.True(p.t, found, said.String())
	return shown{at, func() (int, string) {
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait() // the status says how it ended
		return cmd.ProcessState.ExitCode(), said.String()
	}}
}

// limitBelow plays a run of three requests, of which the second is large, with the limit set below it while the first one is out.
func limitBelow(t *testing.T, flags ...string) (p *place, run []string, status int, errs string) {
	t.Helper()
	begun, limited := make(chan struct{}, 1), make(chan struct{})
	free := sync.OnceFunc(func() { close(limited) })
	p = newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if strings.Contains(r.Messages[0].Content, ">0<") {
			begun <- struct{}{}
			<-limited
		}
		return nil
	}})
	t.Cleanup(free) // before the provider closes
	p.write("r.jsonl", request(0)+strings.Replace(request(1), "Tell", strings.Repeat("Tell ", 2000), 1)+request(2))
	p.env = []string{"HEADRACE_TOKEN=" + ctlToken}
	run = append([]string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1", "--progress", "plain", "--concurrency", "1"}, flags...)
	w := p.watched(run...)
	<-begun
	status, _, errs = p.do("ctl", "--addr", w.at, "limit", "provider", "1000 tokens/min, 1 concurrent")
	free()
	require.Zero(t, status, errs)
	status, errs = w.wait()
	return p, run, status, errs
}

// A request that no longer fits a limit set in the middle of a run is left for the next one, which begins with its own limits.
func TestALimitBelowARequest(t *testing.T) {
	t.Parallel()
	p, run, status, errs := limitBelow(t, "--report", "report.json")
	assert.Equal(t, 75, status, errs)
	assert.Contains(t, errs, "3 requests: 2 done, 0 failed, 1 left")
	assert.Contains(t, errs, "1 request left for later; the first one because of: it may take 2503 tokens (estimated), and the limit now in force, 1000 tokens/min, admits no more than 1000 at once\n")
	assert.NotContains(t, errs, "1 failed")
	assert.NotContains(t, errs, "throttle:")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))

	status, _, errs = p.do(run...)
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 3)
}

// A request that no longer fits is not a failure that --max-failures counts.
func TestMaxFailuresAndALoweredLimit(t *testing.T) {
	t.Parallel()
	p, run, status, errs := limitBelow(t, "--max-failures", "0")
	assert.Equal(t, 75, status, errs)
	assert.Contains(t, errs, "3 requests: 2 done, 0 failed, 1 left")
	assert.NotContains(t, errs, "because of --max-failures")

	status, _, errs = p.do(run...)
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 3)
}

// A run is shown while it goes on, and to drain it is to stop it as Ctrl-C does.
func TestRunWithADashboard(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(400)
	p.env = []string{"HEADRACE_TOKEN=" + ctlToken}
	run := []string{"run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1", "--progress", "plain"}
	w := p.watched(append(run, "--limit", "1/s")...)
	ctl := func(args ...string) (string, string) {
		_, out, errs := p.do(append([]string{"ctl", "--addr", w.at}, args...)...)
		return out, errs
	}
	var s dashboard.Status
	eventually(t, func() bool {
		out, _ := ctl("status", "--json")
		return json.Unmarshal([]byte(out), &s) == nil && len(s.Limiters) == 1 && s.Limiters[0].Waiting > 0
	})
	assert.Equal(t, "headrace run r.jsonl", s.Title)
	assert.Contains(t, s.Limiters[0].Limits, "1/s")
	out, errs := ctl("limit", s.Limiters[0].Name, "1/h")
	assert.Contains(t, out, "limits: 1/h", errs)
	out, errs = ctl("status", "--json")
	assert.Contains(t, out, `"text": "changed: 1/h"`, errs)
	_, errs = ctl("drain")
	assert.Empty(t, errs)
	status, errs := w.wait()
	assert.Equal(t, 130, status, errs)
	assert.Contains(t, errs, "resume with: headrace run r.jsonl")
	assert.NotContains(t, errs, ctlToken)
	assert.Less(t, p.provider.Counts().Served, 400)

	status, _, errs = p.do(run...)
	assert.Zero(t, status, errs)
	assert.Contains(t, errs, "400 requests: ")

	for flag, want := range map[string]string{
		"0.0.0.0:0": "--dashboard: 0.0.0.0 can be reached from other machines: listen on 127.0.0.1, or set a token in HEADRACE_TOKEN\n",
		"8788":      `--dashboard: "8788" is not a host and a port: give an address such as 127.0.0.1:8788`,
	} {
		p.env = nil
		status, _, errs := p.do(append(run, "--fresh", "--dashboard", flag)...)
		assert.Equal(t, 2, status)
		assert.Contains(t, errs, want)
	}
}
