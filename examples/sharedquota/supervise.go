package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"
)

// worker is a process of this program.
type worker struct {
	*exec.Cmd
	stdin io.Closer // the worker ends when it is closed
}

func (s *settings) start(ctx context.Context, url string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), workerEnv+"=store: "+s.store+"; api: "+s.limits(), urlEnv+"="+url)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, stdin}, cmd.Start()
}

// supervise keeps the workers at work, kills one now and then, and starts another.
func (s *settings) supervise(ctx context.Context, url string) (err error) {
	var workers []*worker
	defer func() {
		for _, w := range workers {
			_ = w.stdin.Close()
		}
		for _, w := range workers {
			err = errors.Join(err, w.Wait())
		}
	}()
	for range s.workers {
		w, err := s.start(ctx, url)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	draw := rand.New(rand.NewPCG(s.seed, 0)) //nolint:gosec // which worker is killed is no secret
	for k := range s.kills + 1 {
		if err := sleep(ctx, s.lasts/time.Duration(s.kills+1)); err != nil {
			return err
		}
		if k == s.kills {
			return nil
		}
		i := draw.IntN(len(workers))
		if err := workers[i].Process.Kill(); err != nil {
			return err
		}
		_ = workers[i].Wait() // it was killed
		if workers[i], err = s.start(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
