package redisstore_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

const childEnv = "HEADRACE_REDIS_CHILD" // the URL of the server

var (
	running = flag.Duration("running", 1500*time.Millisecond, "how long the processes of TestManyProcessesShareLimits run")
	anchor  = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// The limits that the processes share. No call gives anything back, so that the log is the whole history.
const inFlight = 60

func shared(cost int64) quota.Request {
	return quota.Request{Lease: 400 * time.Millisecond, Demands: []quota.Demand{
		{Key: "service", Cost: throttle.Cost{Tokens: cost}, Limits: throttle.Limits{Concurrency: inFlight, Windows: []throttle.Window{
			throttle.Sliding(400, 200*time.Millisecond), throttle.Bucket(5000, 90).Of(throttle.Tokens),
		}}},
		{Key: "model", Limits: throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(100, 60*time.Millisecond), throttle.Fixed(180, 100*time.Millisecond, anchor),
		}}},
	}}
}

func rules() []oracle.Rule {
	requests, tokens := int(throttle.Requests), int(throttle.Tokens)
	return []oracle.Rule{
		oracle.Sliding(requests, 400, 200*time.Millisecond), oracle.Bucket(tokens, 5000, time.Second, 90),
		oracle.Sliding(requests, 100, 60*time.Millisecond), oracle.Fixed(requests, 180, 100*time.Millisecond, anchor, time.Unix(0, 0)),
	}
}

// beChild takes as much as it gets, in several goroutines, and prints of each call when it was admitted by the
// store's clock, when it held a slot by its own, and its tokens. What fails is tried again.
func beChild(url string) (status int) {
	s, err := redisstore.Open(url, redisstore.WithTimeout(150*time.Millisecond))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *running)
	defer cancel()
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	var wg sync.WaitGroup
	for i := range 16 {
		r := shared(int64(1 + i%3))
		wg.Go(func() {
			for ctx.Err() == nil {
				asked := time.Now().UnixMicro()
				g, err := s.Take(ctx, r)
				from := time.Now()
				switch {
				case err != nil:
					continue
				case g.Wait > 0:
					pause(ctx, g.Wait)
					continue
				}
				if at := g.Ticket.At / 1000; at < asked || at > from.UnixMicro() {
					fmt.Fprintln(os.Stderr, "admitted at", at, "not from", asked, "to", from.UnixMicro())
					os.Exit(1)
				}
				pause(ctx, time.Millisecond)
				until := time.Now()
				if err = s.End(context.WithoutCancel(ctx), g.Ticket, nil); errors.Is(err, quota.ErrLeaseLost) {
					until = from // this machine was slow: since when it held no slot is not known
				}
				mu.Lock()
				_, _ = fmt.Fprintln(out, g.Ticket.At, from.UnixNano(), until.UnixNano(), r.Demands[0].Cost.Tokens)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(out.Flush(), s.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// An oracle that only reads what eight processes have printed finds no limit exceeded, while scripts are flushed,
// connections are cut, and the server hangs for longer than its clients wait.
func TestManyProcessesShareLimits(t *testing.T) {
	const processes = 8
	server := redistest.Start(t)
	c := plain(t, server)
	self, err := os.Executable()
	require.NoError(t, err)
	logs := make([]bytes.Buffer, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), self, "-running", running.String())
		cmd.Env = append(os.Environ(), childEnv+"="+server.URL())
		cmd.Stdout, cmd.Stderr = &logs[i], os.Stderr
		wg.Go(func() { assert.NoError(t, cmd.Run()) })
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for i, over := 0, false; !over; i++ {
		select {
		case <-done:
			over = true
		case <-time.After(50 * time.Millisecond):
			switch i % 16 {
			case 2:
				require.NoError(t, c.ScriptFlush(t.Context()).Err())
			case 6:
				require.NoError(t, c.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
			case 10:
				server.Pause()
			case 11:
				<-time.After(150 * time.Millisecond)
				server.Resume()
			}
		}
	}
	server.Resume()

	var log []oracle.Entry
	var calls []oracle.Call
	for i := range logs {
		var at, from, until, tokens int64
		for {
			if _, err := fmt.Fscanln(&logs[i], &at, &from, &until, &tokens); err != nil {
				break
			}
			log = append(log, oracle.Entry{At: time.Duration(at), Weights: oracle.Weights{throttle.Requests: 1, throttle.Tokens: tokens}})
			calls = append(calls, oracle.Call{At: time.Duration(from), Done: time.Duration(until)})
		}
	}
	slices.SortFunc(log, func(a, b oracle.Entry) int { return cmp.Compare(a.At, b.At) })
	require.NoError(t, oracle.Judge(log, rules()...).Err())
	require.NoError(t, oracle.Judge(oracle.Timeline(calls), oracle.Concurrency(inFlight)).Err())
	assert.NotEmpty(t, log)
	t.Logf("%d calls", len(log))
}
