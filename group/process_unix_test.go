//go:build unix

package group_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/providertest"
)

// How long a run of processes takes: short in make test, long in make verify.
var (
	runFor    = flag.Duration("for", 4*time.Second, "how long processes call a provider")
	warmUp    = flag.Duration("warm", 0, "the part of the run that does not count")
	killEvery = flag.Duration("kill", time.Second, "how often the leader is killed")
	perMinute = flag.Float64("rate", 3000, "the provider's limit, in requests a minute")
)

// memberEnv has the test binary be a member.
const memberEnv = "HEADRACE_GROUP_MEMBER"

// member is what a process does: it calls a provider until its input ends.
type member struct {
	Address string
	Slot    int // of the process, which its replacement inherits
	URL     string
	Workers int
	Solo    bool // outside of any group

	Replica *replica // it is one of a service instead
}

// wasMember has the process be one, if it was started as one.
func wasMember() bool {
	text := os.Getenv(memberEnv)
	if text != "" {
		beMember(text)
	}
	return text != ""
}

func beMember(text string) {
	var m member
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err)
	}
	if m.Replica != nil {
		m.Replica.serve()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := guard.Policy{Name: "provider", Dialect: dialect.Auto}
	var limit *guard.Guard
	var err error
	if m.Solo {
		limit, err = guard.New(p)
	} else {
		var g *group.Group
		if g, err = group.Join(ctx, m.Address); err != nil {
			panic(err)
		}
		defer g.Close()
		defer report(g.Stats)()
		limit, err = g.Guard(p)
	}
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: headrace.Transport(&http.Transport{MaxIdleConnsPerHost: m.Workers}, "", headrace.Within(limit))}
	var wg sync.WaitGroup
	for w := range m.Workers {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/v1/chat/completions", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", fmt.Sprintf("%d/%d/%d/%d", m.Slot, os.Getpid(), w, n))
				if resp, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				} else if ctx.Err() == nil {
					fmt.Println("failed:", err)
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
}

// process is a running member.
type process struct {
	does *member
	cmd  *exec.Cmd
	in   io.Closer

	mu    sync.Mutex
	lines []string
	done  chan struct{}
}

func start(t *testing.T, m member) *process {
	t.Helper()
	text, err := json.Marshal(m)
	require.NoError(t, err)
	p := &process{does: &m, cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), memberEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, s.Text())
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *process) role() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range slices.Backward(p.lines) {
		if !strings.HasPrefix(l, "failed") {
			return l
		}
	}
	return ""
}

// failures are the calls that failed.
func (p *process) failures() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if strings.HasPrefix(l, "failed") {
			lines = append(lines, l)
		}
	}
	return lines[:min(len(lines), 3)]
}

func (p *process) leads() bool { return strings.HasPrefix(p.role(), string(group.Leading)) }

