package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	riverguard "github.com/headrace/headrace/engine/river"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/registry"
)

// workerEnv makes this program a worker. Its value is a place.
const workerEnv = "RIVER_WORKER"

// place says where a worker finds what it needs.
type place struct {
	Database string `json:"database"`
	Provider string `json:"provider"`
	Group    string `json:"group"` // the address of the store
}

// queue holds the jobs that call the provider.
const queue = "acme"

// question is a job.
type question struct {
	Number int `json:"number"`
}

// Kind implements river.JobArgs.
func (question) Kind() string { return "question" }

// work works jobs until parent ends.
func work(ctx context.Context, text string, parent io.Reader) (err error) {
	var at place
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a parent that is killed ends its workers too
		_, _ = io.Copy(io.Discard, parent)
		stop()
	}()
	reg, err := registry.New(registry.Config{
		Store:  at.Group,
		Guards: map[string]registry.Spec{"acme": {Law: registry.Measured}},
		Open:   map[string]registry.Opener{"group": registry.JoinGroup(group.Join)},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	pool, err := pgxpool.New(ctx, at.Database)
	if err != nil {
		return err
	}
	defer pool.Close()

	workers := river.NewWorkers()
	river.AddWorker(workers, &asker{pool: pool, provider: at.Provider})
	config := &river.Config{
		Queues:  map[string]river.QueueConfig{queue: {MaxWorkers: 16}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		// Jobs of a killed process are rescued when they have been running for ten seconds, by a look every
		// 30 s. A job that still runs then would run twice, so none may run for longer.
		JobTimeout: 4 * time.Second, RescueStuckJobsAfter: 10 * time.Second,
	}
	if err := riverguard.Queue[pgx.Tx](config, queue, riverguard.Config{Guard: reg.Get("acme")}); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return client.StopAndCancel(last)
}

// asker asks the provider, and stores the answer in the transaction that completes the job.
type asker struct {
	river.WorkerDefaults[question]
	pool     *pgxpool.Pool
	provider string
}

// Work implements river.Worker.
func (a *asker) Work(ctx context.Context, job *river.Job[question]) error {
	answer, err := ask(ctx, a.provider, job.Args.Number)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil { // locks the job
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO answers (number, answer) VALUES ($1, $2)", job.Args.Number, answer)
		return err
	})
}

// statusError is an answer that is none. The guard reads its fields.
type statusError struct {
	StatusCode int
	Response   *http.Response
}

func (e *statusError) Error() string { return fmt.Sprintf("the provider answers %d", e.StatusCode) }

func prompt(number int) string { return fmt.Sprintf("Question number %d", number) }

func ask(ctx context.Context, provider string, number int) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": "m", "messages": []map[string]string{{"role": "user", "content": prompt(number)}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", strconv.Itoa(number))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if resp.StatusCode != http.StatusOK {
		return "", &statusError{resp.StatusCode, resp}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("the answer is empty")
	}
	return answer.Choices[0].Message.Content, nil
}
