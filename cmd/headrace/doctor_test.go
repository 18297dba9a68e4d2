//go:build unix

package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/doctor"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// examine runs `headrace doctor` where no page of another program is found.
func (p *place) examine(args ...string) (status int, out, errs string) {
	p.t.Helper()
	return p.do(append([]string{"doctor", "--dashboard", "off", "--bound", patience.String()}, args...)...)
}

// report is `headrace doctor --json`, as if the store were not slow: on a busy machine it is.
func (p *place) report(args ...string) (status int, r doctor.Report) {
	p.t.Helper()
	status, out, errs := p.examine(append(args, "--json")...)
	require.NoError(p.t, json.Unmarshal([]byte(out), &r), out+errs)
	assert.Equal(p.t, status == 0, r.Healthy)
	found := len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f doctor.Finding) bool { return f.Code == doctor.StoreSlow })
	wrong := func(f doctor.Finding) bool { return f.Severity != doctor.Note }
	if len(r.Findings) < found && status == command.Findings && !slices.ContainsFunc(r.Findings, wrong) {
		status = 0
	}
	return status, r
}

// assertFine asserts that `headrace doctor` has found nothing wrong with a store, except that it may be slow.
func assertFine(t *testing.T, status int, out string) {
	t.Helper()
	if strings.Contains(out, ": a decision takes ") {
		assert.Contains(t, out, "\n0 problems, 1 warning\n")
		return
	}
	assert.Zero(t, status, out)
	assert.Contains(t, out, "\nnothing is wrong\n")
}

func codes(r *doctor.Report) (all []doctor.Code) {
	for _, f := range r.Findings {
		all = append(all, f.Code)
	}
	return all
}

const doctored = `store: STORE
default: {limits: 1/s}
guards:
  Openai: {preset: openai/tier1, share: 0.5}
  ols: {limits: "4/s, 8 concurrent", law: fixed}
  crawl: {limits: 20/s}
  crawl/*: {limits: bucket 2/s burst 5}
  one: {limits: 9/s, store: memory}
`

// take takes n calls of one request each from a store, and holds the slot of the last one.
func take(t *testing.T, s quota.Store, key string, n int, limits string) {
	t.Helper()
	l, err := throttle.ParseLimits(limits)
	require.NoError(t, err)
	for range n {
		g, err := s.Take(t.Context(), quota.Request{Demands: []quota.Demand{{Key: key, Limits: l}}, Lease: time.Hour})
		require.NoError(t, err)
		require.Zero(t, g.Wait)
	}
}

