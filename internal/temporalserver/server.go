// Package temporalserver runs a Temporal server in memory on loopback, for tests and examples. The first
// use builds it, which takes some seven minutes of processor time, into the user's cache.
package temporalserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// version is that of the server, as in the go.mod of engine/temporal/internal/server.
const version = "1.32.0"

// Server is a server in a process of its own.
type Server struct {
	Address   string // HOST:PORT
	Namespace string

	cmd   *exec.Cmd
	stdin io.Closer
	out   io.Reader
}

// Start starts a server, which ends with Stop, or with this process. progress receives a line before the server
// is built.
func Start(ctx context.Context, progress io.Writer) (*Server, error) {
	path, err := build(ctx, progress)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // what build has made
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin, out: out}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("temporalserver: it did not start: %w", err)
	}
	s.Address, s.Namespace, _ = strings.Cut(strings.TrimSpace(line), " ")
	return s, nil
}

// stopPatience is how long the server has to end by itself.
const stopPatience = 30 * time.Second

// Stop ends the server, and returns when it has ended.
func (s *Server) Stop() {
	_ = s.stdin.Close()
	late := time.AfterFunc(stopPatience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.cmd.Wait() // it was ended on purpose
}

// build returns the path of the program, which it makes if it is not there.
func build(ctx context.Context, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "headrace", "temporal-server-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	var problems bytes.Buffer
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/headrace/headrace/engine/temporal")
	list.Stderr = &problems
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("temporalserver: it is built from the repository: %w: %s", err, problems.String())
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	_, _ = fmt.Fprintln(progress, "building the Temporal server", version, "once, into", filepath.Dir(path))
	made := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-o", made, ".") //nolint:gosec // a path of the user's cache
	cmd.Dir = filepath.Join(strings.TrimSpace(string(dir)), "internal", "server")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	problems.Reset()
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		return "", errors.Join(fmt.Errorf("temporalserver: %w: %s", err, problems.String()), ignoreMissing(os.Remove(made)))
	}
	return path, os.Rename(made, path)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