func (p *process) end() {
	_ = p.in.Close()
	<-p.done
	_ = p.cmd.Wait()
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// leaderOf waits for one of the processes to lead.
func leaderOf(t *testing.T, all []*process) (i int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for i = range all {
			if all[i].leads() {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
	return i
}

// figures are what came of a run.
type figures struct {
	goodput float64 // of what the provider would have admitted
	refused float64 // of all calls
	jain    float64
}

func (f figures) String() string {
	return fmt.Sprintf("goodput %.1f %%, 429s %.2f %%, Jain %.3f", 100*f.goodput, 100*f.refused, f.jain)
}

// scene is a provider.
type scene struct {
	config providertest.Config
	most   func(d time.Duration) float64 // calls that it can serve
}

func rated(headers bool) scene {
	rate := *perMinute / 60
	burst := max(1, int(rate))
	return scene{providertest.Config{
		Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: rate, Burst: burst}},
		Headers: headers, RetryAfter: providertest.RetryAfterSeconds, Latency: providertest.Fixed(100 * time.Millisecond),
	}, func(d time.Duration) float64 { return rate * d.Seconds() }}
}

func capped(headers bool) scene {
	latency := 200 * time.Millisecond
	if *runFor >= time.Minute {
		latency = time.Second // the time between a call and the next does not matter then
	}
	return scene{providertest.Config{
		Limits: providertest.Limits{Concurrency: 20}, Headers: headers, RetryAfter: providertest.RetryAfterSeconds, Latency: providertest.Fixed(latency),
	}, func(d time.Duration) float64 { return 20 * d.Seconds() / latency.Seconds() }}
}

// play has n processes call a provider for *runFor. kill, if it is not 0, is how
// often the leader is killed and replaced.
func play(t *testing.T, n int, s scene, m member, kill time.Duration) figures {
	t.Helper()
	server, err := providertest.New(s.config)
	require.NoError(t, err)
	defer server.Close()
	m.URL = server.URL()
	var all []*process
	leaders := &all
	if m.Address == "" && !m.Solo {
		var replicas []*process
		m.Address, replicas = serviceOf(t, 2)
		leaders = &replicas
		defer func() {
			for _, r := range replicas {
				r.end()
			}
		}()
	}
	for m.Slot = range n {
		all = append(all, start(t, m))
	}
	if !m.Solo {
		leaderOf(t, *leaders)
	}
	begun, kills := time.Now(), 0
	for kill > 0 && time.Since(begun) < *runFor-kill {
		time.Sleep(kill)
		i := leaderOf(t, *leaders)
		one := (*leaders)[i]
		one.signal(syscall.SIGKILL)
		one.end()
		(*leaders)[i] = start(t, *one.does)
		kills++
	}
	time.Sleep(*runFor - time.Since(begun))
	until := time.Now()
	ledger := server.Ledger().Between(begun.Add(*warmUp), until)
	failures := 0
	for _, p := range all {
		p.end()
		failures += len(p.failures())
		assert.Empty(t, p.failures())
	}
	t.Logf("scorecard: row=20 kills=%d failures=%d", kills, failures)
	served := map[string]float64{}
	counts, refused := 0.0, 0.0
	for a := range ledger.All() {
		if a.Admitted {
			counts++
			slot, _, _ := strings.Cut(a.Key, "/")
			served[slot]++
		} else {
			refused++
		}
	}
	var sum, squares float64
	for _, n := range served {
		sum += n
		squares += n * n
	}
	return figures{
		goodput: counts / s.most(until.Sub(begun.Add(*warmUp))), refused: refused / max(1, counts+refused),
		jain: sum * sum / (float64(n) * squares),
	}
}

// scenes are providers, each with how often the leader is killed.
func scenes() map[string]scene {
	return map[string]scene{
		"a rate, with headers": rated(true), "a rate, without headers": rated(false),
		"a cap, with headers": capped(true), "a cap, without headers": capped(false),
	}
}

// Four processes are as fast as the limit allows, with few 429s, and share evenly,
// also if their leader is killed again and again. In a short run nothing but failed
// calls is counted.
func TestProcesses(t *testing.T) {
	if *runFor < time.Minute { // nothing is measured
		t.Parallel()
	}
	for name, s := range scenes() {
		for _, kill := range []time.Duration{0, *killEvery} {
			if *runFor < time.Minute && (kill == 0 || s.config.Headers) {
				continue
			}
			t.Run(fmt.Sprintf("%s, kill every %s", name, kill), func(t *testing.T) {
				t.Parallel()
				f := play(t, 4, s, member{Address: address(t), Workers: 16}, kill)
				t.Log(f)
				if *runFor < time.Minute {
					return
				}
				assert.GreaterOrEqual(t, f.jain, 0.95)
				assert.LessOrEqual(t, f.refused, 0.005)
				if kill == 0 {
					assert.GreaterOrEqual(t, f.goodput, 0.98)
				} else {
					assert.GreaterOrEqual(t, f.goodput, 0.97)
				}
			})
		}
	}
}

// So are processes on several hosts, with one of two replicas of a service as their leader.
func TestProcessesOfAService(t *testing.T) {
	if *runFor < time.Minute { // nothing is measured
		t.Parallel()
	}
	for name, s := range scenes() {
		if *runFor < time.Minute && name != "a rate, with headers" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := play(t, 4, s, member{Workers: 16}, *killEvery)
			t.Log(f)
			if *runFor < time.Minute {
				return
			}
			assert.GreaterOrEqual(t, f.jain, 0.95)
			assert.GreaterOrEqual(t, f.goodput, 0.97)
			if s.config.Headers {
				assert.GreaterOrEqual(t, f.goodput, 0.98)
			}
		})
	}
}

// One process outside of any group is what four are compared with.
func TestOneProcess(t *testing.T) {
	if *runFor < time.Minute {
		t.Skip("for long runs")
	}
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(play(t, 1, s, member{Solo: true, Workers: 64}, 0))
		})
	}
}

// If the leader is killed, another process leads. One that is stopped is replaced,
// and follows when it goes on.
func TestTheLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	server, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer server.Close()
	m := member{Address: address(t), URL: server.URL(), Workers: 1}
	var all []*process
	for range 3 {
		all = append(all, start(t, m))
	}
	i := leaderOf(t, all)
	all[i].signal(syscall.SIGKILL)
	all[i].end()
	all[i] = start(t, m)

	i = leaderOf(t, all)
	stopped := all[i]
	stopped.signal(syscall.SIGSTOP)
	leaderOf(t, slices.Delete(slices.Clone(all), i, i+1))
	stopped.signal(syscall.SIGCONT)
	soon(t, func() bool { return strings.HasPrefix(stopped.role(), string(group.Following)) })
	for _, p := range all {
		p.end()
		assert.Empty(t, p.failures())
	}
}