// The doctor shows a configuration as programs resolve it, and what is used in its store, whichever that is.
func TestDoctorExaminesAStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(p *place) (address string, s quota.Store){
		"sqlite": func(p *place) (string, quota.Store) {
			s, err := sqlitestore.OpenQuota(p.path("limits.db"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return "sqlite:limits.db", s
		},
		"redis": func(p *place) (string, quota.Store) {
			address := "redis://" + startRedis(p) + "/0"
			s, err := redisstore.Open(address, redisstore.WithTimeout(patience))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return address, s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			address, s := open(p)
			p.write("c.yaml", strings.Replace(doctored, "STORE", address, 1))
			take(t, s, "ols", 3, "4/s, 8 concurrent")
			take(t, s, "crawl/example.org", 5, "5/h")
			require.NoError(t, s.Cooldown(t.Context(), "crawl", time.Hour))

			status, r := p.report("c.yaml")
			assert.Zero(t, status, r.Findings)
			require.NotNil(t, r.Configuration)
			var rows []doctor.Guard
			for _, g := range r.Configuration.Guards {
				if g.Store != "memory" {
					assert.Equal(t, address, g.Store)
					g.Store = ""
				}
				rows = append(rows, g)
			}
			assert.Equal(t, []doctor.Guard{
				{Name: "openai", Limits: "250/min, 250000 tokens/min", Preset: "openai/tier1", PresetDate: r.Configuration.Guards[0].PresetDate, Share: 0.5, Law: "measured"},
				{Name: "crawl", Limits: "20/s", Law: "measured"},
				{Name: "crawl/*", Template: true, Limits: "bucket 2/s burst 5", Law: "of crawl", Within: []string{"crawl"}},
				{Name: "ols", Limits: "4/s, 8 concurrent", Law: "fixed"},
				{Name: "one", Limits: "9/s", Law: "measured", Store: "memory"},
				{Name: "default", Template: true, Limits: "1/s", Law: "measured"},
			}, rows)
			require.Len(t, r.Stores, 1)
			at := r.Stores[0]
			assert.Equal(t, []any{doctor.Answers, 4, false}, []any{at.State, at.Found, at.Partial})
			assert.Positive(t, at.Median)
			keys := map[string]doctor.Key{}
			var names []string
			for _, k := range at.Keys {
				keys[k.Name] = k
				names = append(names, k.Name)
			}
			assert.Equal(t, []string{"crawl", "crawl/example.org", "ols", "openai"}, names, "those that are held back come first")
			assert.InDelta(t, 3600, keys["crawl"].Paused, 60)
			full := keys["crawl/example.org"].Windows[0]
			assert.Equal(t, []any{"5/h", int64(5), int64(0)}, []any{full.Window, full.Used, full.Left})
			assert.InDelta(t, 3600, full.FreesIn, 60)
			assert.Equal(t, []int{3, 8}, []int{keys["ols"].InFlight, keys["ols"].Concurrency})
			assert.Equal(t, "250/min", keys["openai"].Windows[0].Window, "as configured: the store has nothing of it")
			if name == "redis" {
				assert.Contains(t, at.Server, "Redis ")
				assert.Less(t, at.Clock, patience.Seconds()) // the half of what a busy machine takes to ask for the time
			} else {
				assert.Equal(t, p.path("limits.db"), at.Path)
			}

			status, out, _ := p.examine("c.yaml", "--keys", "1")
			assertFine(t, status, out)
			assert.Regexp(t, `store `+address+`: answers in [\d.e-]+ ms`, out)
			assert.Regexp(t, `(?m)^  crawl +20/s +0 +20 +- +0 +(1h0m0s|59m\d+s)$`, out)
			assert.Contains(t, out, "and 3 keys (--keys N lists more")

			before, err := s.(quota.Inspector).Look(t.Context(), "ols")
			require.NoError(t, err)
			assert.Equal(t, 3, before.InFlight, "nothing was changed")
		})
	}
}

