// Package redisserver starts Redis servers for tests.
package redisserver

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/freeport"
)

// Server is a redis-server of the test's own, on a free port of 127.0.0.1. It ends with the test.
type Server struct {
	Addr string
	path string
	args []string
	cmd  *exec.Cmd

	ended <-chan struct{} // closed when cmd has ended
}

// Start starts a server that keeps nothing on disk, with more words of configuration. Without the program
// redis-server the test is skipped.
func Start(tb testing.TB, config ...string) *Server {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Skip("this needs redis-server, which is not installed")
	}
	dir := tb.TempDir()
	s := &Server{path: path}
	tb.Cleanup(s.Kill)
	for range 20 {
		var port int
		if port, err = freeport.Choose(tb.Context(), busAbove); err != nil {
			break
		}
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		s.args = append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
			"--dir", dir, "--logfile", filepath.Join(dir, "log"),
		}, config...)
		if err = s.launch(); err == nil {
			return s
		}
	}
	tb.Fatal(err)
	return nil
}

// Restart starts the server again after Kill, with an empty memory and the same address.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.launch(); err != nil {
		tb.Fatal(err)
	}
}

// launch returns when the server answers, or has ended, as it does if another process has its port.
func (s *Server) launch() error {
	s.cmd = exec.Command(s.path, s.args...) //nolint:gosec,noctx // the words are the test's; Cleanup ends it
	s.cmd.SysProcAttr = endsWithTheTest()
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for end := time.NewTimer(20 * time.Second).C; !s.answers(); {
		select {
		case <-ended:
			return fmt.Errorf("redis-server on %s has ended", s.Addr)
		case <-end:
			s.Kill()
			return fmt.Errorf("redis-server on %s does not answer", s.Addr)
		case <-time.NewTimer(5 * time.Millisecond).C:
		}
	}
	return nil
}

// Kill ends the process at once, as kill -9 does, also while it is paused. It may be called again.
func (s *Server) Kill() {
	if s.ended != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// Pause stops the process without ending it, as a machine that hangs; connections stay open.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume has the process go on after Pause.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// URL is the address for redisstore.Open.
func (s *Server) URL() string { return "redis://" + s.Addr }

// answers reports whether this process, not another one with its port, answers.
func (s *Server) answers() bool {
	reply, _ := s.info("server")
	return strings.Contains(reply, fmt.Sprintf("\nprocess_id:%d\r\n", s.cmd.Process.Pid))
}

// The bus of a cluster is that much above the port.
const busAbove = 10_000
