package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/headrace/headrace/internal/postgresserver"
	"github.com/headrace/headrace/providertest"
)

func (s *settings) run(ctx context.Context, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "river")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	database, err := postgresserver.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	provider, err := providertest.New(providertest.Config{
		Limits:  s.limits(s.rate),
		Latency: providertest.LogNormal{Median: 100 * time.Millisecond, Sigma: 0.4}, Seed: s.seed,
	})
	if err != nil {
		return err
	}
	defer provider.Close()
	pool, err := pgxpool.New(ctx, database.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := s.prepare(ctx, pool); err != nil {
		return err
	}
	text, err := json.Marshal(place{Database: database.URL, Provider: provider.URL(), Group: "group:" + filepath.Join(folder, "g")})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d jobs, %d workers, a hidden limit of %d/s that halves after %s, a kill every %s\n",
		s.jobs, s.workers, s.rate, s.halves, s.kill)
	v := verdict{settings: s, began: time.Now(), halved: time.Now().Add(s.halves)}
	halve := time.AfterFunc(s.halves, func() { _ = provider.SetLimits(s.limits(s.rate / 2)) })
	defer halve.Stop()
	if v.kills, err = s.supervise(ctx, out, pool, string(text)); err != nil {
		return err
	}
	v.took = time.Since(v.began)
	return v.judge(ctx, out, pool, provider.Ledger())
}

// limits are those of the provider. Its bucket holds what it allows in a second: requests that were admitted
// at different times may arrive together.
func (s *settings) limits(rate int) providertest.Limits {
	return providertest.Limits{Rate: providertest.Bucket{PerSecond: float64(rate), Burst: rate}}
}

// prepare makes the tables and inserts the jobs.
func (s *settings) prepare(ctx context.Context, pool *pgxpool.Pool) error {
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	// Without a key: a second result of a job would be a second row.
	if _, err := pool.Exec(ctx, "CREATE TABLE answers (number bigint NOT NULL, answer text NOT NULL)"); err != nil {
		return err
	}
	client, err := river.NewClient(driver, &river.Config{})
	if err != nil {
		return err
	}
	all := make([]river.InsertManyParams, s.jobs)
	for i := range all {
		all[i] = river.InsertManyParams{Args: question{i}, InsertOpts: &river.InsertOpts{Queue: queue}}
	}
	_, err = client.InsertManyFast(ctx, all)
	return err
}

// worker is a process of this program.
type worker struct {
	*exec.Cmd
	stdin io.Closer // the worker ends when it is closed
}

func start(ctx context.Context, place string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), workerEnv+"="+place)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, stdin}, cmd.Start()
}

// supervise keeps the workers at work until all jobs have ended, and kills one now and then.
func (s *settings) supervise(ctx context.Context, out io.Writer, pool *pgxpool.Pool, place string) (kills int, err error) {
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
		w, err := start(ctx, place)
		if err != nil {
			return kills, err
		}
		workers = append(workers, w)
	}
	draw := rand.New(rand.NewPCG(s.seed, 0)) //nolint:gosec // which worker is killed is no secret
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	began, printed := time.Now(), 0
	for next := s.kill; ; {
		select {
		case <-ctx.Done():
			return kills, context.Cause(ctx)
		case <-look.C:
		}
		var open, answered int
		if err := pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE finalized_at IS NULL), count(*) FILTER (WHERE state = 'completed')
			FROM river_job WHERE queue = $1`, queue).Scan(&open, &answered); err != nil {
			return kills, err
		}
		if open == 0 {
			return kills, nil
		}
		since := time.Since(began)
		if n := int(since / (10 * time.Second)); n > printed {
			printed = n
			fmt.Fprintf(out, "%4d s: %d of %d answered, %d killed\n", 10*n, answered, s.jobs, kills)
		}
		if s.kill == 0 || since < next {
			continue
		}
		next += s.kill
		i := draw.IntN(len(workers))
		if err := workers[i].Process.Kill(); err != nil {
			return kills, err
		}
		_ = workers[i].Wait() // it was killed
		kills++
		if workers[i], err = start(ctx, place); err != nil {
			return kills, err
		}
	}
}