// What is wrong with a configuration is found, each with its place. The command itself is fine.
func TestDoctorOfABrokenConfiguration(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("c.yaml", "guards:\n  ols: {limts: 1/s}\n  b: {law: mesured}\n")
	status, r := p.report("c.yaml")
	assert.Equal(t, 4, status)
	assert.Equal(t, []doctor.Code{doctor.ConfigInvalid, doctor.ConfigInvalid}, codes(&r))
	assert.Equal(t, "c.yaml:2:9", r.Findings[0].Where)
	assert.Equal(t, "guards.ols.limts: the key is unknown: did you mean limits?", r.Findings[0].Problem)
	assert.Contains(t, r.Findings[1].Problem, "did you mean measured?")

	status, r = p.report("openai: 500/mim; store: redis://u:" + canary + "@127.0.0.1:1/0")
	assert.Equal(t, 4, status)
	assert.Equal(t, "CONFIG:1:13", r.Findings[0].Where)
	for want, args := range map[string][]string{
		"CONFIG: gone.yaml cannot be read: no such file or directory": {"gone.yaml"},
		"CONFIG: " + os.DevNull + " is a pipe or a device":            {os.DevNull},
		"--share: \"etcd://h\" is not an address":                     {"--share", "etcd://h"},
		"--bound: 0s is not above 0":                                  {"--bound", "0s"},
		"--keys: -1 is negative":                                      {"--keys=-1"},
	} {
		status, out, errs := p.examine(args...)
		assert.Equal(t, 2, status)
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
}

// What costs something is a warning.
func TestDoctorWarns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.env = []string{"AWS_MAX_ATTEMPTS=5", "CLAUDE_CODE_MAX_RETRIES=0", "OPENAI_BASE_URL=http://127.0.0.1:1/t/" + canary + "/openai/v1", "CO_API_URL=https://api.cohere.com"}
	status, r := p.report("a: preset openai/tier1; b: preset openai/tier1; c: 1/s; store: mine:x", "--preset", "openai/tier9")
	assert.Equal(t, 4, status)
	for _, code := range []doctor.Code{doctor.RetriesTwice, doctor.ProxyDown, doctor.ConfigInvalid} {
		assert.Contains(t, codes(&r), code)
	}
	assert.Equal(t, []doctor.Variable{{Name: "OPENAI_BASE_URL", To: "http://127.0.0.1:1"}, {Name: "CO_API_URL", To: "https://api.cohere.com"}}, r.Environment)

	p.env = nil
	p.write("c.yaml", "guards:\n  a: {preset: openai/tier1}\n  b: {preset: openai/tier1}\n  c: {limits: 1/s, store: 'mine:x'}\n")
	_, r = p.report("c.yaml")
	assert.Contains(t, codes(&r), doctor.PoolShared)
	assert.Contains(t, codes(&r), doctor.StoreUnknown)
	p.write("c.yaml", "guards:\n  a: {preset: openai/tier1, share: 0.5}\n  b: {preset: openai/tier1, share: 0.5}\n")
	status, r = p.report("c.yaml")
	assert.Zero(t, status)
	assert.Equal(t, []doctor.Code{doctor.LocalOnly}, codes(&r))
}

// Another program states other limits for a key.
func TestDoctorFindsOtherLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	s, err := sqlitestore.OpenQuota(p.path("limits.db"))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	take(t, s, "openai", 1, "100/min")
	status, r := p.report("openai: 500/min; store: sqlite:limits.db")
	assert.Equal(t, 4, status)
	require.Equal(t, []doctor.Code{doctor.LimitsDiffer}, codes(&r))
	assert.Equal(t, "this configuration has 500/min, but another program has set 100/min since", r.Findings[0].Problem)
	status, _ = p.report("openai: 100/min; store: sqlite:limits.db")
	assert.Zero(t, status)
}

// A store that is down, or was stopped, is reported within the bound, and no file is made where there is none.
func TestDoctorOfStoresThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	status, r := p.report("--share", "redis://:"+canary+"@127.0.0.1:1/0")
	assert.Equal(t, 4, status)
	assert.Equal(t, doctor.Finding{
		Severity: doctor.Problem, Code: doctor.StoreUnreachable, Where: "redis://:xxxxx@127.0.0.1:1/0",
		Problem: "it cannot admit calls: dial tcp 127.0.0.1:1: connect: connection refused", Remedy: "start Redis there, or correct the host and the port",
	}, r.Findings[0])

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // it accepts, and never answers
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	status, r = p.report("--share", "redis://"+l.Addr().String()+"/0", "--bound", "1200ms") // more than stores have by default
	assert.Equal(t, 4, status)
	assert.Equal(t, doctor.Unreachable, r.Stores[0].State)
	assert.Contains(t, r.Findings[0].Problem, "no answer within 1.2s")

	status, r = p.report("--share", "sqlite:gone.db")
	assert.Zero(t, status)
	assert.Equal(t, []doctor.Code{doctor.StoreAbsent}, codes(&r))
	assert.NoFileExists(t, p.path("gone.db"))
	status, r = p.report("--share", "sqlite:nowhere/gone.db")
	assert.Equal(t, 4, status)
	assert.Contains(t, r.Findings[0].Problem, "there is no folder "+p.path("nowhere"))

	p.write("text.db", strings.Repeat("This is no database. ", 100))
	p.write("text.db-turn", "")
	status, r = p.report("--share", "sqlite:text.db")
	assert.Equal(t, 4, status)
	assert.Contains(t, r.Findings[0].Problem, "it cannot admit calls: ")
}

