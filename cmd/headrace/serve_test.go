//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/doctor"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/providertest"
)

const served = `rate_limits:
  - {name: search, scope: user, resource: search, capacity: 3, refill_rate: 0}
runtime: {store: STORE, timeout: 10s}
`

// serving is a `headrace serve` that was started.
type serving struct {
	cmd     *exec.Cmd
	address string
	page    string // empty: there is none
	first   string // what it said
	said    chan string
}

// serve starts `headrace serve` on a free port.
func (p *place) serve(args ...string) *serving {
	p.t.Helper()
	s := &serving{cmd: p.command(append([]string{"serve", "--config", "limits.yaml", "--addr", "127.0.0.1:0"}, args...)...), said: make(chan string, 1)}
	read, err := s.cmd.StderrPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, s.cmd.Start())
	lines := bufio.NewReader(read)
	for s.address == "" {
		line, err := lines.ReadString('\n')
		s.first += line
		require.NoError(p.t, err, s.first)
		if found := regexp.MustCompile(`^headrace serve on (\S+), .*?(?:; dashboard: http://(\S+))?\n$`).FindStringSubmatch(line); found != nil {
			s.address, s.page = found[1], found[2]
		}
	}
	go func() {
		rest, _ := io.ReadAll(lines)
		s.said <- s.first + string(rest)
	}()
	p.t.Cleanup(func() { _, _ = s.cmd.Process.Kill(), s.cmd.Wait() })
	return s
}

// end stops it as systemd does.
func (s *serving) end(t *testing.T) (said string) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	said = <-s.said
	assert.NoError(t, s.cmd.Wait(), said)
	assert.NotContains(t, said, canary)
	return said
}

// limit asks a service, and returns the status and the answer.
func limit(t *testing.T, transport *http.Transport, url, user string) (status int, answer string) {
	t.Helper()
	transport.DisableKeepAlives = true
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/ratelimit/check", strings.NewReader(`{"identifier": "`+user+`", "resource": "search"}`))
	require.NoError(t, err)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

func TestServe(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "memory", 1))
	s := p.serve("--dashboard", "127.0.0.1:0")
	check := func() int {
		status, _ := limit(t, &http.Transport{}, "http://"+s.address, "ann")
		return status
	}
	for i, want := range []int{200, 200, 200, 429} {
		assert.Equal(t, want, check(), i)
	}
	assert.Contains(t, s.first, "limits of limits.yaml in memory: curl -d '{\"identifier\": \"ann\", \"resource\": \"search\"}' http://"+s.address+"/v1/ratelimit/check")

	// What was used stays used, and SIGHUP has the file read at once.
	p.write("limits.yaml", strings.Replace(strings.Replace(served, "STORE", "memory", 1), "capacity: 3", "capacity: 5", 1))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, func() bool {
		_, out, _ := p.do("doctor", "--dashboard", "off", "--service", s.address)
		assert.Contains(t, out, "service "+s.address+": healthy, breaker closed")
		status, answer := limit(t, &http.Transport{}, "http://"+s.address, "bob")
		return status == 200 && strings.Contains(answer, `"tokens_capacity":5`)
	})
	// A file with a mistake changes nothing.
	p.write("limits.yaml", "rate_limits: 5\n")
	eventually(t, func() bool {
		status, r := p.report("--service", s.address)
		return status == 4 && len(r.Findings) == 1 && r.Findings[0].Code == doctor.ServiceConfig
	})
	status, _ := limit(t, &http.Transport{}, "http://"+s.address, "eve")
	assert.Equal(t, 200, status)

	// The page has the keys that refuse most.
	var page dashboard.Status
	eventually(t, func() bool {
		_, out, _ := p.do("ctl", "--addr", s.page, "status", "--json")
		return json.Unmarshal([]byte(out), &page) == nil && len(page.Keys) == 1
	})
	assert.Equal(t, dashboard.Key{Name: "user/ann/search", Refused: 1}, page.Keys[0])
	_, out, _ := p.do("ctl", "--addr", s.page, "status")
	assert.Equal(t, "KEY              REFUSED\nuser/ann/search  1\n", out)

	said := s.end(t)
	assert.Contains(t, said, "draining; requests in progress have 10s")
	assert.Contains(t, said, `"level":"ERROR","msg":"the configuration is invalid`)
	status, r := p.report("--service", s.address)
	assert.Equal(t, 4, status)
	assert.Equal(t, doctor.ServiceDown, r.Findings[0].Code)
}

