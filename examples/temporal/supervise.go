package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is a worker.
type process struct {
	*exec.Cmd
	stdin io.Closer // the worker ends when it is closed
}

func start(p *place) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self) //nolint:gosec,noctx // this program, which ends with its standard input
	cmd.Env = append(os.Environ(), workerEnv+"="+string(config))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd, stdin}, cmd.Start()
}

// supervise keeps the workers at work until ctx ends, kills them in turn, and starts others.
func (s *settings) supervise(ctx context.Context, p *place) (err error) {
	var workers []*process
	defer func() {
		for _, w := range workers {
			_ = w.stdin.Close()
		}
		for _, w := range workers {
			err = errors.Join(err, w.Wait())
		}
	}()
	for range s.workers {
		w, err := start(p)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	if s.kill == 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(s.kill)
	defer ticker.Stop()
	for i := 0; ; i = (i + 1) % s.workers {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := workers[i].Process.Kill(); err != nil {
			return err
		}
		_ = workers[i].Wait() // it was killed
		if workers[i], err = start(p); err != nil {
			return err
		}
	}
}
