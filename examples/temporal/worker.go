package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"go.temporal.io/sdk/client"

	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
)

// workerEnv makes this program a worker: what it has to know.
const workerEnv = "TEMPORAL_WORKER"

// place is what a worker has to know.
type place struct {
	Address, Namespace string // of the Temporal server
	Store              string // a folder
	Group              string // address of the learner
	Provider           string // URL
	Parallel           int
}

// slots is how many items a worker has at a time: they are late by some seconds if it is killed.
const slots = 25

func (p *place) options() temporal.Options {
	return temporal.Options{Namespace: p.Namespace, Store: temporal.Dir(p.Store), Slots: slots}
}

func (p *place) dial() (client.Client, error) {
	return client.Dial(client.Options{HostPort: p.Address, Namespace: p.Namespace, Logger: quiet{}})
}

// work works on flows until parent ends.
func work(ctx context.Context, text string, parent io.Reader) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	g, err := group.Join(ctx, p.Group)
	if err != nil {
		return err
	}
	defer g.Close() //nolint:contextcheck // it ends what ctx does not
	quota, err := g.Guard(guard.Policy{Name: "provider"})
	if err != nil {
		return err
	}
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := temporal.NewWorker(c, p.options(), archive(&asker{p.Provider, &http.Client{}}, quota, p.Parallel))
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	_, err = io.Copy(io.Discard, parent) // a parent that is killed ends its workers too
	return err
}

// quiet is a logger that discards: workers are killed on purpose.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