// SIGTERM ends a server that has nothing to do at once and with status 0, and it says that it drains and no more. A
// connection that is kept alive does not hold it.
func TestServeEndsQuietly(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "sqlite:limits.db", 1))
	s := p.serve()
	kept := &http.Transport{}
	defer kept.CloseIdleConnections()
	client := &http.Client{Transport: kept}
	answer, err := client.Post("http://"+s.address+"/v1/ratelimit/check", "application/json", strings.NewReader(`{"identifier": "ann", "resource": "search"}`))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, errors.Join(err, answer.Body.Close()))
	require.Equal(t, 200, answer.StatusCode)
	assert.Equal(t, s.first+"headrace: draining; requests in progress have 10s to finish (again: stop at once)\n", s.end(t))
}

// Two servers on one store are one, and a new one goes on with what was used.
func TestServersShareAStore(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(p *place) string{
		"sqlite": func(*place) string { return "sqlite:limits.db" },
		"redis":  func(p *place) string { return "redis://" + startRedis(p) + "/0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			at := address(p)
			p.write("limits.yaml", strings.Replace(served, "STORE", at, 1))
			a, b := p.serve(), p.serve()
			var got []int
			for i := range 4 {
				status, answer := limit(t, &http.Transport{}, "http://"+[]string{a.address, b.address}[i%2], "ann")
				require.NotZero(t, status, answer)
				got = append(got, status)
			}
			assert.Equal(t, []int{200, 200, 200, 429}, got)
			a.end(t)
			b.end(t)
			c := p.serve()
			status, answer := limit(t, &http.Transport{}, "http://"+c.address, "ann")
			assert.Equal(t, 429, status, answer)

			status, out, _ := p.examine("limits.yaml")
			assertFine(t, status, out)
			assert.Regexp(t, `(?m)^  search \(each user, search\) +3 once +- +no +- +`+regexp.QuoteMeta(at)+`$`, out)
			assert.Regexp(t, `(?m)^  user/ann/search +\S.* +3 +0 `, out)
			c.end(t)
		})
	}
}

// A store that is down when the service starts is reported, and checks follow the policy.
func TestServeWithoutItsStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	const password = "hidden-42"
	p.write("limits.yaml", strings.Replace(served, "STORE", "'redis://:"+password+"@127.0.0.1:1/0'", 1))
	s := p.serve()
	assert.Contains(t, s.first, "in redis://:xxxxx@127.0.0.1:1/0: ")
	status, answer := limit(t, &http.Transport{}, "http://"+s.address, "ann")
	assert.Equal(t, 503, status, answer)
	eventually(t, func() bool {
		status, r := p.report("--service", s.address)
		return status == 4 && r.Service.Status == "unhealthy"
	})
	_, out, _ := p.examine("limits.yaml", "--service", s.address)
	assert.NotContains(t, out+s.end(t), password)
}

func TestServeOnASocketAndWithTLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "memory", 1))
	s := p.serve("--addr", "unix:s.sock")
	unix := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.path("s.sock"))
	}}
	status, answer := limit(t, unix, "http://localhost", "ann")
	assert.Equal(t, 200, status, answer)
	assert.Contains(t, s.first, "curl --unix-socket s.sock")
	status, r := p.report("--service", "unix:s.sock")
	assert.Zero(t, status, r.Findings)
	assert.Equal(t, "healthy", r.Service.Status)
	s.end(t)

	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.StartTLS()
	defer other.Close()
	pair := other.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	p.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	p.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	s = p.serve("--tls-cert", "cert.pem", "--tls-key", "key.pem")
	trusted := x509.NewCertPool()
	trusted.AddCert(other.Certificate())
	status, answer = limit(t, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12}}, "https://"+s.address, "ann")
	assert.Equal(t, 200, status, answer)
	assert.Contains(t, s.first, " https://"+s.address)
	s.end(t)
}

