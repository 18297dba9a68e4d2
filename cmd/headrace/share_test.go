//go:build unix

package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/redisserver"
	"github.com/headrace/headrace/providertest"
)

const sharedLines = 60 // of each of two runs

// Two runs on one key that share are one client to the provider: it has nothing to refuse. However late a request
// arrives after it was admitted, no more than the calls in flight and the burst arrive beyond the rate.
func TestTwoRunsShareALimit(t *testing.T) {
	t.Parallel()
	const rate, burst, inFlight = 40, 10, 10
	for name, c := range map[string]struct {
		address func(*place) string
		anew    int // what may go at once when one run is left, which leads the group from then on
	}{
		"sqlite":              {func(*place) string { return "sqlite:limits.db" }, 0},
		"file of a journal":   {func(*place) string { return "sqlite:r.results.jsonl.journal" }, 0},
		"redis":               {func(p *place) string { return "redis://" + startRedis(p) + "/0" }, 0},
		"group":               {func(*place) string { return "group:g.sock" }, burst},
		"group by its socket": {func(*place) string { return "unix:g.sock" }, burst},
		"group of a service":  {startService, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{
				Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: rate, Burst: burst + inFlight + c.anew}},
				Latency: providertest.Fixed(20 * time.Millisecond),
			})
			p.twice("--share", c.address(p), "--limit", fmt.Sprintf("bucket %d/s burst %d, %d concurrent", rate, burst, inFlight))
			assert.Equal(t, sharedLines, unique(p.lines("r.results.jsonl")))
			assert.Equal(t, sharedLines, unique(p.lines("s.results.jsonl")))
			ledger := p.provider.Ledger()
			assert.Equal(t, 2*sharedLines, ledger.Served)
			assert.Zero(t, ledger.Refused)
			assert.Equal(t, 2*sharedLines, ledger.Arrivals)
		})
	}
}

// startService starts the group of a service in this process.
func startService(p *place) string {
	h, err := group.NewHandler(group.HandlerConfig{})
	require.NoError(p.t, err)
	p.t.Cleanup(h.Close)
	server := httptest.NewServer(h)
	p.t.Cleanup(server.Close)
	return "group:" + server.URL
}

// A run that cannot reach its group says so, once.
func TestARunWithoutItsGroup(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.run("--share", "group:http://127.0.0.1:1")
	require.Zero(t, status, errs)
	assert.Equal(t, 1, strings.Count(errs, "\n--share: group:http://127.0.0.1:1: "), errs)
	assert.Contains(t, errs, ": for now, limits are not shared with other runs, and this run uses only its part of them\n")
	require.NoError(t, os.Mkdir(p.path("g.sock.lock"), 0o700))
	status, _, errs = p.run("--share", "group:g.sock", "--fresh")
	require.Zero(t, status, errs)
	assert.Equal(t, 1, strings.Count(errs, "\n--share: group:g.sock: "), errs)
	assert.Contains(t, errs, "is a directory: for now, limits are not shared")
}

// Hidden limits need a group, and no other flag. The log reports how many runs share it.
func TestTwoRunsShareWhatIsFoundOut(t *testing.T) {
	t.Parallel()
	joined := make(chan struct{})
	join := sync.OnceFunc(func() { close(joined) })
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		<-joined
		return nil
	}})
	t.Cleanup(join) // before the provider closes
	go func() {
		defer join()
		assert.Eventually(t, func() bool {
			r, _ := os.ReadFile(p.path("r.log"))
			s, _ := os.ReadFile(p.path("s.log"))
			return strings.Contains(string(r)+string(s), "2 members")
		}, patience, 5*time.Millisecond)
	}()
	p.twice("--share", "group:g.sock", "--log-level", "info")
	assert.Equal(t, 2*sharedLines, p.provider.Ledger().Served)
	assert.FileExists(t, p.path("g.sock.lock"))
}

// twice is `headrace run` for two files at the same time, to their ends. What they log is in r.log and s.log.
func (p *place) twice(args ...string) {
	p.t.Helper()
	p.requests(sharedLines)
	p.write("s.jsonl", strings.ReplaceAll(p.read("r.jsonl"), `"custom_id":"r`, `"custom_id":"s`))
	var wg sync.WaitGroup
	for _, name := range []string{"r", "s"} {
		log, err := os.Create(p.path(name + ".log"))
		require.NoError(p.t, err)
		cmd := p.command(append([]string{"run", name + ".jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1"}, args...)...)
		cmd.Stderr = log
		require.NoError(p.t, cmd.Start())
		wg.Go(func() {
			_ = cmd.Wait()
			assert.NoError(p.t, log.Close())
			assert.Zero(p.t, cmd.ProcessState.ExitCode(), p.read(name+".log"))
		})
	}
	wg.Wait()
}

// startRedis returns the address of a server until the test ends.
func startRedis(p *place) string {
	p.t.Helper()
	return redisserver.Start(p.t).Addr
}

// A store that is restarted does not end a run, which waits for it.
func TestTheStoreIsRestarted(t *testing.T) {
	t.Parallel()
	p, arrived, answer := newSlowPlace(t)
	p.requests(3)
	server := redisserver.Start(t)
	log, err := os.Create(p.path("r.log"))
	require.NoError(t, err)
	cmd := p.command("run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL()+"/v1",
		"--share", server.URL()+"/0", "--limit", "bucket 1/s burst 1, 1 concurrent")
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	<-arrived
	server.Kill()
	answer()
	eventually(t, func() bool { return strings.Contains(p.read("r.log"), "All requests wait until it admits calls again") })
	server.Restart(t)
	_ = cmd.Wait()
	require.NoError(t, log.Close())
	assert.Zero(t, cmd.ProcessState.ExitCode(), p.read("r.log"))
	assert.Equal(t, 3, unique(p.lines("r.results.jsonl")))
	assert.Equal(t, 1, strings.Count(p.read("r.log"), "--share: redis://"), p.read("r.log"))
}

