package redistest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/store/redisstore"
)

const childEnv = "HEADRACE_REDIS_CHILD" // the URL of the server

// patience is how long the processes wait for Redis.
const patience = 150 * time.Millisecond

// Main is TestMain for tests that start Processes. The options are for what may be left running.
func Main(m *testing.M, options ...goleak.Option) {
	redis.SetLogger(quiet{})
	if url := os.Getenv(childEnv); url != "" {
		if err := load(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, options...)
}

// quiet is a logger: that Redis cannot be reached is no news in these tests.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// load takes as much as it gets until standard input ends, and prints what was granted.
func load(url string) error {
	s, err := redisstore.Open(url, redisstore.WithTimeout(patience))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := bufio.NewWriter(os.Stdout)
	Load(ctx, s, 16, patience, func(g Granted) { g.Write(out) })
	return errors.Join(out.Flush(), s.Close())
}

// Processes starts so many processes that load the server at url. They run until stop is called, which returns what
// they were granted.
func Processes(tb testing.TB, n int, url string) (stop func() []Granted) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	outputs := make([]bytes.Buffer, n)
	inputs, waits := make([]io.Closer, n), make([]func() error, n)
	for i := range n {
		cmd := exec.CommandContext(tb.Context(), self) //nolint:gosec // it is this program
		cmd.Env = append(os.Environ(), childEnv+"="+url)
		cmd.Stdout, cmd.Stderr = &outputs[i], os.Stderr
		input, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			tb.Fatal(err)
		}
		inputs[i], waits[i] = input, sync.OnceValue(cmd.Wait)
		tb.Cleanup(func() {
			_ = input.Close()
			_ = waits[i]()
		})
	}
	return func() (log []Granted) {
		for _, input := range inputs {
			_ = input.Close() // all end at the same time
		}
		for i := range outputs {
			if err := waits[i](); err != nil {
				tb.Errorf("process %d: %v", i, err)
			}
			log = append(log, ReadLog(&outputs[i])...)
		}
		return log
	}
}

// Executes waits until the server has executed so many scripts more.
func (s *Server) Executes(tb testing.TB, more int) {
	tb.Helper()
	const calls = "cmdstat_evalsha:calls="
	first := s.Stat(tb, calls)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); wait(tb.Context(), 2*time.Millisecond) {
		if s.Stat(tb, calls) >= first+more {
			return
		}
	}
	tb.Fatalf("%s has not executed %d scripts within a minute", s.Addr, more)
}

// Stat is a number of INFO, such as "evicted_keys:", 0 if there is none.
func (s *Server) Stat(tb testing.TB, name string) (n int) {
	tb.Helper()
	c := s.Client()
	defer c.Close() //nolint:errcheck // it was only for this
	info, err := c.Info(tb.Context(), "everything").Result()
	if err != nil {
		tb.Fatal(err)
	}
	_, value, _ := strings.Cut(info, "\n"+name)
	_, _ = fmt.Sscan(value, &n)
	return n
}