// What is wrong ends it before it listens.
func TestServeUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "memory", 1))
	p.write("bad.yaml", "rate_limits:\n  - {scope: user, capacity: -1}\n  - {scop: user, capacity: 1, refill_rate: 1}\n")
	p.write("etcd.yaml", "runtime: {store: 'sqlite:nowhere/limits.db'}\n")
	p.write("foreign.yaml", "runtime: {store: 'etcd://u:hunter2@h'}\n")
	for name, store := range map[string]string{"bare": "sqlite", "no-slashes": "redis:127.0.0.1:1/0", "case": "Memory"} {
		p.write(name+".yaml", "runtime: {store: '"+store+"'}\n")
	}
	for want, args := range map[string][]string{
		"--config: runtime.store: etcd:... is not a store":                                         {"--config", "foreign.yaml", "--check"},
		"--config: runtime.store: Memory is not a store: use memory":                               {"--config", "case.yaml"},
		"--config: runtime.store: the path is missing: write sqlite:PATH":                          {"--config", "bare.yaml", "--check"},
		"--config: runtime.store: the path is missing":                                             {"--config", "bare.yaml"},
		"--config: runtime.store: it is not valid: use one such as redis://":                       {"--config", "no-slashes.yaml", "--check"},
		"--config: runtime.store: it is not valid":                                                 {"--config", "no-slashes.yaml"},
		"--config: it is missing: name the YAML file":                                              {},
		"--config: open gone.yaml: no such file":                                                   {"--config", "gone.yaml"},
		"--config: bad.yaml:2:29: rate_limits[0].capacity: -1 is not between":                      {"--config", "bad.yaml"},
		"\nheadrace: --config: bad.yaml:3:6: rate_limits[1].scop: ":                                {"--config", "bad.yaml", "--check"},
		"--addr: 0.0.0.0 can be reached from other machines":                                       {"--config", "limits.yaml", "--addr", "0.0.0.0:0"},
		"(runtime.auth in the file, --tls-client-ca), or use --insecure":                           {"--config", "limits.yaml", "--addr", "0.0.0.0:0"},
		"--addr: \"8790\" is not a host and a port":                                                {"--config", "limits.yaml", "--addr", "8790"},
		"--tls-cert: TLS needs both":                                                               {"--config", "limits.yaml", "--tls-cert", "x.pem"},
		"--dashboard: 0.0.0.0 can be reached":                                                      {"--config", "limits.yaml", "--addr", "127.0.0.1:0", "--dashboard", "0.0.0.0:0"},
		": bind: address already in use: use another address, such as 127.0.0.1:0 for a free port": {"--config", "limits.yaml", "--addr", strings.TrimPrefix(p.provider.URL(), "http://")},
	} {
		status, out, errs := p.do(append([]string{"serve"}, args...)...)
		assert.Equal(t, 2, status, errs)
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
	status, out, _ := p.do("serve", "--config", "limits.yaml", "--check")
	assert.Zero(t, status)
	assert.Equal(t, "limits.yaml is valid: 2 limits in memory\n", out)
	status, _, errs := p.do("serve", "--config", "etcd.yaml")
	assert.NotZero(t, status)
	assert.Contains(t, errs, "nowhere/limits.db")
	assert.NoDirExists(t, p.path("nowhere"))
	_, out, _ = p.do("serve", "--help")
	assert.Contains(t, out, "--config=FILE    The limits, in YAML.")
}

// The files of envoyproxy/ratelimit are examined too.
func TestServeChecksTheFilesOfEnvoy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", "envoy: {files: [envoy.yaml]}\n")
	p.write("envoy.yaml", "domain: web\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 5}\n    detailed_metric: true\n")
	status, out, errs := p.do("serve", "--config", "limits.yaml", "--check")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "limits.yaml is valid: 1 limit in memory\n\nDifferences from envoyproxy/ratelimit:\ndiffers: a limit holds in every trailing interval.")
	assert.Contains(t, out, "envoy.yaml:5:")
	p.write("envoy.yaml", "domain: web\ndescriptors:\n  - key: user\n    rate_limit: {unit: fortnight, requests_per_unit: 5}\n")
	status, _, errs = p.do("serve", "--config", "limits.yaml", "--check")
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "envoy.yaml:4:")
	status, _ = p.report("limits.yaml")
	assert.Equal(t, 4, status)
}

