package redisstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

const replicaEnv = "HEADRACE_REDIS_REPLICA" // the URL of Redis, and the address to listen at

// wasReplica has the process be a replica of a service, if it was started as one, until its input ends.
func wasReplica() bool {
	url, addr, ok := strings.Cut(os.Getenv(replicaEnv), " ")
	if !ok {
		return false
	}
	store, err := redisstore.Open(url, redisstore.WithTimeout(500*time.Millisecond))
	if err != nil {
		panic(err)
	}
	h, err := group.NewHandler(group.HandlerConfig{Election: store.Election("group"), URL: "http://" + addr})
	if err != nil {
		panic(err)
	}
	server := http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = server.ListenAndServe() }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	h.Close()
	_ = server.Close()
	_ = store.Close()
	return true
}

// replica is a process of a service.
type replica struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer
}

func startReplica(t *testing.T, redis string) *replica {
	t.Helper()
	at, err := freeport.Address(t.Context())
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	r := &replica{addr: at, cmd: exec.CommandContext(t.Context(), self)}
	r.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s", replicaEnv, redis, r.addr))
	r.cmd.Stderr = os.Stderr
	r.in, err = r.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() {
		_ = r.in.Close()
		_ = r.cmd.Process.Signal(syscall.SIGCONT)
		_ = r.cmd.Wait()
	})
	return r
}

// Replicas that share a Redis have one leader, whether a replica or Redis is killed or stopped. Members are without one for a few
// seconds, and make their calls.
func TestReplicasElectALeader(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := map[string]*replica{}
	var address []string
	for range 2 {
		r := startReplica(t, server.URL())
		all["http://"+r.addr] = r
		address = append(address, "http://"+r.addr)
	}
	g, err := group.Join(t.Context(), strings.Join(address, ","))
	require.NoError(t, err)
	defer g.Close()
	one, err := g.Guard(guard.Policy{Name: "k"})
	require.NoError(t, err)
	follows := func(other string) (leader string) {
		t.Helper()
		require.Eventually(t, func() bool {
			s := g.Stats()
			leader = s.Address
			return s.Role == group.Following && leader != other
		}, 30*time.Second, 5*time.Millisecond)
		require.NoError(t, one.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		return leader
	}
	alone := func() {
		t.Helper()
		require.Eventually(t, func() bool { return g.Stats().Role == group.Alone }, 30*time.Second, 5*time.Millisecond)
		require.NoError(t, one.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	}
	follows("")

	server.Pause() // no replica can renew
	alone()
	server.Resume()
	first := follows("none")

	all[first].cmd.Process.Signal(syscall.SIGSTOP) //nolint:errcheck // the next line would see it
	second := follows(first)
	all[first].cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // it is killed below otherwise
	require.Never(t, func() bool { return g.Stats().Address == first }, time.Second, 5*time.Millisecond)

	begun := time.Now()
	require.NoError(t, all[second].cmd.Process.Kill())
	assert.Equal(t, first, follows(second))
	t.Logf("the other replica led %s after the kill", time.Since(begun))
}
