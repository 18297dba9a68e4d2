// Package postgresserver starts PostgreSQL servers for tests and examples.
package postgresserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/freeport"
)

// ErrNotInstalled is the error of Start without the programs of PostgreSQL.
var ErrNotInstalled = errors.New("postgresserver: initdb and postgres are not installed (on Debian: apt-get install postgresql)")

// Server is a PostgreSQL server with data of its own, on a free port of 127.0.0.1.
type Server struct {
	// URL is that of its database, for drivers.
	URL string

	folder string
	cmd    *exec.Cmd
	log    bytes.Buffer
	ended  chan struct{} // closed when cmd has ended
}

// Start makes a database in a folder of its own and starts a server for it, as an
// unprivileged user. It ends with Close, and on Linux with this process.
func Start(ctx context.Context, settings ...string) (s *Server, err error) {
	initdb, postgres := find("initdb"), find("postgres")
	if initdb == "" || postgres == "" {
		return nil, ErrNotInstalled
	}
	folder, err := os.MkdirTemp("", "postgres")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	if err := handOver(folder); err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	create := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "test", "--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8") //nolint:gosec // the program of the system
	create.SysProcAttr, create.Dir = unprivileged(), folder
	if out, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for range 5 {
		var port int
		if port, err = freeport.Choose(ctx); err != nil {
			return nil, err
		}
		s = &Server{folder: folder, URL: fmt.Sprintf("postgres://test@127.0.0.1:%d/postgres?sslmode=disable", port)}
		arguments := []string{"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", ""}
		for _, setting := range settings {
			arguments = append(arguments, "-c", setting)
		}
		if err = s.launch(ctx, postgres, arguments, port); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// launch returns when the server answers, or has ended, as it does if another process has its port.
func (s *Server) launch(ctx context.Context, program string, arguments []string, port int) error {
	s.cmd = exec.Command(program, arguments...) //nolint:gosec,noctx // likewise; Close ends it
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stderr = unprivileged(), s.folder, &s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait()
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			if ready, _ := os.ReadFile(filepath.Join(s.folder, "data", "postmaster.pid")); bytes.Contains(ready, []byte("ready")) {
				return nil
			}
		}
		select {
		case <-s.ended:
			return fmt.Errorf("postgres has ended: %s", s.log.Bytes())
		case <-late.C:
			s.end()
			return fmt.Errorf("postgres does not answer: %s", s.log.Bytes())
		case <-ctx.Done():
			s.end()
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// Close ends the server and removes its data. It may be called again.
func (s *Server) Close() error {
	s.end()
	if err := os.RemoveAll(s.folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// end ends the server at once; its data are not needed any more.
func (s *Server) end() {
	_ = s.cmd.Process.Signal(quit)
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	select {
	case <-s.ended:
	case <-late.C:
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// find returns the path of a program of PostgreSQL, or nothing. Debian has them in a folder for each version.
func find(program string) string {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(all) > 0 {
		return slices.Max(all)
	}
	path, _ := exec.LookPath(program)
	return path
}
