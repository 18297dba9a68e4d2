// Package redistest starts Redis servers for tests.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a redis-server of the test's own, on a free port of 127.0.0.1. It ends with the test.
type Server struct {
	Addr string
	path string
	args []string
	cmd  *exec.Cmd
}

// Start starts a server that keeps nothing on disk, with more words of configuration. Without the program
// redis-server the test is skipped.
func Start(tb testing.TB, config ...string) *Server {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Skip("this needs redis-server, which is not installed")
	}
	port := freePort(tb)
	dir := tb.TempDir()
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), path: path, args: append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", dir, "--logfile", filepath.Join(dir, "log"),
	}, config...)}
	tb.Cleanup(s.Kill)
	s.Restart(tb)
	return s
}

// Restart starts the server again after Kill, with an empty memory and the same address.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.cmd = exec.Command(s.path, s.args...) //nolint:gosec,noctx // the words are the test's; Cleanup ends it
	if err := s.cmd.Start(); err != nil {
		tb.Fatalf("redis-server: %v", err)
	}
	for end := time.Now().Add(20 * time.Second); !s.answers(); {
		if time.Now().After(end) {
			tb.Fatalf("redis-server on %s does not answer", s.Addr)
		}
	}
}

// Kill ends the process at once, as kill -9 does, also while it is paused. It may be called again.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Pause stops the process without ending it, as a machine that hangs; connections stay open.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume has the process go on after Pause.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// URL is the address for redisstore.Open.
func (s *Server) URL() string { return "redis://" + s.Addr }

// answers reports whether the server answers a PING within a while.
func (s *Server) answers() bool {
	conn, err := (&net.Dialer{Timeout: 100 * time.Millisecond}).DialContext(context.Background(), "tcp", s.Addr)
	if err != nil {
		<-time.NewTimer(5 * time.Millisecond).C
		return false
	}
	defer conn.Close() //nolint:errcheck // it was only for this
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err = fmt.Fprint(conn, "PING\r\n"); err != nil {
		return false
	}
	reply := make([]byte, 7)
	n, err := conn.Read(reply)
	return err == nil && string(reply[:n]) == "+PONG\r\n"
}

// freePort is one below 55536: a server of a cluster also listens 10,000 ports above.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range 1000 {
		if port := anyPort(tb); port+10_000 < 1<<16 {
			return port
		}
	}
	tb.Fatal("no free port below 55536")
	return 0
}

func anyPort(tb testing.TB) int {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("no free port: %v", err)
	}
	defer l.Close() //nolint:errcheck // it was only for its number
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