// A Redis that forgets limits, or that cannot be written, and one that asks for a password.
func TestDoctorOfARedisThatIsSetUpBadly(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	address := startRedis(p)
	c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	for _, set := range [][2]string{{"maxmemory", "100mb"}, {"maxmemory-policy", "allkeys-lru"}} {
		require.NoError(t, c.ConfigSet(t.Context(), set[0], set[1]).Err())
	}
	status, r := p.report("--share", "redis://"+address+"/0")
	assert.Equal(t, 4, status)
	assert.Equal(t, []doctor.Code{doctor.StoreEvicts, doctor.StoreVolatile}, codes(&r))
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "few", "on", ">"+canary, "~headrace:*", "&headrace:*", "+@all", "-info").Err())
	status, r = p.report("--share", "redis://few:"+canary+"@"+address+"/0")
	assert.Zero(t, status)
	assert.Equal(t, doctor.Answers, r.Stores[0].State)
	assert.Contains(t, strings.Join(r.Unseen, "\n"), "the user may not execute INFO")
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "few", "-@all", "+@connection").Err())
	status, r = p.report("--share", "redis://few:"+canary+"@"+address+"/0")
	assert.Equal(t, 4, status)
	assert.Contains(t, r.Findings[0].Remedy, "ACL SETUSER name ~headrace:*")
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "few", "+@read", "+@write", "+@scripting", "+@pubsub", "+time").Err())
	status, r = p.report("--share", "redis://few:"+canary+"@"+address+"/0")
	assert.Zero(t, status, r.Findings)
	assert.Contains(t, strings.Join(r.Unseen, "\n"), "the user may not execute INFO")
	require.NoError(t, c.ConfigSet(t.Context(), "requirepass", canary).Err())
	status, r = p.report("--share", "redis://"+address+"/0")
	assert.Equal(t, 4, status)
	assert.Contains(t, r.Findings[0].Remedy, "add the user and the password to the address")
}

// The doctor does not join a group, and finds a leader that is stopped.
func TestDoctorOfAGroup(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	status, r := p.report("--share", "group:g.sock")
	assert.Zero(t, status)
	assert.Equal(t, []doctor.Code{doctor.GroupAbsent}, codes(&r))
	assert.NoFileExists(t, p.path("g.sock"))
	p.write("no.sock", "")
	status, r = p.report("openai: unlimited; store: group:no.sock")
	assert.Equal(t, 4, status)
	assert.Contains(t, r.Findings[0].Problem, "is not a socket")

	cmd, _, said := p.startProxy("--upstream", "openai="+p.provider.URL(), "--share", "group:g.sock")
	status, r = p.report("rate-limits-are-not-a-file: unlimited; store: group:g.sock")
	assert.Zero(t, status, r.Findings)
	require.Len(t, r.Groups, 1)
	assert.Equal(t, doctor.Led, r.Groups[0].State)
	if r.Groups[0].Leader != 0 { // on Linux
		assert.Equal(t, cmd.Process.Pid, r.Groups[0].Leader)
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		eventually(t, func() bool {
			status, r = p.report("--share", "unix:g.sock", "--bound", "5s")
			return status == 4 && slices.Contains(codes(&r), doctor.GroupStopped)
		})
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	<-said
	_ = cmd.Wait()
}

// A program that runs is asked by its page.
func TestDoctorOfAProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	var guards []*guard.Guard
	for _, name := range []string{"api#key1", "closed", "paused", "idle"} {
		g, err := guard.New(guard.Policy{Name: name, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(600, time.Minute)}}})
		require.NoError(t, err)
		guards = append(guards, g)
	}
	require.NoError(t, guards[0].Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	guards[1].Close(assert.AnError)
	guards[2].Pause(time.Now().Add(time.Hour))
	d, err := dashboard.New(dashboard.Config{Guards: guards, Title: "jobs"})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	at, err := d.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	for _, kind := range []event.Kind{"transport.sdk_retries", event.BreakerOpened, event.LimiterStalePreset} {
		d.Observe(event.Event{Kind: kind, Source: "api#key1", Time: time.Now(), Wait: time.Minute})
	}
	d.Observe(event.Event{Kind: event.BreakerOpened, Source: "back", Time: time.Now(), Wait: time.Minute})
	d.Observe(event.Event{Kind: event.BreakerClosed, Source: "back", Time: time.Now()})
	d.Status() // it looks now; a request may be answered by what was seen a moment before
	status, out, errs := p.do("doctor", "--dashboard", at.String(), "--json")
	assert.Equal(t, 4, status, errs)
	var r doctor.Report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.ElementsMatch(t, []doctor.Code{doctor.LimiterClosed, doctor.BreakerOpen, doctor.LimiterPaused, doctor.RetriesTwice, doctor.PresetStale}, codes(&r))
	assert.Equal(t, int64(1), r.Program.Limiters[0].Windows[0].Used)
	_, out, _ = p.do("doctor", "rate-limits", "--dashboard", at.String())
	assert.Contains(t, out, "program jobs at "+at.String())
	assert.Regexp(t, `(?m)^  api#key1 +600/min +1 +599 +`, out)
	assert.Contains(t, out, "and 1 limiter without calls")

	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hangs.Close)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for address, want := range map[string]string{
		"127.0.0.1:1":                  "nothing listens at 127.0.0.1:1: start headrace proxy or headrace run --dashboard 127.0.0.1:1, or set --dashboard to",
		other.Listener.Addr().String(): "is not a headrace dashboard: set --dashboard to the address of one",
		hangs.Listener.Addr().String(): "no answer within 200ms",
	} {
		bound := "200ms"
		if address != hangs.Listener.Addr().String() {
			bound = "1m"
		}
		status, out, _ := p.do("doctor", "--dashboard", address, "--bound", bound)
		assert.Equal(t, 4, status)
		assert.Contains(t, out, want)
	}
}