// Servers on one Redis elect the one that leads their group. When it ends another one leads.
func TestServersHaveAGroup(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "redis://"+startRedis(p)+"/0", 1))
	start := func() *serving {
		address, err := freeport.Address(t.Context())
		require.NoError(t, err)
		return p.serve("--addr", address, "--url", "http://"+address)
	}
	a, b := start(), start()
	join := func(address string) *group.Group {
		g, err := group.Join(t.Context(), address)
		require.NoError(t, err)
		t.Cleanup(g.Close)
		eventually(t, func() bool { return g.Stats().Role == group.Following })
		return g
	}
	// A replica that does not lead names the one that does.
	one, other := join("http://"+a.address), join("http://"+b.address)
	assert.Equal(t, one.Stats().Leader, other.Stats().Leader)
	if one.Stats().Leader == b.cmd.Process.Pid {
		a, b = b, a
	}
	require.Equal(t, a.cmd.Process.Pid, one.Stats().Leader, "a leads")

	both := "group:http://" + b.address + ",http://" + a.address
	status, r := p.report("--share", both)
	assert.Zero(t, status, r.Findings)
	require.Len(t, r.Groups, 1)
	assert.Equal(t, doctor.Led, r.Groups[0].State)
	at := func(s *serving) string { return "http://" + s.address + group.Path }
	assert.Equal(t, []doctor.Replica{{URL: at(b), State: doctor.Follows, Leader: at(a)}, {URL: at(a), State: doctor.Leads}}, r.Groups[0].Replicas)

	p.requests(1)
	status, _, errs := p.run("--share", both)
	assert.Zero(t, status, errs)

	a.end(t)
	eventually(t, func() bool {
		_, r = p.report("--share", both)
		return r.Groups[0].State == doctor.Led
	})
	assert.Equal(t, []doctor.Replica{{URL: at(b), State: doctor.Leads}, {URL: at(a), State: doctor.Unreachable, Problem: r.Groups[0].Replicas[1].Problem}}, r.Groups[0].Replicas)
	require.Len(t, r.Findings, 1)
	assert.Equal(t, doctor.GroupUnreachable, r.Findings[0].Code)
	assert.Equal(t, doctor.Warning, r.Findings[0].Severity)
	eventually(t, func() bool {
		s := other.Stats()
		return s.Role == group.Following && s.Leader == b.cmd.Process.Pid
	})
	b.end(t)
	status, r = p.report("--share", both)
	assert.Equal(t, 4, status)
	assert.Equal(t, doctor.Unreachable, r.Groups[0].State)
}

// A server that shares with no other one leads a group of its own. Two such servers are a mistake, and the doctor says so.
func TestServersWithoutRedisHaveNoElection(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("limits.yaml", strings.Replace(served, "STORE", "memory", 1))
	a, b := p.serve(), p.serve()
	status, r := p.report("--share", "group:http://"+a.address)
	assert.Zero(t, status, r.Findings)
	status, r = p.report("--share", "group:http://"+a.address+",http://"+b.address)
	assert.Equal(t, 4, status)
	require.Len(t, r.Findings, 1)
	assert.Equal(t, doctor.GroupSplit, r.Findings[0].Code)

	// Limits that are known are shared by the server as a store.
	p.requests(3)
	_, _, errs := p.run("--share", "service:http://"+a.address, "--limit", "2/h", "--max-wait", "5s")
	assert.Contains(t, errs, "2 done")
	status, r = p.report("--share", "service:http://"+a.address)
	assert.Zero(t, status, r.Findings)
	require.Len(t, r.Stores, 1)
	assert.Equal(t, doctor.Answers, r.Stores[0].State)
	require.Len(t, r.Stores[0].Keys, 1)
	assert.Equal(t, int64(2), r.Stores[0].Keys[0].Windows[0].Used)
	a.end(t)
	b.end(t)
	status, r = p.report("--share", "service:http://"+a.address)
	assert.Equal(t, 4, status)
	assert.Equal(t, doctor.StoreUnreachable, r.Findings[0].Code)
	status, _, errs = p.do("serve", "--config", "limits.yaml", "--addr", "127.0.0.1:0", "--url", "ftp://h")
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "--url: its scheme is neither https nor http")
}
