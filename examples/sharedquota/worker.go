package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/sqlitestore"
)

// What makes this program a worker: its configuration, and where the provider is.
const (
	workerEnv = "SHAREDQUOTA_WORKER"
	urlEnv    = "SHAREDQUOTA_URL"
)

// parallel is how many calls a worker makes at the same time.
const parallel = 8

// work calls the provider until parent ends.
func work(ctx context.Context, text, url string, parent io.Reader) (err error) {
	config, err := registry.Parse(text)
	if err != nil {
		return err
	}
	config.Open = map[string]registry.Opener{
		"sqlite": registry.OpenStore(sqlitestore.OpenQuota),
		"redis":  registry.OpenStore(redisstore.Open),
		"group":  registry.JoinGroup(group.Join),
	}
	reg, err := registry.New(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	client := &http.Client{Transport: headrace.Transport(nil, "", headrace.Within(reg.Get("api")))}
	defer client.CloseIdleConnections()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a parent that is killed ends its workers too
		_, _ = io.Copy(io.Discard, parent)
		stop()
	}()
	var calls sync.WaitGroup
	errs := make([]error, parallel)
	for i := range errs {
		calls.Go(func() {
			for errs[i] == nil {
				errs[i] = call(ctx, client, url)
			}
		})
	}
	calls.Wait()
	for _, e := range errs {
		if !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	return err
}

const question = `{"model": "m", "messages": [{"role": "user", "content": "What turns the mill wheel?"}]}`

func call(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(question)) //nolint:gosec // the parent's
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req) //nolint:gosec // likewise
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return err
}