// Flags are where the other commands have theirs.
func TestDoctorReadsTheSameFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("flags.yaml", "share: sqlite:from-file.db\nrpm: 5\n")
	_, r := p.report("--config", "flags.yaml")
	require.Len(t, r.Stores, 1)
	assert.Equal(t, "sqlite:from-file.db", r.Stores[0].Address)
	p.env = []string{"HEADRACE_SHARE=sqlite:from-variable.db"}
	_, r = p.report("--config", "flags.yaml")
	assert.Equal(t, "sqlite:from-variable.db", r.Stores[0].Address)
	p.env = nil
	p.write("limits.json", `{"guards": {"a": {"limits": "1/s"}}}`)
	_, r = p.report("--config", "limits.json")
	require.NotNil(t, r.Configuration, "as headrace serve has its configuration there, a registry's may be there too")
	assert.Equal(t, "a", r.Configuration.Guards[0].Name)
	status, out, _ := p.examine()
	assert.Zero(t, status)
	assert.Contains(t, out, "nothing is wrong with the environment")
}

// What is wrong with an argument is reported under its own flag, and what was examined is not missing from the result.
func TestDoctorNamesItsOwnFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, at := range []string{"http://127.0.0.1:1/", "127.0.0.1:1 2", "8788"} {
		status, out, _ := p.examine("--dashboard", at)
		assert.Equal(t, 4, status)
		assert.Contains(t, out, `--dashboard: "`+at+`" is not a host and port, such as 127.0.0.1:8788`)
		assert.NotContains(t, out, "--addr")
	}
	status, out, _ := p.examine("--preset", "openai/tier1")
	assert.Zero(t, status)
	assert.Regexp(t, `(?m)^preset openai/tier1, of \d{4}-\d\d-\d\d$`, out)
	assert.Contains(t, out, "\nnothing is wrong\n")
}

// Each finding has its row in the guide.
func TestEachFindingIsInTheGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "doctor.md"))
	require.NoError(t, err)
	for _, code := range doctor.Codes() {
		assert.Contains(t, string(page), "\n| `"+string(code)+"` |")
	}
}
