package redisstore_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

var running = flag.Duration("running", 1500*time.Millisecond, "how long the processes of TestManyProcessesShareLimits run")

// An oracle that only reads what eight processes have printed finds no limit exceeded, while scripts are flushed,
// connections are cut, and the server hangs for longer than its clients wait.
func TestManyProcessesShareLimits(t *testing.T) {
	server := redistest.Start(t)
	c := plain(t, server)
	stop := redistest.Processes(t, 8, server.URL())
	server.Executes(t, 100)
	over := time.After(*running)
	for i, done := 0, false; !done; i++ {
		select {
		case <-over:
			done = true
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
	log := stop()
	require.NoError(t, redistest.Judge(log, 1))
	assert.NotEmpty(t, log)
	t.Logf("%d calls", len(log))
}
