package redisstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

const childEnv = "HEADRACE_REDIS_CHILD" // the URL of the server

var running = flag.Duration("running", 1500*time.Millisecond, "how long the processes of TestManyProcessesShareLimits run")

// beChild takes as much as it gets, in several goroutines, and prints what was granted.
func beChild(url string) (status int) {
	const patience = 150 * time.Millisecond
	s, err := redisstore.Open(url, redisstore.WithTimeout(patience))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *running)
	defer cancel()
	out := bufio.NewWriter(os.Stdout)
	redistest.Load(ctx, s, 16, patience, func(g redistest.Granted) { g.Write(out) })
	if err := errors.Join(out.Flush(), s.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
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

	var log []redistest.Granted
	for i := range logs {
		log = append(log, redistest.ReadLog(&logs[i])...)
	}
	require.NoError(t, redistest.Judge(log, 1))
	assert.NotEmpty(t, log)
	t.Logf("%d calls", len(log))
}
