//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

var (
	killsFlag = flag.Int("kills", 5, "how often the process is killed")
	killLines = flag.Int("lines", 150, "how many requests it does")
	killRate  = flag.Int("rate", 0, "what the provider allows, in requests a second, without saying so; 0: everything")
	killSeed  = flag.Uint64("seed", 7, "what the kills are drawn from")
)

// A run that is killed again and again ends with one line for each request. The long version is
//
//	go test -run TestKilled -timeout 20m -kills 3 -lines 20000 -rate 50
func TestKilledAgainAndAgain(t *testing.T) {
	draw := rand.New(rand.NewPCG(*killSeed, 0))
	faults := rand.New(rand.NewPCG(*killSeed, 1))
	lock := make(chan struct{}, 1)
	c := providertest.Config{
		Latency: providertest.LogNormal{Median: 20 * time.Millisecond, Sigma: 0.4}, Seed: *killSeed,
		Fault: func(providertest.Request) *providertest.Fault {
			lock <- struct{}{}
			defer func() { <-lock }()
			if faults.Float64() < 0.02 {
				return &providertest.Fault{Status: 500}
			}
			return nil
		},
	}
	if *killRate > 0 {
		c.Latency = providertest.LogNormal{Median: 300 * time.Millisecond, Sigma: 0.4}
		c.Limits.Rate = providertest.Bucket{PerSecond: float64(*killRate), Burst: *killRate}
	}
	p := newPlace(t, c)
	p.requests(*killLines)
	args := []string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1", "--max-attempts", "6"}
	var alive [][2]time.Time
	for k := range *killsFlag {
		at := *killLines*(k+1)/(*killsFlag+1) + draw.IntN(max(1, *killLines/20))
		cmd := p.command(args...)
		require.NoError(t, cmd.Start())
		began := time.Now()
		require.Eventually(t, func() bool { return p.provider.Counts().Served >= at }, 15*time.Minute, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.ErrorContains(t, cmd.Wait(), "killed")
		alive = append(alive, [2]time.Time{began, time.Now()})
		t.Logf("kill %d at %d of %d answers", k+1, at, *killLines)
	}
	began := time.Now()
	cmd := p.command(args...)
	var status int
	var errs string
	if *killRate > 0 { // it may take long
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		defer stop()
	}
	status, _, errs = p.end(cmd, cmd.Run)
	alive = append(alive, [2]time.Time{began, time.Now()})
	require.Zero(t, status, errs)

	all := p.lines("r.results.jsonl")
	assert.Len(t, all, *killLines)
	assert.Equal(t, *killLines, unique(all))
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	ledger := p.provider.Ledger()
	t.Logf("%d arrivals, %d served, %d faults, %d refused (%.2f %%)", ledger.Arrivals, ledger.Served, ledger.Faulted, ledger.Refused,
		100*float64(ledger.Refused)/float64(ledger.Arrivals))
	t.Logf("scorecard: row=5 kills=%d items=%d lost=%d duplicates=%d", len(alive)-1, *killLines, *killLines-unique(all), len(all)-unique(all))
	goodput(t, ledger, alive)
}

// goodput is what was served against what was allowed, in the lives after the first minute of the first.
func goodput(t *testing.T, l providertest.Ledger, alive [][2]time.Time) {
	t.Helper()
	if *killRate == 0 {
		return
	}
	served, could := 0, 0.0
	first := alive[0][0].Add(time.Minute)
	for _, life := range alive {
		if life[0].Before(first) {
			life[0] = first
		}
		part := l.Between(life[0], life[1])
		served += part.Served
		could += life[1].Sub(life[0]).Seconds() * float64(*killRate)
		t.Logf("life of %s: %d served, %.1f %%, %d refused", life[1].Sub(life[0]).Round(time.Second), part.Served,
			100*float64(part.Served)/(life[1].Sub(life[0]).Seconds()*float64(*killRate)), part.Refused)
		for at := life[0]; at.Add(10 * time.Second).Before(life[1]); at = at.Add(10 * time.Second) {
			if part := l.Between(at, at.Add(10*time.Second)); part.Served < *killRate*9 {
				t.Logf("  10 seconds from %s on: %d served, %d refused", at.Sub(life[0]).Round(time.Second), part.Served, part.Refused)
			}
		}
	}
	t.Logf("goodput after the first minute: %.2f %%", 100*float64(served)/could)
	assert.GreaterOrEqual(t, float64(served)/could, 0.97)
	assert.LessOrEqual(t, float64(l.Refused)/float64(l.Arrivals), 0.015)
}

// Failures are never there twice, nor as a result too, wherever the process is killed that tries them again.
func TestKilledWhileTryingAgain(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	p := newPlace(t, providertest.Config{Latency: providertest.Fixed(20 * time.Millisecond), Fault: func(r providertest.Request) *providertest.Fault {
		select {
		case <-broken:
			return nil
		default:
		}
		if strings.Contains(r.Messages[0].Content, "0<") {
			return nil
		}
		return &providertest.Fault{Status: 400}
	}})
	p.requests(150)
	args := []string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1", "--concurrency", "8"}
	status, _, errs := p.do(args...)
	require.Equal(t, 1, status, errs)
	require.Len(t, p.lines("r.errors.jsonl"), 135)
	close(broken)
	for _, at := range []int{1, 40, 90} {
		cmd := p.command(append(args, "--retry-failed")...)
		require.NoError(t, cmd.Start())
		eventually(t, func() bool { return p.provider.Counts().Served >= 15+at })
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		status, _, errs = p.do(args...) // which tries nothing again that is known to have failed
		require.Equal(t, 1, status, errs)
		done, failed := p.lines("r.results.jsonl"), p.lines("r.errors.jsonl")
		assert.Len(t, append(done, failed...), 150)
		assert.Equal(t, 150, unique(append(done, failed...)))
	}
	status, _, errs = p.do(append(args, "--retry-failed")...)
	require.Zero(t, status, errs)
	assert.Equal(t, 150, unique(p.lines("r.results.jsonl")))
	assert.Len(t, p.lines("r.results.jsonl"), 150)
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

// Results in the order of the requests cannot be cut, and are all written again.
func TestKilledInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Latency: providertest.Uniform{Max: 40 * time.Millisecond}})
	p.requests(150)
	args := []string{"run", "r.jsonl", "--base-url", p.provider.URL() + "/v1", "--concurrency", "8", "--ordered"}
	for _, at := range []int{10, 70} {
		cmd := p.command(args...)
		require.NoError(t, cmd.Start())
		eventually(t, func() bool { return p.provider.Counts().Served >= at })
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	status, _, errs := p.do(args...)
	require.Zero(t, status, errs)
	all := p.lines("r.results.jsonl")
	require.Len(t, all, 150)
	for i, l := range all {
		assert.Equal(t, fmt.Sprint("r", i), l.CustomID)
	}
}

// What a killed process may leave: lines in the results that nothing is recorded of.
func TestKilledBeforeItsFirstRecord(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Latency: providertest.Fixed(time.Hour)})
	p.requests(3)
	cmd := p.command("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1")
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { return p.provider.Counts().InFlight == 3 })
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	p.write("r.results.jsonl", `{"id":"batch_req_half a li`)
	other := newPlace(t, providertest.Config{})
	status, _, errs := p.do("run", "r.jsonl", "--base-url", other.provider.URL()+"/v1")
	require.Zero(t, status, errs)
	assert.Equal(t, 3, unique(p.lines("r.results.jsonl")))
}