// The limits of one key are not those of another.
func TestOtherKeysDoNotShare(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	for _, tc := range []struct {
		key    string
		status int
	}{{"A", 0}, {"B", 0}, {"A", 75}} {
		p.env = []string{"A=one", "B=two"}
		status, _, errs := p.do("run", "r.jsonl", "--fresh", "--api-key-env", tc.key, "--base-url", p.provider.URL()+"/v1",
			"--share", "sqlite:limits.db", "--limit", "1/h", "--max-wait", "5s")
		assert.Equal(t, tc.status, status, errs)
	}
	assert.Equal(t, 2, p.provider.Counts().Arrivals)
}

// A store that does not answer stops the run; nothing is recorded as failed.
func TestTheStoreIsDown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	const none = "127.0.0.1:1" // a reserved port
	status, _, errs := p.run("--share", "redis://:"+canary+"@"+none, "--limit", "9/s")
	assert.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "headrace: --share: redis://:xxxxx@"+none+" cannot admit calls: ")
	assert.NotContains(t, errs, "connection pool", "the error is reported once")
	assert.Contains(t, errs, "3 requests: 0 done, 0 failed, 3 left")
	assert.Contains(t, errs, "--share redis://:xxxxx@")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	assert.Zero(t, p.provider.Counts().Arrivals)
	status, _, errs = p.run()
	require.Zero(t, status, errs)
}

// If the limits of the run are damaged, it stops and names them.
func TestTheSharedLimitsAreDamaged(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	share := []string{"--share", "sqlite:limits.db", "--limit", "bucket 1/s burst 9"}
	status, _, errs := p.run(share...)
	require.Zero(t, status, errs)
	db, err := sql.Open("sqlite", p.path("limits.db"))
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE quotas SET state = x'00' WHERE length(key) > 0`)
	require.NoError(t, errors.Join(err, db.Close()))
	p.requests(3)
	status, _, errs = p.run(share...)
	assert.Equal(t, 1, status, errs)
	assert.Contains(t, errs, `headrace: --share: sqlite:limits.db cannot admit calls: the limits of "`)
	assert.Contains(t, errs, `: the checksum is wrong; once these limits are removed, resume the run`)
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

// A file of limits that is deleted stops the run as well: what is left waits for the next one.
func TestTheFileOfTheLimitsIsDeleted(t *testing.T) {
	t.Parallel()
	p, arrived, answer := newSlowPlace(t)
	p.requests(3)
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		<-arrived
		assert.NoError(t, os.Remove(p.path("limits.db")))
		answer()
	}()
	status, _, errs := p.run("--share", "sqlite:limits.db", "--limit", "bucket 1/s burst 1, 1 concurrent")
	require.NotZero(t, p.provider.Counts().Arrivals, errs)
	<-deleted
	assert.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "headrace: --share: sqlite:limits.db cannot admit calls: ")
	assert.Contains(t, errs, "the file was deleted, moved or replaced")
	assert.Contains(t, errs, "0 failed")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Equal(t, 3, unique(p.lines("r.results.jsonl")))
}

func TestShareSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	for address, want := range map[string]string{
		"memory":                           "memory belongs to one process: use sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT, group:PATH or group:https://HOST:PORT, or leave --share out",
		"limits.db":                        `"limits.db" is not an address: use sqlite:PATH`,
		"postgres://u:" + canary + "@h/0":  `"postgres" is not sqlite, redis, service or group`,
		"sqlite:limits.db":                 "sqlite shares known limits, but none are set: add --limit, --rpm, --tpm, --concurrency or --preset, or use group:PATH",
		"redis://h/0":                      "redis shares known limits",
		"group:https://u:" + canary + "@h": "group:https://u:xxxxx@h: replica 1: it has a user or a password, which would be in every log of addresses: set HEADRACE_GROUP_TOKEN",
		"group:":                           `"group:" ends after the colon: use sqlite:PATH`,
		"sqlite:":                          `"sqlite:" ends after the colon: use sqlite:PATH`,
		"group:r.results.jsonl.journal":    "r.results.jsonl.journal is also used for --journal",
		"group:no/g.sock":                  "there is no folder no: create it, or name another file",
		"group:r.jsonl":                    "r.jsonl is also used for REQUESTS",
	} {
		status, _, errs := p.run("--share", address)
		assert.Equal(t, 2, status, errs)
		assert.Contains(t, errs, "headrace: --share: "+want)
	}
	status, _, errs := p.run("--share", "redis://h:x", "--rpm", "5")
	assert.Equal(t, 2, status, errs)
	assert.Contains(t, errs, "headrace: --share: redis://...: it is not valid")
	p.write("text.db", strings.Repeat("This is no database. ", 100))
	status, _, errs = p.run("--share", "sqlite:"+filepath.Base("text.db"), "--rpm", "5")
	assert.Equal(t, 2, status, errs)
	assert.Contains(t, errs, "headrace: --share: sqlite:text.db: ")
	assert.Zero(t, p.provider.Counts().Arrivals)
}
