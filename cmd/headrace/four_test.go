//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// fourFor is how long TestFourPrograms runs. From a minute on it judges what the programs got of the limit, which needs a machine with
// nothing else to do.
var fourFor = flag.Duration("for", 4*time.Second, "how long four programs call a provider")

const (
	programEnv = "BE_A_PROGRAM" // has the test binary be a client of the base URL that it holds
	fourRate   = 20             // requests a second that are allowed, and that no answer tells of
	fourBurst  = 10
	atOnce     = 8 // calls in flight of each program
)

// count is what a program got.
type count struct{ OK, TooMany, Errors int }

// program calls until its standard input ends, and at least once, without any retry, and prints a count.
func program(base string) {
	var (
		mu    sync.Mutex
		got   count
		wg    sync.WaitGroup
		ended = make(chan struct{})
	)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	call := func() {
		req, err := http.NewRequest(http.MethodPost, base+"/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			panic(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+canary)
		resp, err := http.DefaultClient.Do(req)
		status := 0
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			status = resp.StatusCode
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && status == http.StatusOK:
			got.OK++
		case status == http.StatusTooManyRequests:
			got.TooMany++
		default:
			got.Errors++
		}
	}
	for range atOnce {
		wg.Go(func() {
			for {
				call()
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(got)
	os.Exit(0)
}

// Four programs without any retry share a hidden limit through one proxy, and see no 429 and no error.
func TestFourPrograms(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{
		Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: fourRate, Burst: fourBurst}},
		Latency: providertest.LogNormal{Median: 200 * time.Millisecond, Sigma: 0.3}, Seed: 1,
		RetryAfter: providertest.RetryAfterSeconds,
	})
	proxy, address := p.proxy("--upstream", "openai="+p.provider.URL())
	var programs sync.WaitGroup
	var stdins []io.Closer
	counts := make([]count, 4)
	began := time.Now()
	for i := range counts {
		cmd := p.command()
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=http://%s/c/program%d/openai/v1", programEnv, address, i))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdins = append(stdins, stdin)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		programs.Go(func() {
			assert.NoError(t, cmd.Wait(), out.String())
			assert.NoError(t, json.Unmarshal(out.Bytes(), &counts[i]), out.String())
		})
	}
	<-time.NewTimer(*fourFor).C
	for _, stdin := range stdins {
		assert.NoError(t, stdin.Close())
	}
	ended := time.Now()
	programs.Wait()
	status, said := proxy()
	assert.Zero(t, status, said)

	ok := 0
	for i, c := range counts {
		assert.Zero(t, c.TooMany, i)
		assert.Zero(t, c.Errors, i)
		assert.Positive(t, c.OK, i)
		ok += c.OK
	}
	ledger := p.provider.Ledger()
	assert.Equal(t, ledger.Served, ok)
	share := func(until time.Time) float64 {
		return float64(ledger.Between(began, until).Admitted) / (fourBurst + fourRate*until.Sub(began).Seconds())
	}
	minute := began.Add(time.Minute)
	if minute.After(ended) {
		minute = ended
	}
	all, first := share(ended), share(minute)
	refused := float64(ledger.Refused) / float64(ledger.Arrivals)
	t.Logf("%v: %d answers, %.1f %% of the limit, %.1f %% in the first minute, %.2f %% of %d calls refused; by program: %v\n%s",
		*fourFor, ok, 100*all, 100*first, 100*refused, ledger.Arrivals, counts, said)
	if *fourFor >= time.Minute {
		assert.GreaterOrEqual(t, first, 0.90)
		assert.LessOrEqual(t, refused, 0.015)
	}
	if *fourFor >= 5*time.Minute {
		assert.GreaterOrEqual(t, all, 0.97)
	}
}

// proxy starts `headrace proxy` on a free port. end stops it, and returns its exit status and all that it said.
func (p *place) proxy(args ...string) (end func() (int, string), address string) {
	p.t.Helper()
	cmd, address, said := p.startProxy(args...)
	return func() (int, string) {
		_ = cmd.Process.Signal(os.Interrupt)
		text := <-said
		_ = cmd.Wait()
		assert.NotContains(p.t, text, canary)
		return cmd.ProcessState.ExitCode(), text
	}, address
}
